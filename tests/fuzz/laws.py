"""What must be the same, or in a known relation: symmetry, invariance, layouts, company, threads, files, weights."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from conformance.estimators import outputs, targets
from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from fuzz.formulas import divergences
from spdatoms import (
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDSparseClassifier,
    SPDSparseRegressor,
    load,
    mean,
    median,
    pairwise_divergence,
    save,
)
from spdatoms.divergences import get_divergence

#: Divergences that depend on the order of the variables.
ORDERED = ("chol", "logchol")


# --- pairs ----------------------------------------------------------------------------------------------


def pair_laws(rng: np.random.Generator) -> str:
    """Divergences within a hostile set: symmetric to the last bit, the same in any company, layout and thread."""
    metric, kind = draws.pick(rng, draws.metrics()), draws.dtype(rng)
    A, B = draws.pairs(rng, 4, int(rng.integers(1, 6)), kind)
    X, same = draws.laid_out(rng, np.concatenate([A, B]))
    D = clearly_refused(lambda: pairwise_divergence(same, metric=metric))
    if was_refused(D):
        expect(
            was_refused(clearly_refused(lambda: pairwise_divergence(X, metric=metric))),
            "a layout decides what is refused",
        )
        return "refused"
    measure = get_divergence(metric)
    expect(np.isfinite(D) & (D >= 0), f"{metric} is negative or not finite")
    expect(np.diagonal(D) == 0, f"{metric}(X, X) is not zero")
    expect((D == D.T) | (not measure.symmetric), f"{metric} is not symmetric")
    expect(pairwise_divergence(X, metric=metric) == D, f"{metric} depends on the layout")
    expect(pairwise_divergence(X, metric=metric, n_jobs=2) == D, f"{metric} depends on threads")
    full = pairwise_divergence(X, X, metric=metric)
    some = rng.permutation(8)[: int(rng.integers(1, 8))]
    expect(
        pairwise_divergence(X[some], X, metric=metric) == full[some], f"{metric} depends on company"
    )
    return "law"


def invariance_laws(rng: np.random.Generator) -> str:
    """Congruence, inversion, scale, permutation of the variables, and real matrices taken for complex ones."""
    metric, kind = draws.pick(rng, draws.metrics()), draws.pick(rng, [np.float64, np.complex128])
    measure, n = get_divergence(metric), int(rng.integers(1, 6))
    X, Y = (draws.spd(rng, 3, n, 10.0 ** rng.uniform(0, 4), kind) for _ in range(2))
    D = pairwise_divergence(X, Y, metric)
    moved: dict[str, Any] = {}
    if measure.congruence_invariant:
        T = draws.unitary(rng, 1, n, kind)[0] * 10.0 ** rng.uniform(-6, 6, n)[:, None]
        moved["congruence"] = (draws.hermitian(T @ Z @ T.conj().T) for Z in (X, Y))
        units = 2.0 ** rng.integers(-300, 300)
        moved["scale"] = (units * Z for Z in (X, Y))
        if measure.symmetric:
            moved["inversion"] = (draws.hermitian(np.linalg.inv(Z)) for Z in (X, Y))
    if metric not in ORDERED:
        order = rng.permutation(n)
        moved["permutation"] = (Z[:, order][:, :, order] for Z in (X, Y))
    if kind == np.float64:
        moved["imaginary zeros"] = (Z.astype(complex) for Z in (X, Y))
    if measure.symmetric:
        moved["exchange"] = (Y, X)
    for law, both in moved.items():
        E = pairwise_divergence(*both, metric)
        E = E.T if law == "exchange" else E
        # The conditions of X and Y are at most 1e4, and so are those that a congruence makes of units.
        allowed = 1e-10 * (np.abs(D).max() + (n if measure.congruence_invariant else 0.0))
        expect(np.abs(D - E) <= allowed, f"{metric} changes by {law}")
    return "law"


# --- estimators -----------------------------------------------------------------------------------------


def training(rng: np.random.Generator, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return hostile matrices of three classes that an estimator may take, and their labels."""
    kind = draws.dtype(rng)
    if not type(model).hermitian:
        kind = np.finfo(kind).dtype
    condition, scale = draws.limits(kind)
    m, n = 14, int(rng.integers(1, 5))
    X = draws.spd(rng, m, n, 10.0 ** rng.uniform(0.5, condition), kind)
    y = np.arange(m) % 3
    X = X * (1.0 + y)[:, None, None].astype(kind) ** 2
    way = rng.integers(5)
    if way == 0:
        X[1] = X[4]
    elif way == 1:
        X = X * kind.type(10.0 ** rng.uniform(-0.1 * scale, 0.1 * scale))
    elif way == 2:
        units = (10.0 ** rng.uniform(-2, 2, n)).astype(np.finfo(kind).dtype)
        X = X * units[:, None] * units
    return draws.hermitian(X).astype(kind), np.array(["ash", "elm", "oak"])[y]


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    """Return whether two estimators say the same, to the last bit."""
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def model_laws(rng: np.random.Generator) -> str:
    """An estimator of hostile data: the same bits from its file, in any layout, company and number of threads."""
    model = draws.estimator(rng)
    X, y = training(rng, model)
    target = targets(model, y)
    fitted = clearly_refused(lambda: clone(model).fit(X, target))
    if was_refused(fitted):
        return "refused"
    queries = X[:5] * X.dtype.type(1.1)
    said = clearly_refused(lambda: outputs(fitted, queries))
    if was_refused(said):
        return "refused"
    name = repr(model)
    for values in said:
        expect(values.dtype.kind not in "fc" or np.isfinite(values).all(), f"{name} is not finite")
    if hasattr(fitted, "predict_proba"):
        total = fitted.predict_proba(queries).sum(axis=1)
        expect(np.abs(total - 1.0) < 1e-9, f"{name}: probabilities do not sum to one")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save(fitted, path)
        other = load(path)
    expect(same(outputs(other, queries), said), f"{name} says something else after loading")
    law = draws.pick(rng, ["layout", "company", "threads"])
    if law == "company":
        alone = outputs(fitted, queries[:2])
        expect(same(alone, [values[:2] for values in said]), f"{name} depends on company")
    else:
        given, plain = draws.laid_out(rng, X) if law == "layout" else (X, X)
        asked, query = draws.laid_out(rng, queries) if law == "layout" else (queries, queries)
        other = clone(model)
        if law == "threads" and "n_jobs" in inspect.signature(type(model)).parameters:
            other.set_params(n_jobs=2)
        other = clearly_refused(lambda: other.fit(given, target))
        if law == "layout":
            fitted = clearly_refused(lambda: clone(model).fit(plain, target))
            expect(
                was_refused(other) == was_refused(fitted),
                f"{name}: a layout decides what is refused",
            )
            if was_refused(fitted):
                return "refused"
            said = outputs(fitted, query)
        expect(same(outputs(other, asked), said), f"{name} depends on {law}")
    return "law"


