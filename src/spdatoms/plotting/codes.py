"""Which atoms codes use: the sparsity pattern, and how often each atom is used."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.text import visible
from spdatoms._utils.typing import Array, Indices
from spdatoms.plotting.display import AXES, INK, PALE, FittedDisplay, without_frame

#: The entry that is drawn black, as a quantile of the non-zero ones: with the largest one black, a few
#: large entries would make the others invisible.
_BLACK_QUANTILE = 0.9
#: The greatest number of labels that are written beside the codes, evenly spaced.
_NAMED = 40


class CodesPicture(FittedDisplay):
    """A display of codes; ``from_estimator`` draws those that ``estimator.transform`` gives to X."""

    _methods = ("transform",)

    @classmethod
    @allow.checks(ax=AXES)
    def from_codes(cls, codes: Any, *, ax: Any | None = None, **options: Any) -> Self:
        """Draw codes.

        Parameters
        ----------
        codes : array-like or sparse matrix of shape (m, N)
            The codes, one per row.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **options : dict
            Parameters of the class; all others are passed to the method of the axes that draws, see ``plot``.

        Returns
        -------
        Display
            The display, which has been drawn.
        """
        own = cls._own(options)
        return cls._of_codes(codes, **own).plot(ax, **options)

    @classmethod
    def _of(cls, estimator: Any, X: ArrayLike, **own: Any) -> Self:
        return cls._of_codes(estimator.transform(X), **own)

    @classmethod
    @abstractmethod
    def _of_codes(cls, codes: Any, **own: Any) -> Self:
        """Return the display of codes."""


class CodesDisplay(CodesPicture):
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
    def _of_codes(cls, codes: Any, **own: Any) -> Self:
        return cls(codes, **own)

    _size = 6.4, 4.8

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


class AtomUsageDisplay(CodesPicture):
    """How many codes use each atom, the most used first.

    #{i : y_ij ≠ 0} / m, the share of codes that use atom j, the most used first.

    Parameters
    ----------
    usage : array-like of shape (N,)
        The share of each atom, between 0 and 1.

    Attributes
    ----------
    order_ : ndarray of shape (N,)
        The indices of the atoms from left to right.
    bars_ : matplotlib BarContainer
        The bars.

    Examples
    --------
    >>> from spdatoms.plotting import AtomUsageDisplay
    >>> display = AtomUsageDisplay.from_codes([[0.0, 0.7, 0.0], [0.9, 0.2, 0.0]])
    >>> display.usage
    array([0.5, 1. , 0. ])
    >>> display.ax_.get_title()
    '3 atoms, 1 unused'
    """

    @allow.checks(usage=allow.NUMBERS)
    def __init__(self, usage: ArrayLike) -> None:
        self.usage = np.asarray(usage, dtype=np.float64)
        if self.usage.ndim != 1 or not len(self.usage):
            raise ValueError(f"usage must have the shape (N,), got {self.usage.shape}.")

    @classmethod
    def _of_codes(cls, codes: Any, **own: Any) -> Self:
        return cls((dense_codes(codes) != 0).mean(axis=0), **own)

    _size = 6.4, 3.4

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        count = len(self.usage)
        self.order_ = np.argsort(-self.usage, kind="stable")
        style = {"color": INK, "width": 0.85} | kwargs
        self.bars_ = ax.bar(np.arange(count), 100 * self.usage[self.order_], **style)
        mean = 100 * self.usage.mean()
        ax.axhline(mean, color=PALE, linewidth=1.2, linestyle="--", label=f"mean {mean:.1f} %")
        ax.legend(frameon=False, loc="upper right")
        unused = int(np.count_nonzero(self.usage == 0))
        ax.set_title(f"{count} atoms, {unused} unused", fontsize=10)
        ax.set(xlabel="atom, by usage", ylabel="codes that use it (%)")
        ax.set_xlim(-0.7, count - 0.3)
        ax.xaxis.get_major_locator().set_params(integer=True)
        without_frame(ax)


def dense_codes(codes: Any) -> Array:
    """Return codes (m, N), which may be a SciPy sparse matrix, as an array."""
    dense = np.asarray(codes.toarray() if hasattr(codes, "toarray") else codes)
    if dense.ndim != 2 or dense.size == 0:
        raise ValueError(f"codes must have the shape (m, N), got {dense.shape}.")
    allow.NUMBERS.check("codes", dense)
    return dense
