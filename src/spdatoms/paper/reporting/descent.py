"""How an objective falls over the iterations of learning, means over the repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results, Row
from spdatoms.paper.reporting.origin import repeats_made
from spdatoms.paper.reporting.picture import Picture, panelled, title_panel
from spdatoms.paper.reporting.table import LOW, Table, grid
from spdatoms.plotting import LearningCurveDisplay

#: The iterations that the table shows, besides the last one.
_SHOWN = (1, 5)


def mean_objective(rows: list[Row]) -> Floats:
    """Return the mean objective after every half-step; one that ended early stays what it was."""
    objectives = [row.extra["objective"] for row in rows]
    most = max(map(len, objectives))
    return np.asarray(np.mean([o + o[-1:] * (most - len(o)) for o in objectives], axis=0))


def descent_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return for every part the objective with the first atoms and after some iterations."""
    return [_table(experiment, results, part) for part in results.parts()]


def _table(experiment: Experiment, results: Results, part: str) -> Table:
    lines = []
    best = _best_of_each(results, part)
    ran = {name: rows for name in experiment.methods() if (rows := results.of(part, name))}
    means = {name: mean_objective(rows) for name, rows in ran.items()}
    last = max(map(len, means.values())) // 2
    iterations = [*(i for i in _SHOWN if i < last), last]
    for name, rows in ran.items():
        mean = means[name]
        lowest = sum(row.extra["objective"][-1] <= best[row.repeat] for row in rows)
        shown = [mean[0], *(mean[min(2 * i, len(mean)) - 1] for i in iterations)]
        cells = (*(f"{value:.2f}" for value in shown), f"{lowest} of {len(rows)}")
        lines.append((name, *cells))
    header = ("method", "first atoms", *(f"after {i}" for i in iterations), "lowest in")
    made = repeats_made([len(best)], experiment.repeats)
    title = f"{part}: mean objective (%) by iteration, {made}"
    return grid(title, header, lines, LOW, slice(1, -1))


def _best_of_each(results: Results, part: str) -> dict[int, float]:
    """Return the lowest last objective of every repeat."""
    lowest: dict[int, float] = {}
    for row in results.rows:
        if row.part == part:
            last = row.extra["objective"][-1]
            lowest[row.repeat] = min(last, lowest.get(row.repeat, last))
    return lowest


def descent_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return the curves of the mean objective over the iterations, a panel for every part."""
    styles = (("black", "-"), ("black", ":"), ("0.55", "-"), ("0.55", "--"))

    def draw(ax: Any, part: str) -> None:
        for name, (colour, line) in zip(experiment.methods(), styles, strict=True):
            rows = results.of(part, name)
            if rows:
                LearningCurveDisplay(mean_objective(rows), label="objective (%)").plot(
                    ax, color=colour, linestyle=line, marker="", label=name
                )
        title_panel(ax, part)

    caption = "Mean objective after every half-step of learning, coding and update in turn."
    return [panelled("descent", caption, draw, results.parts(), (2.7, 2.9), legend=4)]
