"""Curves of several methods in one picture: cumulative matches, accuracy by size of the dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Floats
from spdatoms.plotting.display import Display, with_grid

#: Line styles and markers that can be distinguished in grey.
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def _styled(curves: Mapping[str, Floats]) -> Iterator[tuple[str, Floats, dict[str, Any]]]:
    """Yield the name, the values and the style of every curve; its label is in the style."""
    for i, (name, values) in enumerate(curves.items()):
        style: dict[str, Any] = {"label": name, "color": f"C{i % 10}", "linewidth": 1.5}
        style |= {"linestyle": _LINES[i % len(_LINES)], "marker": _MARKERS[i % len(_MARKERS)]}
        yield name, values, style | {"markersize": 4.5}


def _as_curves(curves: Mapping[str, ArrayLike], name: str) -> dict[str, Floats]:
    arrays = {label: np.asarray(values, np.float64) for label, values in curves.items()}
    if not arrays or any(values.ndim != 1 or not len(values) for values in arrays.values()):
        raise ValueError(f"{name} must hold a sequence of numbers for every method.")
    return arrays


_CURVES = allow.by_name(allow.NUMBERS, "numbers")


class CMCDisplay(Display):
    """Cumulative matching characteristic: how often the right class is among the r best ones.

    Parameters
    ----------
    curves : dict of str to array-like of shape (n_ranks,)
        For every method the share (in %) of queries whose class is among the 1, 2, … best.
    max_rank : int, default=None
        The last rank to show; without it all are shown.

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
    >>> from spdatoms.paper.plotting import CMCDisplay
    >>> CMCDisplay({"RSR-S": [80.0, 95.0, 100.0]}).plot().ax_.get_xlabel()
    'rank'
    """

    @allow.checks(max_rank=allow.NONE | allow.integer(1), curves=_CURVES)
    def __init__(self, curves: Mapping[str, ArrayLike], *, max_rank: int | None = None) -> None:
        self.curves = _as_curves(curves, "curves")
        self.max_rank = max_rank

    def _draw(self, ax: Any) -> None:  # type: ignore[override]  # it has no options
        self.lines_ = []
        for _, values, style in _styled(self.curves):
            shown = values[: self.max_rank]
            self.lines_ += ax.plot(np.arange(1, len(shown) + 1), shown, **style)
        ax.set(xlabel="rank", ylabel="among the best (%)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        _finish(ax)


class AccuracyBySizeDisplay(Display):
    """Accuracy against the number of atoms, one curve per method, with deviations.

    Parameters
    ----------
    sizes : dict of str to array-like of shape (n_sizes,)
        For every method the numbers of atoms.
    accuracies : dict of str to array-like of shape (n_sizes,)
        For every method the accuracies (in %).
    deviations : dict of str to array-like of shape (n_sizes,), default=None
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
    >>> from spdatoms.paper.plotting import AccuracyBySizeDisplay
    >>> display = AccuracyBySizeDisplay({"RSR-J": [8, 24]}, {"RSR-J": [40.0, 55.0]}).plot()
    >>> display.ax_.get_xlabel()
    'number of atoms'
    """

    @allow.checks(sizes=_CURVES, accuracies=_CURVES, deviations=allow.NONE | _CURVES)
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
                raise ValueError(f"sizes and accuracies of {label!r} must have the same length.")

    def _draw(self, ax: Any) -> None:  # type: ignore[override]  # it has no options
        self.lines_ = [
            ax.errorbar(self.sizes[name], values, self.deviations.get(name), capsize=2.5, **style)
            for name, values, style in _styled(self.accuracies)
        ]
        ticks = sorted({float(size) for sizes in self.sizes.values() for size in sizes})
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set(xlabel="number of atoms", ylabel="accuracy (%)")
        _finish(ax)


def _finish(ax: Any) -> None:
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    with_grid(ax)
