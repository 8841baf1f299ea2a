"""Which atoms the codes use: the sparsity pattern."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.text import visible
from spdatoms._utils.typing import Indices
from spdatoms.plotting.display import AXES, Display, dense_codes

#: The entry that is drawn black, as a quantile of the non-zero ones: with the largest one black, a few
#: large entries would make the others invisible.
_BLACK_QUANTILE = 0.9
#: The greatest number of labels that are written beside the codes, evenly spaced.
_NAMED = 40


class CodesDisplay(Display):
    """The sparsity pattern of codes.

    |y_ij|, the weight of atom j in the code of matrix i: white is zero.

    Parameters
    ----------
    codes : array-like or sparse matrix of shape (m, N)
        The codes, one per row.
    y : array-like of shape (m,), default=None
        Labels to group the codes by, with a line between two groups.
    max_codes : int, default=200
        The greatest number of codes to show, evenly spaced among all.

    Attributes
    ----------
    shown_ : ndarray
        The indices of the codes in the picture, from top to bottom.
    image_ : matplotlib AxesImage
        The picture.
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import CodesDisplay
    >>> display = CodesDisplay.from_codes([[0.0, 0.7], [0.9, 0.0], [0.4, 0.3]])
    >>> display.ax_.get_title()
    '3 codes over 2 atoms, 1.3 non-zeros per code'
    """

    @allow.checks(max_codes=allow.integer(1, 1_000_000))
    def __init__(self, codes: Any, *, y: ArrayLike | None = None, max_codes: int = 200) -> None:
        self.codes = dense_codes(codes)
        self.y = None if y is None else np.asarray(y)
        if self.y is not None and self.y.shape != self.codes.shape[:1]:
            raise ValueError(f"y must have the shape ({len(self.codes)},), got {self.y.shape}.")
        self.max_codes = max_codes

    @classmethod
    @allow.checks(ax=AXES)
    def from_codes(
        cls,
        codes: Any,
        *,
        y: ArrayLike | None = None,
        max_codes: int = 200,
        ax: Any | None = None,
        **kwargs: Any,
    ) -> CodesDisplay:
        """Draw codes.

        Parameters
        ----------
        codes : array-like or sparse matrix of shape (m, N)
            The codes, one per row.
        y : array-like of shape (m,), default=None
            Labels to group the codes by.
        max_codes : int, default=200
            The greatest number of codes to show.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        CodesDisplay
        """
        return cls(codes, y=y, max_codes=max_codes).plot(ax, **kwargs)

    @classmethod
    @allow.checks(estimator=allow.estimator("transform"), ax=AXES)
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        y: ArrayLike | None = None,
        max_codes: int = 200,
        ax: Any | None = None,
        **kwargs: Any,
    ) -> CodesDisplay:
        """Draw the codes that ``estimator.transform`` gives to X.

        Parameters
        ----------
        estimator : estimator
            A fitted sparse coder or dictionary learner.
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : array-like of shape (m,), default=None
            Labels to group the codes by.
        max_codes : int, default=200
            The greatest number of codes to show.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        CodesDisplay
        """
        codes = estimator.transform(X)
        return cls.from_codes(codes, y=y, max_codes=max_codes, ax=ax, **kwargs)

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.8

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.shown_ = self._rows()
        sizes = np.ma.masked_equal(np.abs(self.codes[self.shown_]), 0.0)
        non_zero = sizes.compressed()
        black = np.quantile(non_zero, _BLACK_QUANTILE) if len(non_zero) else 1.0
        colors = import_extra("matplotlib.colors", extra="plot")
        # Zeros are masked and stay white; the least non-zero weight is a visible grey.
        grey = colors.LinearSegmentedColormap.from_list("grey", ["0.8", "0.0"])
        style = {"cmap": grey, "vmin": 0.0, "vmax": black, "aspect": "auto"}
        self.image_ = ax.imshow(sizes, interpolation="none", **style | kwargs)
        self.figure_.colorbar(self.image_, ax=ax, label="|y|", extend="max", shrink=0.8)
        self._mark_groups(ax)
        count, atoms = self.codes.shape
        used = np.count_nonzero(self.codes) / count
        ax.set_title(
            f"{count} codes over {atoms} atoms, {used:.1f} non-zeros per code", fontsize=10
        )
        ax.set_xlabel("atom")

    def _rows(self) -> Indices:
        """Return the codes to show, in the order of their labels."""
        count = len(self.codes)
        order = np.arange(count) if self.y is None else np.argsort(self.y, kind="stable")
        return order[np.linspace(0, count - 1, min(count, self.max_codes)).astype(np.intp)]

    def _mark_groups(self, ax: Any) -> None:
        if self.y is None:
            every = "" if len(self.shown_) == len(self.codes) else f" ({len(self.shown_)} shown)"
            ax.set_ylabel(f"code{every}")
            return
        labels, starts, sizes = np.unique(
            self.y[self.shown_], return_index=True, return_counts=True
        )
        for start in starts[1:]:
            ax.axhline(start - 0.5, color="0.4", linewidth=0.6)
        named = evenly_spaced(len(labels), _NAMED)
        middles = starts + (sizes - 1) / 2
        ax.set_yticks(middles[named], [visible(label) for label in labels[named]])
        ax.tick_params(axis="y", length=0)
        ax.set_ylabel("label")
