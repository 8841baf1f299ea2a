"""How an objective falls over the iterations of learning, means over the repeats."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.experiments.experiment import Experiment
from spdatoms.experiments.reporting.origin import repeats_made
from spdatoms.experiments.reporting.table import LOW, Line, Table
from spdatoms.experiments.results import Results, Row

#: The iterations that the table shows, besides the last one.
_SHOWN = (1, 5)


def mean_objective(rows: list[Row]) -> Floats:
    """Return the mean objective after every half-step."""
    return np.asarray(np.mean([row.extra["objective"] for row in rows], axis=0))


def descent_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return for every part the objective with the first atoms and after some iterations.

    Parameters
    ----------
    experiment : Experiment
        The experiment; its rows hold an objective per half-step.
    results : Results
        Its results.

    Returns
    -------
    list of Table
    """
    return [_table(experiment, results, part) for part in results.parts()]


def _table(experiment: Experiment, results: Results, part: str) -> Table:
    lines, last = [], 0
    best = _best_of_each(results, part)
    for name in experiment.methods():
        rows = results.of(part, name)
        if not rows:
            continue
        mean = mean_objective(rows)
        last = len(mean) // 2
        lowest = sum(row.extra["objective"][-1] <= best[row.repeat] for row in rows)
        shown = [mean[0], *(mean[2 * i - 1] for i in (*_SHOWN, last))]
        cells = (*(f"{value:.2f}" for value in shown), f"{lowest} of {len(rows)}")
        lines.append(Line((name, *cells)))
    after = [f"after {i}" for i in (*_SHOWN, last)]
    header = ("method", "first atoms", *after, "lowest in")
    made = repeats_made([len(best)], experiment.repeats)
    title = f"{part}: mean objective (%) by iteration, {made}"
    return Table(title, header, tuple(lines), ("", *(LOW for _ in header[1:-1]), ""))


def _best_of_each(results: Results, part: str) -> dict[int, float]:
    """Return the lowest last objective of every repeat."""
    lowest: dict[int, float] = {}
    for row in results.rows:
        if row.part == part:
            last = row.extra["objective"][-1]
            lowest[row.repeat] = min(last, lowest.get(row.repeat, last))
    return lowest
