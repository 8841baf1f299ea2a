"""Seconds of methods that took turns, and how many times as long one of them takes."""

from __future__ import annotations

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.reporting.picture import Picture, new_figure
from spdatoms.paper.reporting.table import MISSING, Table, grid

SECONDS = "seconds"


def fastest(experiment: Experiment, results: Results) -> dict[str, tuple[float, float]]:
    """Return the least seconds to fit and to predict by method."""
    found = {}
    for name in results.ran(experiment.methods()):
        rows = [row for row in results.rows if row.method == name]
        found[name] = min(r.fit_seconds for r in rows), min(r.predict_seconds for r in rows)
    return found


def bounds(experiment: Experiment) -> dict[str, float]:
    """Return the published seconds by method: a lower bound for the reference, upper ones for the others."""
    return {row.method: row.scores[SECONDS] for row in experiment.published}


def second_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the seconds of every method, and those of the reference as multiples of them."""
    measured, published = fastest(experiment, results), bounds(experiment)
    totals = {name: sum(seconds) for name, seconds in measured.items()}
    slow = experiment.reference
    lines = []
    for name, (fit, predict) in measured.items():
        ratio = f"{totals[slow] / totals[name]:.1f}" if slow in totals and name != slow else MISSING
        said, quotient = MISSING, MISSING
        if name in published:
            said = f"{'>' if name == slow else '<'} {published[name]:.0f}"
            if name != slow and slow in published:
                quotient = f"> {published[slow] / published[name]:.1f}"
        lines.append((name, f"{fit:.3f}", f"{predict:.3f}", ratio, said, quotient))
    header = (
        "method",
        "seconds to prepare",
        "seconds to recognise",
        f"{slow} takes × as long",
        "published seconds",
        "published ×",
    )
    return [grid(f"{experiment.title}: least seconds of the repeats", header, lines)]


def second_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return the least seconds of every method as bars, and the published ones as diamonds."""
    totals = {name: sum(seconds) for name, seconds in fastest(experiment, results).items()}
    published = bounds(experiment)
    figure = new_figure((4.8, 1.0 + 0.35 * len(totals)))
    ax = figure.subplots()
    ax.barh(list(totals), list(totals.values()), color="0.55", height=0.7)
    for i, (name, seconds) in enumerate(totals.items()):
        ax.text(1.12 * seconds, i, f"{seconds:.2f} s", va="center", fontsize=8)
        if name in published:
            ax.plot(published[name], i, "D", markersize=5.5, markerfacecolor="white", color="k")
    ax.set(
        xscale="log",
        xlabel="seconds",
        xlim=(None, 3 * max([*totals.values(), *published.values()])),
    )
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    caption = "Seconds on a logarithmic scale; diamonds are the bounds that the paper gives."
    return [Picture("seconds", caption, figure)]
