"""Accuracy where data are not perfect: means by treatment and level, and one level of every data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results, Row
from spdatoms.paper.reporting.comparison import difference, mean_and_error
from spdatoms.paper.reporting.curves import BETWEEN, data_and_kind, kinds_of, methods_in_figure
from spdatoms.paper.reporting.picture import WIDE, Picture, draw_curves, panelled, title_panel
from spdatoms.paper.reporting.table import HIGH, MISSING, Table, grid, value

#: The treatment and the level of which every data set is shown.
SHOWN = {
    "missing channels": ("refitted", "50%"),
    "missing everywhere": ("local imputation", "25%"),
    "broken channels": ("BrokenChannels", "gain × 1"),
    "wrong labels": ("suspects removed", "20%"),
    "deficient ranks": ("common range", "average reference"),
}

#: Imperfections that have a share: the treatment and the axis of their curves.
_CURVED = {
    "missing channels": ("refitted", "channels missing"),
    "wrong labels": ("as they are", "wrong labels"),
}
_BROKEN = "broken channels"
#: How a treatment of broken channels is marked.
_MARKS: dict[str, dict[str, Any]] = {
    "untreated": {"marker": "x", "color": "0.35"},
    "by variance": {"marker": "o", "color": "0.6"},
    "BrokenChannels": {"marker": "o", "color": "C0"},
    "told": {"marker": "|", "color": "black", "markersize": 13},
}


def whole(results: Results) -> Results:
    """Return the repeats that all methods have scores of: only these can be compared."""
    scored = [row for row in results.rows if row.scores]
    methods = {row.method for row in scored}
    there: dict[tuple[str, int], set[str]] = {}
    for row in scored:
        there.setdefault((row.part, row.repeat), set()).add(row.method)
    rows = [row for row in scored if there[row.part, row.repeat] == methods]
    return replace(results, rows=rows)


def cases_of(results: Results, kind: str) -> dict[str, list[str]]:
    """Return the treatments of an imperfection, and the levels of each."""
    found: dict[str, list[str]] = {}
    for row in results.rows:
        if data_and_kind(row.part)[1] == kind:
            for case in row.scores:
                treatment, _, level = case.partition(BETWEEN)
                levels = found.setdefault(treatment, [])
                levels += [level] if level not in levels else []
    return found


def accuracies(
    results: Results, kind: str, method: str, treatment: str, level: str
) -> dict[str, float]:
    """Return the accuracy of every data set over all its queries in per cent."""
    found = {}
    for part in results.parts():
        data, own = data_and_kind(part)
        rows = results.of(part, method)
        if own == kind and rows:
            found[data] = 100.0 * float(np.mean(_hits(rows, treatment, level)))
    return found


def _hits(rows: Sequence[Row], treatment: str, level: str) -> Any:
    """Return which queries of all repeats are right."""
    bits = "".join(row.extra["hits"][f"{treatment}{BETWEEN}{level}"] for row in rows)
    return np.array(list(bits), np.int64)


def imperfect_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return two tables for every imperfection: means over data sets, and each data set at one level."""
    results = whole(results)
    methods = results.ran(experiment.methods())
    return [
        table
        for kind in kinds_of(results)
        for table in (
            _means(results, kind, methods),
            _data_sets(results, kind, methods, experiment.reference),
        )
    ]


def _means(results: Results, kind: str, methods: Sequence[str]) -> Table:
    """Return the mean accuracies over the data sets of every treatment at every level."""
    cases, lines, names = cases_of(results, kind), [], list[str]()
    for method in methods:
        for treatment, levels in cases.items():
            found = [accuracies(results, kind, method, treatment, level) for level in levels]
            names = list(found[0])
            cells = [f"{np.mean(list(own.values())):.1f}" for own in found]
            lines.append((method, treatment, *cells))
    levels = next(iter(cases.values()))
    title = f"{kind.capitalize()}: mean accuracy (%) over {', '.join(names)}"
    return grid(title, ("method", "treatment", *levels), lines, HIGH, slice(2, None))


