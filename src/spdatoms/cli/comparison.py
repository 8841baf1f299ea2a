"""Classifiers in the same folds: accuracies, paired differences with intervals, processor time, and a report."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.text import counted
from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.predictions import check_folds
from spdatoms.cli.report import page
from spdatoms.plotting.display import INK

#: The method that the others are compared with.
RECOMMENDED = "SPDEnsembleClassifier"
HEADER = ("method", "accuracy (%)", "difference (95 %)", "seconds")

#: What is known of single matrices.
_SINGLE = ("confusions", "gained", "lost")

#: The greatest numbers of classes, confusions and matrices that are listed for a method.
_LISTED = 20


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


def write_report(path: Path, rows: Sequence[Compared], summary: page.Rows) -> None:
    """Write which methods were compared, what they reach, and how certain the differences are.

    Parameters
    ----------
    path : Path
        The file.
    rows : sequence of Compared
        The methods, the best first.
    summary : sequence of (name, value)
        What is said first.
    """

    def intervals(ax: Any) -> None:
        places = range(len(rows))
        differences, margins = [r.difference for r in rows], [r.margin for r in rows]
        ax.axvline(0.0, color="0.7", linestyle="--")
        ax.errorbar(differences, places, xerr=margins, fmt="o", color=INK)
        ax.set_yticks(places, [row.method for row in rows])
        ax.invert_yaxis()
        ax.set_xlabel("points")

    caption = (
        "Differences of accuracy to SPDEnsembleClassifier, with 95 % intervals of paired folds."
    )
    figure = page.drawn_figure("differences", caption, intervals, (5.0, 0.8 + 0.4 * len(rows)))
    table = page.table_of("All methods", HEADER, [row.cells() for row in rows])
    hint = (
        "Which folds, classes and matrices make the difference? Matrices are named by their rows."
    )
    browser = page.items_to_browse("One method at a time", hint, [_item(row) for row in rows])
    page.write_report(path, "A comparison", summary, [figure], [table], browser)


def _item(row: Compared) -> dict[str, Any]:
    """Return what is shown of a method: its folds, its classes, what it confuses, and where it differs."""
    accuracy, difference = row.cells()[1:3]
    lines = [f"Accuracy {accuracy} %, {row.seconds:.2g} s of processor time per fold."]
    if row.method != RECOMMENDED:
        lines.append(f"Difference to {RECOMMENDED}: {difference} points.")
        lines.append(
            f"It has {_named(row.gained)} right more often, and {_named(row.lost)} less often."
        )
    shares = class_accuracies(row.confusions)[1].items()
    worst = sorted(((c, 100.0 * share) for c, share in shares), key=lambda one: one[1])[:_LISTED]
    mistakes = Counter({pair: n for pair, n in row.confusions.items() if pair[0] != pair[1]})
    return {
        "name": f"{row.method} {row.accuracy:.1f}",
        "kinds": [],
        "lines": lines,
        "picture": -1,
        "groups": [
            page.bars(
                "Accuracy of folds (%)", [(f"fold {i}", v) for i, v in enumerate(row.folds, 1)]
            ),
            page.bars("Accuracy of classes (%), the least first", worst),
            page.bars(
                "Taken for another class",
                [(f"{label} as {other}", n) for (label, other), n in mistakes.most_common(_LISTED)],
            ),
        ],
    }


def _named(rows: Sequence[int]) -> str:
    """Return how many matrices these are, and the first of them."""
    shown = ", ".join(f"#{row}" for row in rows[:_LISTED])
    more = ", …" if len(rows) > _LISTED else ""
    return counted(len(rows), "matrix", "matrices") + (f" ({shown}{more})" if rows else "")
