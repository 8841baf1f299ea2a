"""What the displays share: axes, their style, and arrays of estimators."""

from __future__ import annotations

from typing import Any

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


class Display:
    """A picture in one matplotlib axes, ``ax_``, of a figure, ``figure_``."""

    ax_: Any
    figure_: Any

    def _use_axes(self, ax: Any | None, size: tuple[float, float] = (6.4, 4.0)) -> Any:
        """Return the axes to draw in, new ones if none are given."""
        AXES.check("ax", ax)
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", extra="plot")
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


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
