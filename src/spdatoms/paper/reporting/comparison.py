"""Methods compared over data sets: means, standard errors, and paired differences to the best peer.

A standard error is that of a mean over units: people, subjects, or repeats. Two methods are compared unit by
unit, so that what makes a unit hard for both does not count as noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.stats import binomtest, t

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results, Row
from spdatoms.paper.reporting.table import HIGH, LOW, MISSING, Table, by_method, grid, value


def comparison_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return accuracies, differences to the best or the named peer, and calibration errors where they are known."""
    parts = results.parts()
    methods = results.ran(experiment.methods())
    units = units_by_cell(results, methods)
    found = [_accuracies(experiment, methods, parts, units)]
    if experiment.peer:
        found.append(_named_peer(experiment, methods, parts, units))
    if experiment.reference in methods:
        found.append(_best_peers(experiment, methods, parts, units))
    return [*found, *_calibration(results, methods, parts)]


Units = Mapping[str, float]
UnitsByCell = Mapping[tuple[str, str], Units]


def accuracies_of_units(rows: Iterable[Row]) -> Units:
    """Return the accuracy of every unit in per cent, over all rows; a repeat is a unit if none are named."""
    alone: dict[str, float] = {}
    counts: dict[str, list[int]] = {}
    for row in rows:
        named = row.extra.get("units") or {}
        if not named and row.scores:
            alone[str(row.repeat)] = next(iter(row.scores.values()))
        for unit, (hits, total) in named.items():
            so_far = counts.setdefault(unit, [0, 0])
            so_far[0] += hits
            so_far[1] += total
    return alone | {unit: 100.0 * hits / total for unit, (hits, total) in counts.items()}


def units_by_cell(results: Results, methods: Iterable[str]) -> UnitsByCell:
    """Return the accuracies of the units of every method in every part."""
    parts = results.parts()
    return {(m, p): accuracies_of_units(results.of(p, m)) for m in methods for p in parts}


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, which takes two values at least."""
    if len(values) < 2:
        return float(np.mean(values)), None
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def paired(first: Units, second: Units) -> list[float]:
    """Return the differences first − second of the units that both have."""
    return [value - second[unit] for unit, value in first.items() if unit in second]


def calibration_error(rows: Iterable[Row]) -> float | None:
    """Return Σ_b |hits_b − confidence_b| / Σ_b n_b in per cent over bins b of confidence, if rows have them.

    This is the expected calibration error of the probability of the predicted class.
    """
    bins = [row.extra["calibration"] for row in rows if "calibration" in row.extra]
    if not bins:
        return None
    counts, confidence, hits = np.sum(bins, axis=0).T
    return float(100.0 * np.abs(hits - confidence).sum() / counts.sum())


def _accuracies(
    experiment: Experiment, methods: Sequence[str], parts: Sequence[str], units: UnitsByCell
) -> Table:
    rows = []
    for method in methods:
        there = [list(units[method, part].values()) for part in parts]
        cells = [value(*mean_and_error(values)) if values else MISSING for values in there]
        complete = all(there)
        mean = f"{np.mean([np.mean(values) for values in there]):.1f}" if complete else MISSING
        rows.append((method, *cells, mean))
    title = f"{experiment.title}: accuracy (%) ± standard error"
    return grid(title, ("method", *parts, "mean"), rows, HIGH)


def _best_peers(
    experiment: Experiment, methods: Sequence[str], parts: Sequence[str], units: UnitsByCell
) -> Table:
    rows, means, errors = [], [], []
    for part in parts:
        reference = units[experiment.reference, part]
        peers = [m for m in methods if m not in experiment.own and units[m, part]]
        if not reference or not peers:
            continue
        best = max(peers, key=lambda peer: float(np.mean(list(units[peer, part].values()))))
        mean, error = mean_and_error(paired(reference, units[best, part]))
        accuracies = [np.mean(list(u.values())) for u in (reference, units[best, part])]
        shown = (f"{accuracy:.1f}" for accuracy in accuracies)
        rows.append((part, *shown, best, value(mean, error, sign="+")))
        means.append(mean)
        errors.append(error or 0.0)
    if len(means) > 1:
        error = float(np.sqrt(np.sum(np.square(errors))) / len(errors))
        rows.append(("mean", "", "", "", value(float(np.mean(means)), error, sign="+")))
    title = f"{experiment.reference} against the best peer of every column"
    header = ("column", experiment.reference, "best peer", "which", "difference ± standard error")
    return grid(title, header, rows)


def _named_peer(
    experiment: Experiment, methods: Sequence[str], parts: Sequence[str], units: UnitsByCell
) -> Table:
    """Return the paired differences of this library's classifiers to the peer that was named before looking."""
    rows = []
    for method in (m for m in experiment.own if m in methods):
        pairs = [paired(units[method, p], units.get((experiment.peer, p), {})) for p in parts]
        found = [_interval(pair) if pair else None for pair in pairs]
        cells = [MISSING if one is None else value(*one, sign="+") for one in found]
        known = [one for one in found if one is not None]
        overall = MISSING
        if len(known) == len(parts):
            means, halves = np.array(known).T
            overall = value(means.mean(), np.sqrt((halves**2).sum()) / len(parts), sign="+")
        rows.append((method, *cells, overall))
    title = f"Difference to {experiment.peer} in points, ± half of its 95 % interval"
    return grid(title, ("method", *parts, "mean"), rows)


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and half of its 95 % interval by Student's t: not a number of a single value."""
    mean, error = mean_and_error(differences)
    return mean, np.nan if error is None else float(error * t.ppf(0.975, len(differences) - 1))


