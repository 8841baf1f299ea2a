"""How often the codes use each atom."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.plotting.display import AXES, INK, PALE, Display, dense_codes, without_frame


class AtomUsageDisplay(Display):
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
    ax_ : matplotlib Axes
        The axes with the bars.
    figure_ : matplotlib Figure
        The figure of the axes.

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
    @allow.checks(ax=AXES)
    def from_codes(cls, codes: Any, *, ax: Any | None = None, **kwargs: Any) -> AtomUsageDisplay:
        """Draw how often codes use each atom.

        Parameters
        ----------
        codes : array-like or sparse matrix of shape (m, N)
            The codes, one per row.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        AtomUsageDisplay
        """
        return cls((dense_codes(codes) != 0).mean(axis=0)).plot(ax, **kwargs)

    @classmethod
    @allow.checks(estimator=allow.estimator("transform"), ax=AXES)
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, ax: Any | None = None, **kwargs: Any
    ) -> AtomUsageDisplay:
        """Draw how often the codes that ``estimator.transform`` gives to X use each atom.

        Parameters
        ----------
        estimator : estimator
            A fitted sparse coder or dictionary learner.
        X : array-like of shape (m, n, n)
            SPD matrices.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        AtomUsageDisplay
        """
        return cls.from_codes(estimator.transform(X), ax=ax, **kwargs)

    def _size(self) -> tuple[float, float]:
        return 6.4, 3.4

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
