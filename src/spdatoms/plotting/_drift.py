"""How unusual the matrices of a stream become with time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.plotting.display import AXES, INK, PALE, Display, with_grid


class DriftDisplay(Display):
    """The share of novel matrices in a stream, among the last ones, and the share that is usual.

    Parameters
    ----------
    novel : array-like of bool of shape (m,)
        Which matrices are novel, in the order of time.
    usual : float, default=0.01
        The share of novel ones among matrices like those of training.
    window : int, default=50
        The number of matrices among which the share is taken.

    Attributes
    ----------
    shares_ : ndarray of shape (m,)
        The share of novel ones among the last ``window`` matrices, or among all at the beginning.
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        The axes with the curve.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import DriftDisplay
    >>> display = DriftDisplay([False, False, True, True], window=2).plot()
    >>> display.shares_
    array([0. , 0. , 0.5, 1. ])
    """

    @allow.checks(usual=allow.real(0, 1), window=allow.integer(1))
    def __init__(self, novel: ArrayLike, *, usual: float = 0.01, window: int = 50) -> None:
        self.novel = np.asarray(novel)
        if self.novel.dtype != np.bool_ or self.novel.ndim != 1 or not len(self.novel):
            raise ValueError(
                f"novel must be booleans of shape (m,), got {self.novel.dtype} of shape {self.novel.shape}."
            )
        self.usual = usual
        self.window = window
        sums = np.concatenate([[0.0], np.cumsum(self.novel)])
        ends = np.arange(1, len(sums))
        starts = np.maximum(ends - min(window, len(self.novel)), 0)
        self.shares_ = (sums[ends] - sums[starts]) / (ends - starts)

    @classmethod
    @allow.checks(estimator=allow.estimator(), ax=AXES)
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        window: int = 50,
        ax: Any | None = None,
        **kwargs: Any,
    ) -> DriftDisplay:
        """Draw which matrices of a stream an `SPDNovelty` calls novel.

        Parameters
        ----------
        estimator : SPDNovelty
            A fitted one.
        X : array-like of shape (m, n, n)
            SPD matrices in the order of time.
        window : int, default=50
            The number of matrices among which the share is taken.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        DriftDisplay
        """
        novel = np.asarray(estimator.predict(X)) < 0
        display = cls(novel, usual=float(estimator.false_alarms), window=window)
        return display.plot(ax, **kwargs)

    def _size(self) -> tuple[float, float]:
        return 6.4, 3.2

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        ax.axhline(100 * self.usual, color=PALE, linewidth=1.0, linestyle="--")
        style = {"color": INK, "linewidth": 1.5} | kwargs
        (self.line_,) = ax.plot(np.arange(1, len(self.shares_) + 1), 100 * self.shares_, **style)
        ax.set(xlabel="matrix", ylabel=f"novel among the last {self.window} (%)", ylim=(-2, 102))
        with_grid(ax, axis="y", color="0.9")
