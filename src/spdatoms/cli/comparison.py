"""Classifiers in the same folds: accuracies, paired differences with intervals, processor time."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.predictions import check_folds

#: The method that the others are compared with.
RECOMMENDED = "SPDEnsembleClassifier"
HEADER = ("method", "accuracy (%)", "difference (95 %)", "seconds")

#: What is known of single matrices.
_SINGLE = ("confusions", "gained", "lost")


@dataclass(frozen=True)
class Compared:
    """What a method reached.

    Attributes
    ----------
    method : str
        Its name.
    accuracy : float
        The mean over folds, in per cent.
    error : float
        The standard error of the mean; that folds share training matrices is corrected for.
    difference, margin : float
        The mean difference to the recommended method in points, and half the width of its 95 % interval.
    seconds : float
        Processor time per fold.
    folds : tuple of float
        The accuracy in every fold, in per cent.
    confusions : dict of (label, prediction) to int
        How many matrices of each class were taken for which, over all repeats.
    gained, lost : tuple of int
        The matrices that it alone, or the recommended method alone, has right more often.
    """

    method: str
    accuracy: float
    error: float
    difference: float
    margin: float
    seconds: float
    folds: tuple[float, ...] = ()
    confusions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    gained: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return its figures, without those of single matrices."""
        return {name: value for name, value in vars(self).items() if name not in _SINGLE}

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        low, high = self.difference - self.margin, self.difference + self.margin
        between = f"{self.difference:+.1f} [{low:+.1f}, {high:+.1f}]"
        return (
            self.method,
            f"{self.accuracy:.1f} ± {self.error:.1f}",
            "" if self.method == RECOMMENDED else between,
            f"{self.seconds:.2g}",
        )


def classifiers(jobs: int | None) -> dict[str, Any]:
    """Return what is compared: of this library, and of pyRiemann or else of scikit-learn alone."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from spdatoms.classification import (
        MinimumDistanceToMean,
        SPDEnsembleClassifier,
        SPDSparseClassifier,
    )

    ours = {
        RECOMMENDED: SPDEnsembleClassifier(n_jobs=jobs),
        "RSR-S": SPDSparseClassifier("stein", n_jobs=jobs),
        "RSR-J": SPDSparseClassifier("jeffrey", n_jobs=jobs),
    }
    linear = {
        "LR": LogisticRegression(max_iter=1000),
        "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    }
    if find_spec("pyriemann") is not None:
        from pyriemann.classification import MDM
        from pyriemann.tangentspace import TangentSpace

        means, vectors, name = (
            {"MDM (pyRiemann)": MDM()},
            TangentSpace(),
            "tangent + {} (pyRiemann)",
        )
    else:
        from sklearn.preprocessing import FunctionTransformer

        means = {"MDM": MinimumDistanceToMean(n_jobs=jobs)}
        vectors, name = FunctionTransformer(_log_vectors), "logarithms + {} (scikit-learn)"
    peers = {name.format(kind): make_pipeline(vectors, model) for kind, model in linear.items()}
    return ours | means | peers


def _log_vectors(X: Array) -> Array:
    from spdatoms.geometry import logm, vech

    return np.asarray(vech(logm(X), weighted=True))


def compared(
    X: Array,
    y: Array,
    *,
    cv: int,
    repeats: int,
    seed: int,
    jobs: int | None,
    advance: Callable[[], Any],
) -> list[Compared]:
    """Return what every classifier reaches in the same folds, the best first."""
    from scipy.stats import t
    from sklearn.base import clone
    from sklearn.model_selection import RepeatedStratifiedKFold

    check_folds(y, cv)
    division = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    methods = classifiers(jobs)
    hits = {name: np.empty(cv * repeats) for name in methods}
    right = {name: np.zeros(len(X), int) for name in methods}
    confusions: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for i, (train, test) in enumerate(division.split(np.zeros(len(X)), y)):
        for name, model in methods.items():
            start = time.process_time()
            with warnings.catch_warnings():
                # Of every kernel in every fold: 'classify' tells them.
                warnings.simplefilter("ignore")
                predicted = clone(model).fit(X[train], y[train]).predict(X[test])
            seconds[name] += time.process_time() - start
            hits[name][i] = 100.0 * np.mean(predicted == y[test])
            right[name][test] += predicted == y[test]
            pairs = zip(y[test].astype(str).tolist(), predicted.astype(str).tolist(), strict=True)
            confusions[name].update(pairs)
        advance()
    share, quantile = 1.0 / (cv - 1), float(t.ppf(0.975, cv * repeats - 1))
    found = []
    for name, own in hits.items():
        differences, gain = own - hits[RECOMMENDED], right[name] - right[RECOMMENDED]
        gained, lost = (tuple(np.flatnonzero(sign * gain > 0).tolist()) for sign in (1, -1))
        row = Compared(
            name,
            float(own.mean()),
            corrected_error(own, share),
            float(differences.mean()),
            quantile * corrected_error(differences, share),
            seconds[name] / len(own),
            tuple(own.tolist()),
            confusions[name],
            gained,
            lost,
        )
        found.append(row)
    return sorted(found, key=lambda row: -row.accuracy)


def corrected_error(values: Floats, share: float) -> float:
    """Return √((1/k + n_test/n_train) s²), the standard error of the mean of k folds of Nadeau and Bengio (2003)."""
    return float(np.sqrt((1.0 / len(values) + share) * values.var(ddof=1)))


def class_accuracies(
    confusions: Mapping[tuple[str, str], int],
) -> tuple[Counter[str], dict[str, float]]:
    """Return how many matrices each class has, and the share of them that is right."""
    counts: Counter[str] = Counter()
    for (label, _), count in confusions.items():
        counts[label] += count
    return counts, {c: confusions.get((c, c), 0) / n for c, n in counts.items()}


def verdict(rows: list[Compared]) -> str:
    """Return a sentence: which methods are better or worse than the recommended one beyond their intervals."""
    better = [row.method for row in rows if row.difference > row.margin]
    worse = [row.method for row in rows if row.difference < -row.margin]
    parts = [
        f"{kind} than {RECOMMENDED}: {', '.join(names)}"
        for kind, names in (("better", better), ("worse", worse))
        if names
    ]
    if not parts:
        return f"No method differs from {RECOMMENDED} by more than its 95 % interval."
    return f"Beyond their 95 % intervals {'; '.join(parts)}."
