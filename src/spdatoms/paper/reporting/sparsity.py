"""Accuracy against the number of non-zeros of codes: tables, and which dictionary is better at equal sparsity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results, Row
from spdatoms.paper.experiments.task import ACCURACY
from spdatoms.paper.reporting.comparison import Units, difference, paired
from spdatoms.paper.reporting.picture import Picture, draw_curves, panelled, title_panel
from spdatoms.paper.reporting.table import HIGH, MISSING, Table, by_method, grid, value

#: The level of methods whose penalty does not rule the number of non-zeros.
_OWN = "0"
#: What learned dictionaries are compared with.
_LEARNED, _CONTROLS = " learned", (" random", " k-means")
#: Parts with fewer levels get no table of their own.
_LEAST_LEVELS = 5
_TICKS = ("2", "5", "10", "20", "50")


def nonzero_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the mean numbers of non-zeros of codes by method and part, if rows have them."""

    def cell(method: str, part: str) -> str:
        rows = results.of(part, method)
        found = [row.extra["nonzeros"] for row in rows if "nonzeros" in row.extra]
        return f"{np.mean(found):.1f}" if found else MISSING

    title, parts = "Non-zeros of a code, mean over queries", results.parts()
    return by_method(title, experiment.methods(), parts, cell, unnamed="non-zeros")


def levels_of(results: Results, part: str) -> list[str]:
    """Return the numbers of non-zeros that were asked for in a part, the least first."""
    found = {level for row in results.rows if row.part == part for level in row.extra["curve"]}
    return sorted(found - {_OWN}, key=int)


def curve(rows: Sequence[Row]) -> dict[str, tuple[list[float], float]]:
    """Return by level the accuracies of the repeats, and the mean number of non-zeros."""
    curves = [row.extra["curve"] for row in rows if "curve" in row.extra]
    found = {}
    for level in dict.fromkeys(level for own in curves for level in own):
        accuracies, counts = zip(*(own[level] for own in curves if level in own), strict=True)
        found[level] = list(accuracies), float(np.mean(counts))
    return found


def curved_parts(results: Results) -> list[str]:
    """Return the parts with many levels."""
    coded = [row for row in results.rows if "curve" in row.extra]
    return list(dict.fromkeys(r.part for r in coded if len(r.extra["curve"]) >= _LEAST_LEVELS))


