"""How well `suspect_labels` finds wrong labels, and what it helps to leave them out.

    python benchmarks/label_audit.py --data DIR

DIR is the folder that ``spdatoms reproduce classifiers`` reads. In the training part of the first division of every
data set, at most 600 matrices, no label or 10 or 20 % of them are replaced by other ones at random. The tables have, as
means over draws and in per cent:

- the average precision of rankings by how doubtful labels are. Peers are the scores of confident learning
  (cleanlab): by logistic regression of tangent vectors, left-out folds have probabilities of which the label's own
  (*self-confidence*), or that minus the greatest other (*normalised margin*), is small;
- which labels `suspect_labels` finds more probably wrong than right: the share of all, their precision and recall;
- the accuracy of `SPDEnsembleClassifier` on the test matrices: trained with the wrong labels, without suspects,
  without as many by the ranking of the best peer, and without all that are wrong.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from spdatoms import SPDEnsembleClassifier, suspect_labels
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.methods.tangent_vectors import TangentVectors
from spdatoms.paper.protocols._columns import Column, load_columns
from spdatoms.paper.protocols._corruption import mislabelled

Floats = NDArray[np.float64]

SHARES = (0.0, 0.1, 0.2)
MOST = 600
#: C of logistic regression.
PENALTIES = (1.0, 10.0, 100.0)
OURS = "suspect_labels"
PRECISION, SUSPECTS, ACCURACY = "average precision", "suspects", "accuracy"


@dataclass(frozen=True)
class Data:
    """Training matrices and their tangent vectors, true labels, and test matrices with theirs."""

    X: Floats
    vectors: Floats
    y: Any
    queries: Floats
    truth: Any

    @classmethod
    def of(cls, column: Column) -> Data:
        """Return the first division of a data set."""
        train, test = column.divide(0, np.random.default_rng([0, 0]))
        X, Z = (np.asarray(part.views[COVARIANCES], np.float64) for part in (train, test))
        some = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST])
        # Their mean knows no labels, so one serves all folds.
        vectors = TangentVectors().fit(X[some]).transform(X[some])
        return cls(X[some], vectors, train.y[some], Z, test.y)


def tangent_probabilities(vectors: Floats, y: Any, C: float) -> Floats:
    """Return what logistic regression of tangent vectors says about left-out folds."""
    largest = int(np.unique(y, return_counts=True)[1].max())
    folds = StratifiedKFold(min(5, largest), shuffle=True, random_state=0)
    model = LogisticRegression(C=C, max_iter=200)
    with warnings.catch_warnings():
        # Classes with fewer members than folds, and steps that are enough for a ranking.
        warnings.simplefilter("ignore")
        return np.asarray(cross_val_predict(model, vectors, y, cv=folds, method="predict_proba"))


def doubts(data: Data, y: Any) -> dict[str, Floats]:
    """Return how doubtful each label is, by every method."""
    suspects = suspect_labels(data.X, y)
    ours = np.empty(len(y))
    ours[suspects.indices] = suspects.probabilities
    found = {OURS: ours}
    rows, own = np.arange(len(y)), np.searchsorted(np.unique(y), y)
    for C in PENALTIES:
        p = tangent_probabilities(data.vectors, y, C)
        others = p.copy()
        others[rows, own] = -1.0
        found[f"self-confidence, C = {C:g}"] = 1.0 - p[rows, own]
        found[f"normalised margin, C = {C:g}"] = others.max(axis=1) - p[rows, own]
    return found


def audit(data: Data, share: float, seed: int) -> dict[str, dict[str, float]]:
    """Return what the tables have, for one draw of wrong labels."""
    given = mislabelled(data.y, share, np.random.default_rng(seed))
    wrong = given != data.y
    found = doubts(data, given)
    suspected = found[OURS] > 0.5
    suspects = {"of all labels": 100.0 * suspected.mean()}
    if not share:
        return {SUSPECTS: suspects}
    precisions = {
        name: float(100.0 * average_precision_score(wrong, doubt)) for name, doubt in found.items()
    }
    peer = max((name for name in found if name != OURS), key=precisions.__getitem__)
    as_many = np.zeros(len(wrong), bool)
    as_many[np.argsort(-found[peer], kind="stable")[: suspected.sum()]] = True

    def accuracy(kept: NDArray[np.bool_]) -> float:
        model = SPDEnsembleClassifier().fit(data.X[kept], given[kept])
        return float(100.0 * np.mean(model.predict(data.queries) == data.truth))

    return {
        PRECISION: precisions,
        SUSPECTS: suspects
        | {
            "precision": 100.0 * (suspected & wrong).sum() / max(1, suspected.sum()),
            "recall": 100.0 * (suspected & wrong).sum() / wrong.sum(),
        },
        ACCURACY: {
            "all labels": accuracy(np.ones(len(wrong), bool)),
            "without suspects": accuracy(~suspected),
            "without as many by the best peer": accuracy(~as_many),
            "without the wrong ones": accuracy(~wrong),
        },
    }


def report(table: dict[str, Any], say: Callable[[str], None]) -> None:
    """Print one row per method, one column per data set."""
    for share in SHARES:
        for what in next(iter(table.values()))[str(share)][0]:
            runs = {name: [run[what] for run in of[str(share)]] for name, of in table.items()}
            say(f"\n{what}, {share:.0%} of labels wrong:\n")
            say(f"| | {' | '.join(runs)} | mean |\n|{'---|' * (len(runs) + 2)}")
            for method in next(iter(runs.values()))[0]:
                means = [np.mean([run[method] for run in own]) for own in runs.values()]
                numbers = " | ".join(f"{mean:.1f}" for mean in (*means, np.mean(means)))
                say(f"| {method} | {numbers} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table: dict[str, dict[str, Any]] = {}
    for name, column in load_columns(options.data, "raise").items():
        if options.only and name not in options.only:
            continue
        data = Data.of(column)
        table[name] = {
            str(share): [audit(data, share, seed) for seed in range(options.draws if share else 1)]
            for share in SHARES
        }
    report(table, print)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
