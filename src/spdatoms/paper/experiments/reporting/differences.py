"""Paired differences between methods: what makes a query or a division hard for both does not count as noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.reporting.comparison import (
    MISSING,
    Units,
    accuracies_of_units,
    mean_and_error,
    paired,
)
from spdatoms.paper.experiments.reporting.table import Line, Table
from spdatoms.paper.experiments.results import Results


def difference_tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the differences of all methods to the reference of an experiment, if that ran.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of Table
        One table, or none.
    """
    reference, parts = experiment.reference, results.parts()
    ran = {row.method for row in results.rows}
    others = [name for name in experiment.methods() if name in ran - {reference}]
    if reference not in ran or not others:
        return []
    queries = experiment.single_queries or any("units" in row.extra for row in results.rows)
    units = {(m, p): accuracies_of_units(results.of(p, m)) for m in ran for p in parts}
    lines = tuple(
        Line((m, *(difference(units[m, p], units[reference, p], queries) for p in parts)))
        for m in others
    )
    how = (
        "with p of McNemar's exact test over queries"
        if queries
        else "± standard error over repeats"
    )
    title = f"Difference to {reference} in points, {how}"
    return [Table(title, ("method", *(part or "difference" for part in parts)), lines)]


def difference(first: Units, second: Units, queries: bool = False) -> str:
    """Return the mean of first − second over the units of both, queries or repeats, with how sure it is."""
    differences = paired(first, second)
    if not differences:
        return MISSING
    mean, error = mean_and_error(differences)
    if queries:
        p = mcnemar(differences)
        return f"{mean:+.1f} (p {'< 0.001' if p < 0.001 else f'= {p:.2g}'})"
    return f"{mean:+.1f}" if error is None else f"{mean:+.1f} ± {error:.1f}"


def mcnemar(differences: Sequence[float]) -> float:
    """Return the probability that as many of the queries that one method alone has right are of the same method."""
    gained, lost = (int(np.sum(np.sign(differences) == sign)) for sign in (1, -1))
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