def sparsity_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return for parts with many levels the accuracies by level, and learned dictionaries beside the others."""
    coded = [row for row in results.rows if "curve" in row.extra]
    results = Results(results.settings, coded, results.problems)
    found = []
    for part in curved_parts(results):
        methods = [name for name in experiment.methods() if results.of(part, name)]
        curves = {name: curve(results.of(part, name)) for name in methods}
        levels = levels_of(results, part)
        found.append(_accuracies(part, levels, curves))
        found += _differences(part, levels, curves, results)
    return found


Curves = dict[str, dict[str, tuple[list[float], float]]]


def _accuracies(part: str, levels: Sequence[str], curves: Curves) -> Table:
    lines = []
    for name, own in curves.items():
        cells = [_spread(own[level][0]) if level in own else MISSING for level in levels]
        alone = f"{_spread(own[_OWN][0])} ({own[_OWN][1]:.1f})" if _OWN in own else MISSING
        repeats = max(len(accuracies) for accuracies, _ in own.values())
        lines.append((name, *cells, alone, str(repeats)))
    counts = {level: [own[level][1] for own in curves.values() if level in own] for level in levels}
    probes = (f"{level} ({min(n):.1f}–{max(n):.1f})" for level, n in counts.items())
    title = f"Sparsity, {part}: accuracy (%) against non-zeros of the learning blocks (in brackets: of the probes)"
    header = ("method", *probes, "its own", "repeats")
    return grid(title, header, lines, HIGH, slice(1, -2))


def _differences(part: str, levels: Sequence[str], curves: Curves, results: Results) -> list[Table]:
    lines = []
    for name in (name for name in curves if name.endswith(_LEARNED)):
        stem = name.removesuffix(_LEARNED)
        for control in (f"{stem}{kind}" for kind in _CONTROLS if f"{stem}{kind}" in curves):
            rows = [results.of(part, method) for method in (name, control)]
            cells = [_compared(*(_units(own, level) for own in rows)) for level in levels]
            lines.append((f"{name} − {control.removeprefix(stem).strip()}", *cells))
    title = f"Sparsity, {part}: difference in points ± standard error over repeats (repeats that learned atoms win)"
    return [grid(title, ("pair", *levels), lines)] if lines else []


def _units(rows: Sequence[Row], level: str) -> Units:
    """Return the accuracies at a level by repeat."""
    curves = {str(row.repeat): row.extra["curve"] for row in rows}
    return {repeat: own[level][0] for repeat, own in curves.items() if level in own}


def _compared(first: Units, second: Units) -> str:
    found = paired(first, second)
    wins = f" ({sum(d > 0 for d in found)} of {len(found)})" if found else ""
    return f"{difference(first, second)}{wins}"


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values))


def _spread(values: Sequence[float]) -> str:
    mean, deviation = _mean_and_deviation(values)
    return value(mean, deviation if len(values) > 1 else None)


def sparsity_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return curves by the size of the dictionary, and by the number of non-zeros where there are several."""
    parts = curved_parts(results)
    if not parts:
        return _by_size(experiment, results)

    def draw(ax: Any, part: str) -> None:
        found = {name: curve(results.of(part, name)) for name in experiment.methods()}
        points = {
            name: [(count, *_mean_and_deviation(values)) for values, count in own.values()]
            for name, own in found.items()
            if own
        }
        draw_curves(ax, points)
        ax.set(xscale="log", xlabel="non-zeros of a code")
        ax.set_xticks([int(level) for level in _TICKS], labels=_TICKS, minor=False)
        ax.set_xticks([], minor=True)
        title_panel(ax, part)

    caption = (
        "Mean accuracy against the number of non-zeros of a probe's code, with standard deviations as lines; "
        "a method with one point has codes whose number of non-zeros the penalty does not rule."
    )
    name, legend = "accuracy-by-nonzeros", 4 if len(parts) > 1 else 2
    by_nonzeros = panelled(name, caption, draw, parts, (2.7, 3.4), legend=legend, fontsize=8)
    return [*_by_size(experiment, results), by_nonzeros]


def _by_size(experiment: Experiment, results: Results) -> list[Picture]:
    summaries = [summary for summary in results.summaries() if summary.part.isdigit()]
    found = {
        name: sorted(
            (int(s.part), s.scores[ACCURACY], s.deviations[ACCURACY])
            for s in summaries
            if s.method == name
        )
        for name in experiment.methods()
    }
    curves = {name: points for name, points in found.items() if points}
    published: dict[str, dict[int, float]] = {}
    for row in () if results.embedded else experiment.published:
        if row.part.isdigit() and row.part in results.parts():
            published.setdefault(row.method, {})[int(row.part)] = row.scores[ACCURACY]

    def draw(ax: Any, points: Mapping[str, Sequence[tuple[float, ...]]]) -> None:
        display = draw_curves(ax, points)
        for name, line in zip(points, display.lines_, strict=True):
            for size, accuracy in published.get(name, {}).items():
                ax.plot(
                    size, accuracy, "D", markersize=7, markerfacecolor="white",
                    markeredgecolor=line[0].get_color(), markeredgewidth=1.6, zorder=5,
                )  # fmt: skip

    caption = "Mean accuracy against the size of the dictionary, with standard deviations as lines"
    if any(published.values()):
        caption += "; diamonds are published values, in the colour of their method"
    name = "accuracy-by-size"
    return [panelled(name, f"{caption}.", draw, [curves], (7.2, 5.2), legend=4, fontsize=8)]
