"""What the displays share: axes, their style, and arrays of estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Array

#: The colours of lines and bars, and of those in the background.
INK, PALE = "#1f3b57", "#9aa7b4"


#: Where to draw.
AXES = allow.NONE | allow.Allowed(
    ("matplotlib Axes",),
    lambda value: all(hasattr(value, name) for name in ("figure", "plot", "spines")),
)


class Display(ABC):
    """A picture in one matplotlib axes, ``ax_``, of a figure, ``figure_``."""

    ax_: Any
    figure_: Any
    #: Parameters of the class that an estimator gives.
    _given: ClassVar[tuple[str, ...]] = ()

    def plot(self, ax: Any | None = None, **kwargs: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to the method of the axes that draws: ``plot`` for curves, ``bar`` or ``barh`` for bars, ``imshow``
            for pictures.

        Returns
        -------
        Display
            The display itself.
        """
        AXES.check("ax", ax)
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", extra="plot")
            _, ax = pyplot.subplots(figsize=self._size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, **kwargs)
        return self

    @property
    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure, in inches."""
        return 6.4, 4.0

    @classmethod
    def _own(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Take the parameters of the class out of options, and return them."""
        names = [name for name in signature(cls).parameters if name not in cls._given]
        return {name: options.pop(name) for name in names if name in options}

    @abstractmethod
    def _draw(self, ax: Any, **kwargs: Any) -> None:
        """Draw in the axes."""


class FittedDisplay(Display):
    """A display of what a fitted estimator has found."""

    #: Methods that the estimator must have, and whether it needs matrices to draw.
    _methods: ClassVar[tuple[str, ...]] = ()
    _of_matrices: ClassVar[bool] = True

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | None = None, *, ax: Any | None = None, **options: Any
    ) -> Self:
        """Draw what an estimator has found, see the class.

        Parameters
        ----------
        estimator : estimator
            A fitted one.
        X : array-like of shape (m, n, n), default=None
            SPD matrices, if the display is about such.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **options : dict
            Parameters of the class that the estimator does not give; all others are passed to the method of the axes
            that draws, see ``plot``.

        Returns
        -------
        Display
            The display, which has been drawn.
        """
        allow.estimator(*cls._methods).check("estimator", estimator)
        AXES.check("ax", ax)
        (allow.MATRICES if cls._of_matrices else allow.NONE).check("X", X)
        own = cls._own(options)
        return cls._of(estimator, X, **own).plot(ax, **options)

    @classmethod
    @abstractmethod
    def _of(cls, estimator: Any, X: Any, **own: Any) -> Self:
        """Return the display of an estimator, with parameters of the class."""


def without_frame(ax: Any) -> None:
    """Leave only the axes with numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def with_grid(ax: Any, axis: str = "both", color: str = "0.92") -> None:
    """Draw a pale grid behind everything, and no frame."""
    ax.grid(axis=axis, color=color)
    ax.set_axisbelow(True)
    without_frame(ax)


def fitted_attribute(estimator: Any, *names: str) -> Array:
    """Return the first of these attributes that a fitted estimator has."""
    check_is_fitted(estimator)
    for name in names:
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name))
    raise TypeError(f"{type(estimator).__name__} has no attribute {' or '.join(names)} to draw.")
