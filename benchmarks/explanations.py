"""Whether explanations are the decisions: on ten data sets, for all three classifiers.

    python benchmarks/explanations.py --data DIR

DIR is the folder that ``spdatoms reproduce classifiers`` reads. Every classifier is fitted to the training matrices of
divisions of every data set and explains the test matrices, until there are enough queries. For each query the class
with the largest total must be what ``predict`` returns, the totals must be those of ``decision_function``, and the
contributions of the training matrices of a class, with the offset, must sum up to its total.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier, SPDSparseClassifierCV
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.protocols._columns import Column, load_columns

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "SPDSparseClassifier": SPDSparseClassifier,
    "SPDSparseClassifierCV": SPDSparseClassifierCV,
    "SPDEnsembleClassifier": SPDEnsembleClassifier,
}


@dataclass
class Tally:
    """Queries, predictions that are not the class with the largest total, and the greatest differences."""

    queries: int = 0
    other: int = 0
    totals: float = 0.0
    sums: float = 0.0

    def add(self, model: Any, X: Any) -> None:
        """Explain matrices, and compare with what the classifier says of them."""
        found = model.explain(X)
        scores, totals = model.decision_function(X), found.totals
        if scores.ndim == 1:
            totals, scores = (totals[:, 1] - totals[:, 0])[:, None], scores[:, None]
        self.queries += len(X)
        self.other += int(np.sum(found.predictions != model.predict(X)))
        self.totals = max(self.totals, float(np.abs(totals - scores).max()))
        for one in found:
            own = np.array([one.contribution_of(label) for label in one.classes])
            there = np.isfinite(one.totals)
            gap = np.abs(own + one.offset - one.totals)[there].max()
            self.sums = max(self.sums, float(gap))


def explained(column: Column, make: Callable[[], Any], wanted: int) -> Tally:
    """Return the tally of a classifier on a data set."""
    tally = Tally()
    for repeat in range(column.repeats):
        if tally.queries >= wanted:
            break
        train, test = column.divide(repeat, np.random.default_rng([repeat, 0]))
        X, Z = (np.asarray(part.views[COVARIANCES], np.float64) for part in (train, test))
        tally.add(make().fit(X, train.y), Z[: wanted - tally.queries])
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=2000, help="at most, of each data set")
    options = parser.parse_args()
    columns = load_columns(options.data, "raise")
    print("| | queries | another class than `predict` | totals | sums of contributions |")
    print("|---|---|---|---|---|")
    for name, make in CLASSIFIERS.items():
        found = {title: explained(one, make, options.queries) for title, one in columns.items()}
        queries, other = (
            sum(getattr(t, key) for t in found.values()) for key in ("queries", "other")
        )
        totals, sums = (max(getattr(t, key) for t in found.values()) for key in ("totals", "sums"))
        print(f"| {name} | {queries} | {other} | {totals:.1e} | {sums:.1e} |", flush=True)


if __name__ == "__main__":
    main()
