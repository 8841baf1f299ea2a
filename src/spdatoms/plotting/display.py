"""What the displays share: axes, their style, and arrays of estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
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
            _, ax = pyplot.subplots(figsize=self._size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, **kwargs)
        return self

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure, in inches."""
        return 6.4, 4.0

    @abstractmethod
    def _draw(self, ax: Any, **kwargs: Any) -> None:
        """Draw in the axes."""


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


def dense_codes(codes: Any) -> Array:
    """Return codes (m, N), which may be a SciPy sparse matrix, as an array."""
    dense = np.asarray(codes.toarray() if hasattr(codes, "toarray") else codes)
    if dense.ndim != 2 or dense.size == 0:
        raise ValueError(f"codes must have the shape (m, N), got {dense.shape}.")
    allow.NUMBERS.check("codes", dense)
    return dense
