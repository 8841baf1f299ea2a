"""What is left where data are not perfect: channels missing or broken, labels wrong, ranks deficient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray
from spdatoms.channels import BrokenChannels, SPDImputer, SPDRange
from spdatoms.geometry.channels import Mask, cut, known_channels, patterns
from spdatoms.paper.experiments.experiment import (
    COVARIANCES,
    LabelledViews,
    Method,
    Outcome,
    Setting,
    Task,
    percentage,
    timed,
)
from spdatoms.paper.experiments.methods.peers import compared_classifiers
from spdatoms.paper.experiments.protocols import _corruption as corruption
from spdatoms.paper.experiments.protocols._columns import load_columns
from spdatoms.paper.experiments.protocols.curves import MISLABELLED, Curve, Curves, Levels, levels

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75)
#: Training matrices that lack more have too few neighbours.
SHARES_EVERYWHERE = (0.0, 0.1, 0.25, 0.5)
FAULTS = (("gain", 1), ("noise", 1), ("flat", 1), ("swapped", 2), ("gain", 3), ("noise", 3))
#: Queries lack one of this many random sets of channels.
_PATTERNS = 5
#: The greatest number of queries in a division, drawn at random.
_QUERIES = 100
#: Of a channel whose log variance is off by this many deviations a user thinks ill.
_DEVIATIONS = 3.5
#: Methods that refit themselves to the channels of a query.
_OWN = ("RSR-S", "RSR-J", "SPDSparseClassifierCV", "SPDEnsembleClassifier", "ensemble, cv")
#: Peers that are not compared here: other forms of those that are, or slow ones.
_OTHERS = (
    *(
        "RSR-J",
        "SPDSparseClassifierCV",
        "ensemble, cv",
        "tangent space + LDA",
        "tangent space + LDA LW",
    ),
    *(
        "tangent space + SVC",
        "tangent space + LinearSVC",
        "kernel SVM logEuc",
        "kernel SVM tangent",
    ),
    *("SPDNystroem + LinearSVC", "SPDNystroem + LR", "DivergenceKernel + SVC"),
)
Change = Callable[[LabelledViews, LabelledViews, np.random.Generator], Levels]


class Imperfect(Curves):
    """Accuracy where channels are missing or broken, labels are wrong, and ranks are deficient."""

    name = "imperfect"
    title = "Data that are not perfect"
    protocol = (
        "The data sets and divisions of 'classifiers', at most 100 queries and three divisions of each. "
        "Missing: every query lacks a share of its channels, one of five random sets; all methods are "
        "refitted to the channels at hand, or the queries are filled in by local regression. Missing "
        "everywhere: training matrices, too, each its own channels; filled in by local or by global "
        "regression. Broken: one or three channels of every query have ten times the variance (gain), "
        "noise of three times the variance, no signal (flat), or two are swapped; untreated, without "
        "channels whose log variance is 3.5 deviations off, without those that BrokenChannels finds, and "
        "without the right ones (told); all methods are refitted to the channels that are left. "
        "Mislabelled: as in 'curves'. Rank: average-referenced matrices, and matrices with copies of two "
        "channels, on the common range."
    )
    in_figure = (
        *("RSR-S", "SPDEnsembleClassifier", "MDM", "tangent space + LDA pooled"),
        *("kernel SVM Stein", "1-NN Stein"),
    )
    repeats = 3

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Curve]:
        """Return every kind of imperfection for every column that the folder has data of."""
        if folder is None:
            raise self.no_embedded_data()
        columns = load_columns(folder, on_error)
        return {f"{name}: {kind}": Curve(c, kind) for name, c in columns.items() for kind in KINDS}

    def most_repeats(self, data: Curve) -> int:
        """Return the number of divisions."""
        return min(self.repeats, data.column.repeats)

    def task(self, data: Curve, repeat: int, rng: np.random.Generator) -> Task:
        """Divide the matrices by the rule of the column, and make them imperfect level by level."""
        train, test = data.column.divide(repeat, rng)
        test = test.take(np.sort(rng.permutation(len(test))[:_QUERIES]))
        return Task(train, {}, parameters={"levels": KINDS[data.kind](train, test, rng)})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers of 'classifiers' without those that are other forms of the same."""
        return {name: one for name, one in compared_classifiers().items() if name not in _OTHERS}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy at every level, refitted to the channels that queries have."""
        scores, fit_seconds, predict_seconds = {}, 0.0, 0.0
        fitted: dict[tuple[int, bytes], Any] = {}
        for level, (train, test) in task.parameters["levels"].items():
            X, Q = train.views[COVARIANCES], test.views[COVARIANCES]
            predicted = np.empty(len(Q), test.y.dtype)
            for known, rows in patterns(_treated(method, Q)):
                key = id(train), known.tobytes()
                if key not in fitted:
                    model = method.make(setting)
                    _, seconds = timed(model.fit, _cut(X, known), train.y)
                    fitted[key], fit_seconds = model, fit_seconds + seconds
                found, seconds = timed(fitted[key].predict, _cut(Q[rows], known))
                predicted[rows], predict_seconds = found, predict_seconds + seconds
            scores[level] = percentage(predicted == test.y)
        return Outcome(scores, fit_seconds, predict_seconds)


def _treated(method: Method, Q: FloatArray) -> Mask:
    """Return the channels that a method must be told of: some refit themselves."""
    return np.ones(Q.shape[:2], np.bool_) if method.name in _OWN else known_channels(Q)


def _cut(X: FloatArray, known: Mask) -> FloatArray:
    return X if known.all() else cut(X, known)


def _with(samples: LabelledViews, X: FloatArray) -> LabelledViews:
    return replace(samples, views={**samples.views, COVARIANCES: X})


def _without(X: FloatArray, missing: Mask) -> FloatArray:
    X = X.copy()
    X[missing] = np.nan
    X.swapaxes(1, 2)[missing] = np.nan
    return X


def _missing(X: FloatArray, share: float, sets: int, rng: np.random.Generator) -> Mask:
    """Return a mask (m, n) of missing channels, the same share of them in each matrix, but one is left."""
    m, n, _ = X.shape
    order = rng.random((sets, n)).argsort(axis=1)
    chosen: Mask = (order < min(round(share * n), n - 1))[np.arange(m) % sets]
    return chosen


def _in_queries(imputed: bool) -> Change:
    def change(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Levels:
        X, Q, seed = train.views[COVARIANCES], test.views[COVARIANCES], rng.integers(2**32)
        imputer = SPDImputer().fit(X)
        found = {}
        for share in SHARES:
            own = np.random.default_rng(seed)
            queries = _without(Q, _missing(Q, share, _PATTERNS, own))
            queries = imputer.transform(queries) if imputed and share else queries
            found[f"{share:.0%}"] = train, _with(test, queries)
        return found

    return change


def _everywhere(global_share: float) -> Change:
    def change(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Levels:
        X, Q, seed = train.views[COVARIANCES], test.views[COVARIANCES], rng.integers(2**32)
        found = {}
        for share in SHARES_EVERYWHERE:
            own = np.random.default_rng(seed)
            A, B = (_without(Z, _missing(Z, share, len(Z), own)) for Z in (X, Q))
            if share:
                imputer = SPDImputer(global_share=global_share)
                A = imputer.fit_transform(A)
                B = imputer.transform(B)
            found[f"{share:.0%}"] = _with(train, A), _with(test, B)
        return found

    return change


def _suspected(X: FloatArray, Q: FloatArray) -> Mask:
    """Return channels whose log variance is far from that of training matrices, if half of them are left."""
    usual, asked = (np.log(np.einsum("mii->mi", Z).real) for Z in (X, Q))
    bad = abs(asked - usual.mean(axis=0)) > _DEVIATIONS * usual.std(axis=0, ddof=1)
    return np.asarray(bad & (bad.sum(axis=1) <= Q.shape[1] // 2)[:, None])


def _broken(treatment: str) -> Change:
    def change(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Levels:
        X, Q, seed = train.views[COVARIANCES], test.views[COVARIANCES], rng.integers(2**32)
        detector = BrokenChannels().fit(X) if treatment == "detector" else None
        own = np.random.default_rng(seed)
        found = {}
        for kind, count in (("none", 0), *FAULTS):
            queries, bad = corruption.with_faults(Q, kind, min(count, Q.shape[1] - 1), own)
            if detector is not None:
                bad = detector.predict(queries)
            elif treatment == "variance":
                bad = _suspected(X, queries)
            elif treatment == "untreated":
                bad = np.zeros_like(bad)
            found[f"{kind} × {count}" if count else kind] = (
                train,
                _with(test, _without(queries, bad)),
            )
        return found

    return change


def _rank(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Levels:
    X, Q = train.views[COVARIANCES], test.views[COVARIANCES]
    n = X.shape[-1]
    copied = np.append(np.arange(n), rng.permutation(n)[:2])
    maps: Mapping[str, Array] = {
        "average reference": np.eye(n) - 1.0 / n,
        "two copies": np.eye(n)[copied],
    }
    found = {"as they are": (train, test)}
    for level, T in maps.items():
        reach = SPDRange().fit(T @ X @ T.T)
        A, B = (reach.transform(T @ Z @ T.T) for Z in (X, Q))
        found[level] = _with(train, A), _with(test, B)
    return found


def _mislabelled(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Levels:
    return levels(MISLABELLED, train, test, rng)


#: What is imperfect and how it is treated.
KINDS: Mapping[str, Change] = {
    "missing (refitted)": _in_queries(imputed=False),
    "missing (imputed)": _in_queries(imputed=True),
    "missing everywhere (local imputation)": _everywhere(0.1),
    "missing everywhere (global imputation)": _everywhere(1.0),
    "broken (untreated)": _broken("untreated"),
    "broken (by variance)": _broken("variance"),
    "broken (BrokenChannels)": _broken("detector"),
    "broken (told)": _broken("told"),
    MISLABELLED: _mislabelled,
    "rank": _rank,
}
