"""Methods compared over data sets: means, standard errors, and paired differences to the best peer.

A standard error is that of a mean over units: people, subjects, or repeats. Two methods are compared unit by
unit, so that what makes a unit hard for both does not count as noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.reporting.table import HIGH, LOW, Line, Table
from spdatoms.paper.experiments.results import Results, Row

MISSING = "–"


def comparison_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return accuracies, differences to the best peer, and calibration errors where they are known.

    Parameters
    ----------
    experiment : Experiment
        The experiment, which names its `reference` and its `own` methods.
    results : Results
        Its results.

    Returns
    -------
    list of Table
    """
    parts = results.parts()
    ran = {row.method for row in results.rows}
    methods = [name for name in experiment.methods() if name in ran]
    units = {(m, p): accuracies_of_units(results.of(p, m)) for m in methods for p in parts}
    found = [_accuracies(experiment, methods, parts, units)]
    if experiment.reference in ran:
        found.append(_differences(experiment, methods, parts, units))
    errors = {(m, p): calibration_error(results.of(p, m)) for m in methods for p in parts}
    if any(error is not None for error in errors.values()):
        found.append(_calibration(methods, parts, errors))
    return found


Units = Mapping[str, float]


def accuracies_of_units(rows: Iterable[Row]) -> Units:
    """Return the accuracy of every unit in per cent, over all rows; a repeat is a unit if none are named."""
    alone: dict[str, float] = {}
    counts: dict[str, list[int]] = {}
    for row in rows:
        named = row.extra.get("units") or {}
        if not named:
            alone[str(row.repeat)] = next(iter(row.scores.values()))
        for unit, (hits, total) in named.items():
            so_far = counts.setdefault(unit, [0, 0])
            so_far[0] += hits
            so_far[1] += total
    return alone | {unit: 100.0 * hits / total for unit, (hits, total) in counts.items()}


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
    experiment: Experiment,
    methods: Sequence[str],
    parts: Sequence[str],
    units: Mapping[tuple[str, str], Units],
) -> Table:
    lines = []
    for method in methods:
        there = [list(units[method, part].values()) for part in parts]
        cells = [_value(*mean_and_error(values)) if values else MISSING for values in there]
        complete = all(there)
        mean = f"{np.mean([np.mean(values) for values in there]):.1f}" if complete else MISSING
        lines.append(Line((method, *cells, mean)))
    title = f"{experiment.title}: accuracy (%) ± standard error"
    header = ("method", *parts, "mean")
    return Table(title, header, tuple(lines), ("", *(HIGH for _ in header[1:])))


def _differences(
    experiment: Experiment,
    methods: Sequence[str],
    parts: Sequence[str],
    units: Mapping[tuple[str, str], Units],
) -> Table:
    lines, means, errors = [], [], []
    for part in parts:
        reference = units[experiment.reference, part]
        peers = [m for m in methods if m not in experiment.own and units[m, part]]
        if not reference or not peers:
            continue
        best = max(peers, key=lambda peer: float(np.mean(list(units[peer, part].values()))))
        mean, error = mean_and_error(paired(reference, units[best, part]))
        accuracies = [np.mean(list(u.values())) for u in (reference, units[best, part])]
        shown = (f"{accuracy:.1f}" for accuracy in accuracies)
        lines.append(Line((part, *shown, best, _value(mean, error, sign="+"))))
        means.append(mean)
        errors.append(error or 0.0)
    if len(means) > 1:
        error = float(np.sqrt(np.sum(np.square(errors))) / len(errors))
        lines.append(Line(("mean", "", "", "", _value(float(np.mean(means)), error, sign="+"))))
    title = f"{experiment.reference} against the best peer of every column"
    header = ("column", experiment.reference, "best peer", "which", "difference ± standard error")
    return Table(title, header, tuple(lines))


def _calibration(
    methods: Sequence[str],
    parts: Sequence[str],
    errors: Mapping[tuple[str, str], float | None],
) -> Table:
    columns = [part for part in parts if any(errors[m, part] is not None for m in methods)]
    lines = []
    for method in methods:
        found = [errors[method, part] for part in columns]
        if any(error is not None for error in found):
            cells = (MISSING if error is None else f"{error:.1f}" for error in found)
            lines.append(Line((method, *cells)))
    title = "Expected calibration error of predict_proba (%)"
    return Table(title, ("method", *columns), tuple(lines), ("", *(LOW for _ in columns)))


def _value(mean: float, error: float | None, sign: str = "") -> str:
    text = f"{mean:{sign}.1f}"
    return text if error is None else f"{text} ± {error:.1f}"