# --- weights --------------------------------------------------------------------------------------------


def repeated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices, integer weights, and which matrices to repeat instead."""
    X = draws.spd(rng, 9, n, 10.0 ** rng.uniform(0.3, 2.0))
    w = rng.integers(1, 4, 9)
    return X, w.astype(float), np.repeat(np.arange(9), w)


def weighted_models(rng: np.random.Generator, X: np.ndarray, mean: float) -> list[tuple[Any, Any]]:
    """Return estimators of weighted, and of repeated matrices, which then are the same.

    Weights that divide a penalty have the mean 1: the penalty of the weighted matrices is divided by their mean.
    """
    # An indefinite Gram matrix is corrected, and that of repeated matrices is corrected in another way.
    definite = [
        m
        for m in draws.metrics(symmetric=True)
        if get_divergence(m).kernel_is_guaranteed(0.5, X.shape[-1]) and draws.has_mean(m)
    ]
    metric = draws.pick(rng, definite)
    fixed: dict[str, Any] = {"metric": metric, "beta": 0.5}
    nearest = MinimumDistanceToMean(metric)
    learner = SPDDictionaryLearning(
        2, **fixed, alpha=0.1, init=X[:2], max_iter=2, tol=0.0, landmarks=None
    )
    ridged = [
        SPDSparseClassifier(**fixed, alpha=0.0, rule="sum"),
        SPDSparseRegressor(**fixed, alpha=0.0),
    ]
    return [
        (nearest, nearest),
        (learner, learner),
        *((clone(m).set_params(ridge=0.1 / mean), clone(m).set_params(ridge=0.1)) for m in ridged),
    ]


def sum_of_distances(metric: str, X: np.ndarray, w: np.ndarray, C: np.ndarray) -> float:
    """Return Σ w_i √d(X_i, C): several matrices may be medians, and have the same sum."""
    return float(w @ np.sqrt(divergences(metric, X, C[None])[:, 0]))


def weight_laws(rng: np.random.Generator) -> str:
    """An integer weight is a repetition, in means, medians and the estimators that say so."""
    X, w, rows = repeated(rng, int(rng.integers(1, 4)))
    metric = draws.pick(rng, [m for m in draws.metrics() if draws.has_mean(m)])
    kind = draws.pick(rng, ["mean", "median", "model", "model"])
    if kind == "mean":
        found = [[mean(X, metric, w)], [mean(X[rows], metric)]]
    elif kind == "median":
        centres = (median(X, metric, w), median(X[rows], metric))
        found = [[np.array(sum_of_distances(metric, X, w, C))] for C in centres]
    else:
        once, often = draws.pick(rng, weighted_models(rng, X, float(w.mean())))
        y = targets(once, np.array(["ash", "elm", "oak"])[np.arange(9) % 3])
        kind, often = repr(once), clone(often).fit(X[rows], y[rows])
        found = [outputs(clone(once).fit(X, y, sample_weight=w), X), outputs(often, X)]
    for a, b in zip(*found, strict=True):
        if a.dtype.kind == "f":
            error = np.abs(a - b).max() / max(np.abs(b).max(), 1e-300)
            expect(error <= 1e-4, f"{metric}, {kind}: weights are no repetitions, by {error:.2g}")
    return "law"


def law_cases(rng: np.random.Generator) -> str:
    """Laws of invariance and of weights in turn."""
    return draws.pick(rng, (invariance_laws, weight_laws))(rng)
