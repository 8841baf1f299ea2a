"""Values over time: the objective while a dictionary is learned, and the drift of a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.plotting.display import INK, PALE, FittedDisplay, fitted_attribute, with_grid


class LearningCurveDisplay(FittedDisplay):
    """The objective after every half-step of learning: coding, atoms, coding, …

    ``from_estimator`` draws the ``objective_`` of a dictionary learner, or the ``inertia_history_`` of k-means.

    Parameters
    ----------
    objective : array-like of shape (n_values,)
        The values in the order in which they were reached.
    steps_per_iteration : int, default=2
        The number of values per iteration: 2 for a dictionary (codes, then atoms), 1 for k-means.
    label : str, default="objective"
        The name of the values.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from spdatoms.plotting import LearningCurveDisplay
    >>> display = LearningCurveDisplay([5.0, 4.0, 3.5, 3.4]).plot()
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    _of_matrices, _given = False, ("objective", "steps_per_iteration", "label")

    @allow.checks(
        objective=allow.NUMBERS,
        steps_per_iteration=allow.integer(1),
        label=allow.TEXT,
    )
    def __init__(
        self, objective: ArrayLike, *, steps_per_iteration: int = 2, label: str = "objective"
    ) -> None:
        self.objective = np.asarray(objective, dtype=np.float64)
        if self.objective.ndim != 1 or not len(self.objective):
            raise ValueError(
                f"objective must be a sequence of numbers, got the shape {self.objective.shape}."
            )
        self.steps_per_iteration = steps_per_iteration
        self.label = label

    @classmethod
    def _of(cls, estimator: Any, X: None, **own: Any) -> Self:
        if hasattr(estimator, "inertia_history_"):
            own = {"steps_per_iteration": 1, "label": "inertia"}
        return cls(fitted_attribute(estimator, "objective_", "inertia_history_"), **own)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        iterations = np.arange(len(self.objective)) / self.steps_per_iteration
        style = {"color": INK, "linewidth": 1.5, "marker": "o", "markersize": 3.5} | kwargs
        (self.line_,) = ax.plot(iterations, self.objective, **style)
        ax.set(xlabel="iteration", ylabel=self.label)
        ax.xaxis.get_major_locator().set_params(integer=True)
        with_grid(ax, axis="y", color="0.9")


class DriftDisplay(FittedDisplay):
    """The share of novel matrices in a stream, among the last ones, and the share that is usual.

    ``from_estimator`` draws which of the matrices X, in the order of time, an `SPDNovelty` calls novel.

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
    def _of(cls, estimator: Any, X: ArrayLike, **own: Any) -> Self:
        novel = np.asarray(estimator.predict(X)) < 0
        return cls(novel, usual=float(estimator.false_alarms), **own)

    _size, _given = (6.4, 3.2), ("novel", "usual")

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        ax.axhline(100 * self.usual, color=PALE, linewidth=1.0, linestyle="--")
        style = {"color": INK, "linewidth": 1.5} | kwargs
        (self.line_,) = ax.plot(np.arange(1, len(self.shares_) + 1), 100 * self.shares_, **style)
        ax.set(xlabel="matrix", ylabel=f"novel among the last {self.window} (%)", ylim=(-2, 102))
        with_grid(ax, axis="y", color="0.9")
