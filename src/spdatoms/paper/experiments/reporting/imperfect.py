"""Accuracy where data are not perfect: means by treatment and level, and one level of every data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.reporting.comparison import MISSING, mean_and_error
from spdatoms.paper.experiments.reporting.curves import data_and_kind, kinds_of
from spdatoms.paper.experiments.reporting.differences import difference
from spdatoms.paper.experiments.reporting.table import HIGH, Line, Table
from spdatoms.paper.experiments.results import Results, Row

_BETWEEN = ": "
#: The treatment and the level of which every data set is shown.
SHOWN = {
    "missing channels": ("refitted", "50%"),
    "missing everywhere": ("local imputation", "25%"),
    "broken channels": ("BrokenChannels", "gain × 1"),
    "wrong labels": ("suspects removed", "20%"),
    "deficient ranks": ("common range", "average reference"),
}


def whole(results: Results) -> Results:
    """Return the repeats that all methods have: only these can be compared."""
    methods = {row.method for row in results.rows}
    there: dict[tuple[str, int], set[str]] = {}
    for row in results.rows:
        there.setdefault((row.part, row.repeat), set()).add(row.method)
    rows = [row for row in results.rows if there[row.part, row.repeat] == methods]
    return replace(results, rows=rows)


def cases_of(results: Results, kind: str) -> dict[str, list[str]]:
    """Return the treatments of an imperfection, and the levels of each."""
    found: dict[str, list[str]] = {}
    for row in results.rows:
        if data_and_kind(row.part)[1] == kind:
            for case in row.scores:
                treatment, _, level = case.partition(_BETWEEN)
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
    bits = "".join(row.extra["hits"][f"{treatment}{_BETWEEN}{level}"] for row in rows)
    return np.array(list(bits), np.int64)


def imperfect_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return two tables for every imperfection: means over data sets, and each data set at one level.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of Table
    """
    results = whole(results)
    ran = {row.method for row in results.rows}
    methods = [name for name in experiment.methods() if name in ran]
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
            lines.append(Line((method, treatment, *cells)))
    levels = next(iter(cases.values()))
    title = f"{_capital(kind)}: mean accuracy (%) over {', '.join(names)}"
    return Table(
        title, ("method", "treatment", *levels), tuple(lines), ("", "", *(HIGH for _ in levels))
    )


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
                _difference(results, f"{d}{_BETWEEN}{kind}", method, reference, case) for d in data
            ]
            cells = [f"{cell} ({text})" for cell, text in zip(cells, beside, strict=True)]
            overall = difference(found[method], found[reference])
        lines.append(Line((method, *cells, overall)))
    title = (
        f"{_capital(kind)}, {case[1]}, {case[0]}: accuracy (%), and difference to {reference} ± standard error "
        "over queries, in the mean over data sets"
    )
    header = ("method", *data, "mean difference")
    return Table(title, header, tuple(lines), ("", *(HIGH for _ in data), ""))


def _difference(
    results: Results, part: str, method: str, reference: str, case: tuple[str, str]
) -> str:
    own, other = (_hits(results.of(part, name), *case) for name in (method, reference))
    mean, error = mean_and_error(list(100.0 * (own - other)))
    return f"{mean:+.1f} ± {error:.1f}"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