def _data_sets(results: Results, kind: str, methods: Sequence[str], reference: str) -> Table:
    """Return the accuracy of every data set with its paired difference to the reference, and that of the means."""
    case = SHOWN[kind]
    found = {method: accuracies(results, kind, method, *case) for method in methods}
    data = list(found[methods[0]])
    lines = []
    for method in methods:
        cells = [f"{accuracy:.1f}" for accuracy in found[method].values()]
        overall = MISSING
        if reference in methods and method != reference:
            beside = [
                _difference(results, f"{d}{BETWEEN}{kind}", method, reference, case) for d in data
            ]
            cells = [f"{cell} ({text})" for cell, text in zip(cells, beside, strict=True)]
            overall = difference(found[method], found[reference])
        lines.append((method, *cells, overall))
    title = (
        f"{kind.capitalize()}, {case[1]}, {case[0]}: accuracy (%), and difference to {reference} ± standard error "
        "over queries, in the mean over data sets"
    )
    header = ("method", *data, "mean difference")
    return grid(title, header, lines, HIGH, slice(1, -1))


def _difference(
    results: Results, part: str, method: str, reference: str, case: tuple[str, str]
) -> str:
    own, other = (_hits(results.of(part, name), *case) for name in (method, reference))
    mean, error = mean_and_error(list(100.0 * (own - other)))
    return value(mean, error, sign="+")


def imperfect_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return a figure of the means over data sets, and one per imperfection with the curves of every data set."""
    results = whole(results)
    methods = methods_in_figure(experiment, results, results.parts())
    there = kinds_of(results)
    shown = [kind for kind in (*_CURVED, _BROKEN) if kind in there]
    curved = [kind for kind in shown if kind in _CURVED]
    found = [_overview(results, methods, shown)] if shown else []
    return found + [_every_data_set(results, methods, kind) for kind in curved]


def _overview(results: Results, methods: Sequence[str], kinds: Sequence[str]) -> Picture:
    def draw(ax: Any, kind: str) -> None:
        panel = _treatments if kind == _BROKEN else _curves
        panel(ax, results, methods, kind)

    caption = (
        "Mean accuracy over data sets that are not perfect. Missing channels: every classifier is refitted to "
        "the channels that a query has. Wrong labels: nothing is done about them. Broken channels, mean over six kinds "
        "of faults: untreated, and refitted without the channels of unusual variance, without those that "
        "BrokenChannels finds, or without the right ones (told)."
    )
    size = (2.8, 3.6)
    return panelled("overview", caption, draw, kinds, size, legend=3, fontsize=8, share=False)


def _curves(
    ax: Any, results: Results, methods: Sequence[str], kind: str, data: str | None = None
) -> None:
    """Draw the accuracy against the level, of one data set or in the mean of all."""
    treatment, label = _CURVED[kind]
    levels = cases_of(results, kind)[treatment]
    shares = [float(level.rstrip("%")) for level in levels]
    found = {m: [accuracies(results, kind, m, treatment, v) for v in levels] for m in methods}
    values = {
        m: [own[data] if data else float(np.mean(list(own.values()))) for own in curve]
        for m, curve in found.items()
        if data is None or data in curve[0]
    }
    draw_curves(ax, {m: zip(shares, own, strict=True) for m, own in values.items()})
    ax.set_xlabel(f"{label} (%)")


def _treatments(ax: Any, results: Results, methods: Sequence[str], kind: str) -> None:
    """Draw for every method the accuracy with each treatment, in the mean over data sets and faults."""
    for treatment, levels in cases_of(results, kind).items():
        values = [
            np.mean([list(accuracies(results, kind, m, treatment, v).values()) for v in levels[1:]])
            for m in methods
        ]
        style = {"markersize": 7, "linestyle": "", **_MARKS[treatment]}
        ax.plot(values, range(len(methods)), label=treatment, **style)
    names = (m.replace("Ensemble", "Ensemble\n").replace("space +", "space\n+") for m in methods)
    ax.set_yticks(range(len(methods)), names, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("accuracy (%), channels broken")
    ax.grid(axis="y", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, frameon=False)


def _every_data_set(results: Results, methods: Sequence[str], kind: str) -> Picture:
    treatment, label = _CURVED[kind]
    level = cases_of(results, kind)[treatment][0]
    data = list(accuracies(results, kind, methods[0], treatment, level))

    def draw(ax: Any, name: str) -> None:
        _curves(ax, results, methods, kind, name)
        ax.set_xlabel("" if ax.figure.get_figwidth() < WIDE else ax.get_xlabel())
        title_panel(ax, name)

    caption = f"Accuracy against the share of {label}, {treatment}."
    return panelled(kind.replace(" ", "-"), caption, draw, data, (2.7, 2.6), legend=3)
