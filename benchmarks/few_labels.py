"""Few labels and many unlabelled matrices: classifiers of the labels alone against codes over a learned dictionary.

``python benchmarks/few_labels.py FOLDER`` (the data of ``spdatoms reproduce classifiers``). Half of the matrices of
every class are known, 1, 2 or 5 of them with their label; the others are queries. 'labels alone' are classifiers that
see the labelled matrices only. 'codes' learn a dictionary of all known matrices, labelled or not, and classify codes
of norm one by those of the labelled matrices: the nearest one, or logistic regression. Means over ten divisions, and
the paired difference between the best of each kind, a choice that favours both alike.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from spdatoms import (
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
)
from spdatoms.paper.experiments.task import drawn, halves
from spdatoms.paper.protocols._columns import load_columns

COLUMNS = ("Brodatz 16c", "Randen 16", "vowels")
LABELS, DIVISIONS, N_ATOMS = (1, 2, 5), 10, 64
ALONE: dict[str, Callable[[], Any]] = {
    "RSR-S": SPDSparseClassifier,
    "ensemble": SPDEnsembleClassifier,
    "1-NN Stein": lambda: SPDKNeighborsClassifier(metric="stein"),
}
CODED: dict[str, Callable[[], Any]] = {
    "codes, 1-NN": lambda: KNeighborsClassifier(1),
    "codes, LR": lambda: LogisticRegression(C=100.0, max_iter=500),
}


def accuracies(X: np.ndarray, y: np.ndarray, seed: int) -> dict[tuple[int, str], float]:
    """Return the accuracy of every method with every number of labels in one division."""
    known, queries = halves(y, np.random.default_rng(seed))
    learner = SPDDictionaryLearning(N_ATOMS, normalise=True, random_state=seed).fit(X[known])
    codes = learner.transform(X)
    found = {}
    for count in LABELS:
        labelled = known[drawn(y[known], count, np.random.default_rng(seed))[0]]
        for models, features in ((ALONE, X), (CODED, codes)):
            for name, make in models.items():
                model = make().fit(features[labelled], y[labelled])
                found[count, name] = 100 * model.score(features[queries], y[queries])
    return found


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    columns = load_columns(Path(sys.argv[1]), "warn")
    names = (*ALONE, *CODED)
    print("| | labels | " + " | ".join(names) + " | codes − labels alone |")
    print("|" + "---|" * (len(names) + 3))
    for column in COLUMNS:
        samples = columns[column].samples
        divisions = [
            accuracies(samples.views["covariances"], samples.y, s) for s in range(DIVISIONS)
        ]
        for count in LABELS:
            scores = {name: np.array([found[count, name] for found in divisions]) for name in names}
            alone, coded = (max((scores[m] for m in of), key=np.mean) for of in (ALONE, CODED))
            error = np.std(coded - alone, ddof=1) / np.sqrt(DIVISIONS)
            cells = [f"{np.mean(values):.1f}" for values in scores.values()]
            print("|", " | ".join((column, str(count), *cells)), "|", end=" ")
            print(f"{np.mean(coded - alone):+.1f} ± {error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
