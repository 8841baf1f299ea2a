"""How the objective falls while a dictionary is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.plotting.display import AXES, INK, Display, fitted_attribute, with_grid


class LearningCurveDisplay(Display):
    """The objective after every half-step of learning: coding, atoms, coding, …

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
    ax_ : matplotlib Axes
        The axes with the curve.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import LearningCurveDisplay
    >>> display = LearningCurveDisplay([5.0, 4.0, 3.5, 3.4]).plot()
    >>> display.ax_.get_xlabel()
    'iteration'
    """

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
    @allow.checks(estimator=allow.estimator(), ax=AXES)
    def from_estimator(
        cls, estimator: Any, *, ax: Any | None = None, **kwargs: Any
    ) -> LearningCurveDisplay:
        """Draw the ``objective_`` of a dictionary learner, or the ``inertia_history_`` of k-means.

        Parameters
        ----------
        estimator : estimator
            A fitted one.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        LearningCurveDisplay
        """
        if hasattr(estimator, "inertia_history_"):
            history = fitted_attribute(estimator, "inertia_history_")
            display = cls(history, steps_per_iteration=1, label="inertia")
        else:
            display = cls(fitted_attribute(estimator, "objective_"))
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        iterations = np.arange(len(self.objective)) / self.steps_per_iteration
        style = {"color": INK, "linewidth": 1.5, "marker": "o", "markersize": 3.5} | kwargs
        (self.line_,) = ax.plot(iterations, self.objective, **style)
        ax.set(xlabel="iteration", ylabel=self.label)
        ax.xaxis.get_major_locator().set_params(integer=True)
        with_grid(ax, axis="y", color="0.9")
