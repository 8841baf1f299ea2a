"""Curves of several methods in one picture: matches by rank, accuracy by size of the dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import Floats
from spdatoms.plotting._display import Display, without_frame

#: Line styles and markers that can be told apart in grey.
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def _styles(count: int) -> list[dict[str, Any]]:
    return [
        {
            "color": f"C{i % 10}",
            "linestyle": _LINES[i % len(_LINES)],
            "marker": _MARKERS[i % len(_MARKERS)],
            "markersize": 4.5,
            "linewidth": 1.5,
        }
        for i in range(count)
    ]


def _as_curves(curves: Mapping[str, ArrayLike], name: str) -> dict[str, Floats]:
    arrays = {label: np.asarray(values, np.float64) for label, values in curves.items()}
    if not arrays or any(values.ndim != 1 or not len(values) for values in arrays.values()):
        raise ValueError(f"{name} must hold a sequence of numbers for every method.")
    return arrays


class CMCDisplay(Display):
    """Cumulative matching characteristic: how often the right class is among the r best.

    Parameters
    ----------
    curves : dict of str to array-like of shape (n_ranks,)
        For every method the share (in %) of queries whose class is among the 1, 2, … best.
    max_rank : int, optional
        The last rank to show.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves.
    ax_ : matplotlib Axes
        The axes with the curves.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import CMCDisplay
    >>> CMCDisplay({"RSR-S": [80.0, 95.0, 100.0]}).plot().ax_.get_xlabel()
    'rank'
    """

    def __init__(self, curves: Mapping[str, ArrayLike], *, max_rank: int | None = None) -> None:
        self.curves = _as_curves(curves, "curves")
        self.max_rank = max_rank

    def plot(self, ax: Any | None = None) -> CMCDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made.

        Returns
        -------
        CMCDisplay
        """
        ax = self._use_axes(ax)
        self.lines_ = []
        for style, (label, values) in zip(
            _styles(len(self.curves)), self.curves.items(), strict=True
        ):
            shown = values[: self.max_rank]
            self.lines_ += ax.plot(np.arange(1, len(shown) + 1), shown, label=label, **style)
        ax.set(xlabel="rank", ylabel="right class among the best (%)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        _finish(ax)
        return self


class AccuracyBySizeDisplay(Display):
    """Accuracy against the number of atoms, a curve a method, with deviations.

    Parameters
    ----------
    sizes : dict of str to array-like of shape (n_sizes,)
        For every method the numbers of atoms.
    accuracies : dict of str to array-like of shape (n_sizes,)
        For every method the accuracies (in %).
    deviations : dict of str to array-like of shape (n_sizes,), optional
        Standard deviations, where there are any.

    Attributes
    ----------
    lines_ : list of matplotlib ErrorbarContainer
        The curves.
    ax_ : matplotlib Axes
        The axes with the curves.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import AccuracyBySizeDisplay
    >>> display = AccuracyBySizeDisplay({"RSR-J": [8, 24]}, {"RSR-J": [40.0, 55.0]}).plot()
    >>> display.ax_.get_xlabel()
    'number of atoms'
    """

    def __init__(
        self,
        sizes: Mapping[str, ArrayLike],
        accuracies: Mapping[str, ArrayLike],
        deviations: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.sizes = _as_curves(sizes, "sizes")
        self.accuracies = _as_curves(accuracies, "accuracies")
        self.deviations = _as_curves(deviations, "deviations") if deviations else {}
        for label, values in self.accuracies.items():
            if label not in self.sizes or len(self.sizes[label]) != len(values):
                raise ValueError(f"sizes and accuracies of {label!r} must be equally many.")

    def plot(self, ax: Any | None = None) -> AccuracyBySizeDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made.

        Returns
        -------
        AccuracyBySizeDisplay
        """
        ax = self._use_axes(ax)
        self.lines_ = []
        for style, (label, values) in zip(
            _styles(len(self.accuracies)), self.accuracies.items(), strict=True
        ):
            spread = self.deviations.get(label)
            self.lines_.append(
                ax.errorbar(self.sizes[label], values, spread, label=label, capsize=2.5, **style)
            )
        ticks = sorted({float(size) for sizes in self.sizes.values() for size in sizes})
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set(xlabel="number of atoms", ylabel="accuracy (%)")
        _finish(ax)
        return self


def _finish(ax: Any) -> None:
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    without_frame(ax)
