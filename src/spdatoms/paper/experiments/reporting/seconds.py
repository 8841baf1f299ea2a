"""Seconds of methods that took turns, and how many times as long one of them takes."""

from __future__ import annotations

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.reporting.table import Line, Table
from spdatoms.paper.experiments.results import Results

SECONDS = "seconds"


def fastest(experiment: Experiment, results: Results) -> dict[str, tuple[float, float]]:
    """Return the least seconds to fit and to predict by method."""
    found = {}
    for name in experiment.methods():
        rows = [row for row in results.rows if row.method == name]
        if rows:
            found[name] = min(r.fit_seconds for r in rows), min(r.predict_seconds for r in rows)
    return found


def bounds(experiment: Experiment) -> dict[str, float]:
    """Return the published seconds by method: a lower bound for the reference, upper ones for the others."""
    return {row.method: row.scores[SECONDS] for row in experiment.published}


def second_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the seconds of every method, and those of the reference as multiples of them.

    Parameters
    ----------
    experiment : Experiment
        The experiment; its published scores are seconds.
    results : Results
        Its results.

    Returns
    -------
    list of Table
    """
    measured, published = fastest(experiment, results), bounds(experiment)
    totals = {name: sum(seconds) for name, seconds in measured.items()}
    slow = experiment.reference
    lines = []
    for name, (fit, predict) in measured.items():
        ratio = f"{totals[slow] / totals[name]:.1f}" if slow in totals and name != slow else "–"
        said, quotient = "–", "–"
        if name in published:
            said = f"{'>' if name == slow else '<'} {published[name]:.0f}"
            if name != slow and slow in published:
                quotient = f"> {published[slow] / published[name]:.1f}"
        lines.append(Line((name, f"{fit:.3f}", f"{predict:.3f}", ratio, said, quotient)))
    header = (
        "method",
        "seconds to prepare",
        "seconds to recognise",
        f"{slow} takes × as long",
        "published seconds",
        "published ×",
    )
    return [Table(f"{experiment.title}: least seconds of the repeats", header, tuple(lines))]