def _calibration(results: Results, methods: Sequence[str], parts: Sequence[str]) -> list[Table]:
    def cell(method: str, part: str) -> str:
        error = calibration_error(results.of(part, method))
        return MISSING if error is None else f"{error:.1f}"

    columns = [part for part in parts if any(cell(method, part) != MISSING for method in methods)]
    title = "Expected calibration error of predict_proba (%)"
    return by_method(title, methods, columns, cell, LOW)


def difference_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the differences of all methods to the reference of an experiment, if that ran."""
    queries = experiment.single_queries or any("units" in row.extra for row in results.rows)
    tested, spread = "with p of McNemar's exact test over queries", "± standard error over repeats"
    title = f"Difference to {experiment.reference} in points, {tested if queries else spread}"
    methods = results.ran(experiment.methods())
    units = units_by_cell(results, methods)
    return differences(title, methods, experiment.reference, results.parts(), units, queries)


def differences(
    title: str,
    methods: Sequence[str],
    reference: str,
    columns: Sequence[str],
    units: UnitsByCell,
    queries: bool = False,
) -> list[Table]:
    """Return a table of differences of the methods to the reference in every column, if there are both."""
    rows = [
        (m, *(difference(units[m, c], units[reference, c], queries) for c in columns))
        for m in methods
        if m != reference and reference in methods
    ]
    return [grid(title, ("method", *(c or "difference" for c in columns)), rows)] if rows else []


def difference(first: Units, second: Units, queries: bool = False) -> str:
    """Return the mean of first − second over the units of both, queries or repeats, with how sure it is."""
    differences = paired(first, second)
    if not differences:
        return MISSING
    mean, error = mean_and_error(differences)
    if queries:
        p = mcnemar(differences)
        return f"{mean:+.1f} (p {'< 0.001' if p < 0.001 else f'= {p:.2g}'})"
    return value(mean, error, sign="+")


def mcnemar(differences: Sequence[float]) -> float:
    """Return the probability that as many of the queries that one method alone has right are of the same method."""
    gained, lost = (int(np.sum(np.sign(differences) == sign)) for sign in (1, -1))
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
