"""Accuracies of several methods as bars, with deviations and published values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.plotting.display import INK, PALE, Display, with_grid


class ComparisonDisplay(Display):
    """One bar per method, from top to bottom, with a line for the deviation and a diamond if published.

    Parameters
    ----------
    accuracies : dict of str to float
        The accuracy of every method (in %).
    deviations : dict of str to float, default=None
        Standard deviations, where there are any.
    published : dict of str to float, default=None
        Published accuracies. A method that has only a published one gets a diamond and no bar.
    emphasis : array-like of str, default=None
        The methods whose bars are dark; without it all are.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars.
    ax_ : matplotlib Axes
        The axes with the bars.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.paper.plotting import ComparisonDisplay
    >>> display = ComparisonDisplay({"RSR-S": 97.2, "1-NN": 93.0}, published={"RSR-S": 89.9}).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['RSR-S', '1-NN']
    """

    @allow.checks(
        accuracies=allow.by_name(allow.NUMBERS, "numbers"),
        deviations=allow.NONE | allow.by_name(allow.NUMBERS, "numbers"),
        published=allow.NONE | allow.by_name(allow.NUMBERS, "numbers"),
        emphasis=allow.NONE | allow.ARRAY,
    )
    def __init__(
        self,
        accuracies: Mapping[str, float],
        deviations: Mapping[str, float] | None = None,
        published: Mapping[str, float] | None = None,
        emphasis: ArrayLike | None = None,
    ) -> None:
        self.accuracies = dict(accuracies)
        self.deviations = dict(deviations or {})
        self.published = dict(published or {})
        if not self.accuracies and not self.published:
            raise ValueError("accuracies must hold at least one method.")
        self.emphasis = emphasis

    @property
    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + 0.3 * len(self._names())

    def _names(self) -> list[str]:
        return list(dict.fromkeys([*self.accuracies, *self.published]))

    def _draw(self, ax: Any) -> None:  # type: ignore[override]  # it has no options
        names = self._names()
        dark = set(np.asarray(self.emphasis if self.emphasis is not None else names).tolist())
        lengths = [self.accuracies.get(name, 0.0) for name in names]
        colours = [INK if name in dark else PALE for name in names]
        self.bars_ = ax.barh(names, lengths, color=colours, height=0.72)
        for i, name in enumerate(names):
            self._annotate(ax, i, name)
        ax.set(xlabel="accuracy (%)", xlim=(0, 112))
        ax.set_xticks([0, 20, 40, 60, 80, 100])
        ax.set_ylim(len(names) - 0.4, -0.6)  # the first on top, even where panels share the axis
        with_grid(ax, axis="x")

    def _annotate(self, ax: Any, i: int, name: str) -> None:
        spread = self.deviations.get(name, 0.0)
        value, published = self.accuracies.get(name), self.published.get(name)
        if value is not None and spread > 0:
            ax.errorbar(value, i, xerr=spread, color="0.35", capsize=2.5, linewidth=1.2)
        if published is not None:
            ax.plot(published, i, "D", markersize=5.5, markerfacecolor="white", color="k")
        shown = published if value is None else value
        right = max(number for number in ((value or 0.0) + spread, published) if number is not None)
        text = f"({shown:.1f})" if value is None else f"{shown:.1f}"
        # The number needs more room beside a diamond than beside a bar.
        gap = 1.8 if published is None or published < right - 3.0 else 4.0
        ax.text(right + gap, i, text, va="center", fontsize=7.5)
