"""Accuracy against what makes classification hard: tables of means over data sets, and curves for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.reporting.comparison import differences, mean_and_error
from spdatoms.paper.reporting.picture import Picture, draw_curves, panelled, title_panel
from spdatoms.paper.reporting.table import HIGH, MISSING, Table, grid

#: What stands between the data set and the kind of difficulty in the name of a part.
BETWEEN = ": "


def data_and_kind(part: str) -> tuple[str, str]:
    """Return the data set and the kind of difficulty in the name of a part."""
    data, _, kind = part.rpartition(BETWEEN)
    return data, kind


def kinds_of(results: Results) -> list[str]:
    """Return the kinds of difficulty in order of appearance."""
    return list(dict.fromkeys(data_and_kind(part)[1] for part in results.parts()))


def levels_of(results: Results, parts: Sequence[str]) -> list[str]:
    """Return the levels of some parts, those of the part with the most."""
    found = [list(row.scores) for row in results.rows if row.part in parts]
    return max(found, key=len)


def curve(results: Results, part: str, method: str) -> dict[str, tuple[float, float]]:
    """Return the mean accuracy and its standard error by level, over the repeats that have it."""
    rows = results.of(part, method)
    found = {}
    for level in dict.fromkeys(level for row in rows for level in row.scores):
        mean, error = mean_and_error([row.scores[level] for row in rows if level in row.scores])
        found[level] = mean, error or 0.0
    return found


def curve_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return for every kind of difficulty the mean accuracies over the data sets that always have all levels.

    Beside them are the differences to the reference of the experiment, paired by data set.
    """
    return [table for kind in kinds_of(results) for table in _of_kind(experiment, results, kind)]


def _is_whole(results: Results, part: str, levels: Sequence[str]) -> bool:
    """Return whether every repeat of a part has all levels, though some methods may lack one."""
    rows = [row for row in results.rows if row.part == part]
    return all(
        {level for row in rows if row.repeat == repeat for level in row.scores} >= set(levels)
        for repeat in {row.repeat for row in rows}
    )


def _of_kind(experiment: Experiment, results: Results, kind: str) -> list[Table]:
    methods = results.ran(experiment.methods())
    parts = [part for part in results.parts() if data_and_kind(part)[1] == kind]
    levels = levels_of(results, parts)
    curves = {(m, p): curve(results, p, m) for m in methods for p in parts}
    # In every repeat: else the mean at one level is of other repeats than that at the next.
    complete = [
        p for p in parts if all(curves[m, p] for m in methods) and _is_whole(results, p, levels)
    ]
    found = {
        (m, level): {p: curves[m, p][level][0] for p in complete if level in curves[m, p]}
        for m in methods
        for level in levels
    }
    whole = {key: own if len(own) == len(complete) else {} for key, own in found.items()}
    names = ", ".join(data_and_kind(part)[0] for part in complete)
    title = f"{kind.capitalize()}: mean accuracy (%) over {names or 'no data set with all levels'}"
    rows = [(m, *(_mean(whole[m, level]) for level in levels)) for m in methods]
    means, reference = grid(title, ("method", *levels), rows, HIGH), experiment.reference
    title = (
        f"{kind.capitalize()}: difference to {reference} in points ± standard error over data sets"
    )
    return [means, *(differences(title, methods, reference, levels, whole) if complete else ())]


def _mean(accuracies: Mapping[str, float]) -> str:
    return f"{np.mean(list(accuracies.values())):.1f}" if accuracies else MISSING


def curve_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return a figure for every kind of level, with a panel for every data set."""
    return [_picture(experiment, results, kind) for kind in kinds_of(results)]


def _picture(experiment: Experiment, results: Results, kind: str) -> Picture:
    parts = [part for part in results.parts() if data_and_kind(part)[1] == kind]
    levels = levels_of(results, parts)
    methods = methods_in_figure(experiment, results, parts)

    def draw(ax: Any, part: str) -> None:
        curves = {m: curve(results, part, m) for m in methods}
        points = {
            m: [(levels.index(level), *value) for level, value in own.items()]
            for m, own in curves.items()
            if own
        }
        draw_curves(ax, points)
        ax.set_xticks(range(len(levels)), levels, fontsize=8)
        ax.set_xlabel(kind)
        title_panel(ax, data_and_kind(part)[0])

    name = f"accuracy-by-{kind.replace(' ', '-')}"
    caption = f"Mean accuracy against {kind}, with standard errors over the repeats as lines."
    return panelled(name, caption, draw, parts, (2.7, 2.6), legend=3)


def methods_in_figure(experiment: Experiment, results: Results, parts: Sequence[str]) -> list[str]:
    """Return the methods of some parts that the experiment chooses for its figure, or all if it is none of them."""
    ran = {row.method for row in results.rows if row.part in parts}
    shown = ran.intersection(experiment.in_figure) or ran
    return [method for method in experiment.methods() if method in shown]
