"""Means and medians: the equations that a stationary point meets, by formulas of their own."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from fuzz.formulas import PULLS, function
from spdatoms import mean, median

#: Distances that are convex along some curves: what no point nearby improves is the least. Of the others a median may
#: be one of several local ones.
CONVEX = ("riemann", "logeuclid", "euclid", "logchol", "chol", "harmonic", "poweuclid")


def sets(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """Return three independent sets of matrices, (3, m, n, n), and weights of their matrices."""
    m, n, kind = int(rng.integers(1, 8)), int(rng.integers(1, 5)), draws.dtype(rng)
    condition = 1e2 if np.finfo(kind).eps > 1e-10 else 1e4
    X = draws.spd(rng, 3 * m, n, condition, kind).reshape(3, m, n, n)
    X = X * kind.type(2.0 ** int(rng.integers(-20, 21)))
    if rng.random() < 0.4:
        return X, None
    weights = rng.choice([0.0, 1e-3, 0.5, 1.0, 3.0, 1e6], m)
    weights[rng.integers(m)] = 1.0
    return X, weights


def found_centres(
    rng: np.random.Generator, centre: Callable[..., np.ndarray]
) -> tuple[str, np.ndarray, np.ndarray, Any]:
    """Draw a metric and sets; return them, the weights to compute with, and the centres."""
    metric = draws.pick(rng, draws.metrics())
    (X, weights), layout = sets(rng), rng.random() < 0.3
    given = np.moveaxis(np.moveaxis(X, 1, 0).copy(), 0, 1) if layout else X
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        C = clearly_refused(lambda: centre(given, metric, weights, axis=1))
    w = np.ones(X.shape[1]) if weights is None else weights
    return metric, X, w / w.sum(), C


def is_only_one(C: np.ndarray, X: np.ndarray, w: np.ndarray) -> bool:
    """Return whether centres are those of the single matrix that has a weight: that matrix, for every metric."""
    if np.count_nonzero(w) != 1:
        return False
    expect(
        np.abs(C - X[:, w.argmax()]) <= 16.0 * draws.precision(X) * np.abs(C).max(),
        "it is another matrix",
    )
    return True


def confirmed(
    rng: np.random.Generator, centre: Callable[..., np.ndarray], check: Callable[..., None]
) -> Counter[str]:
    """Draw sets, and check the centre of each: a call with metric, matrices, weights, centre and rounding error."""
    try:
        metric, X, w, C = found_centres(rng, centre)
    except ConvergenceWarning:
        return Counter(answered=1)  # with a warning that there were not enough steps
    if was_refused(C):
        expect(not draws.has_mean(metric), f"the {centre.__name__} of {metric} is refused: {C}")
        return Counter(refused=1)
    if not is_only_one(C, X, w):
        wide = np.result_type(X, np.float64)
        for Z, one in zip(X.astype(wide), C.astype(wide), strict=True):
            check(metric, Z, w, one, draws.precision(X))
    return Counter(oracle=len(X))


def stationary_means(rng: np.random.Generator) -> Counter[str]:
    """The mean of each metric: the weighted sum of the pulls of the matrices is zero."""

    def check(metric: str, X: np.ndarray, w: np.ndarray, C: np.ndarray, eps: float) -> None:
        values, pulls = PULLS[metric](C, X)
        # A distance is a root, and its unit that of the pulls: they all go together to the centre.
        size = w @ np.linalg.norm(pulls, axis=1) + np.sqrt(w @ values)
        rest = np.linalg.norm(w @ pulls)
        # The tolerance of `mean` is relative to the mean itself, not to how far the matrices lie apart.
        floor = (1e-9 + 1e3 * eps) * np.linalg.norm(PULLS[metric](C, 2.0 * C[None])[1])
        expect(rest <= (1e-7 + 1e4 * eps) * size + floor, f"the {metric} mean is off by {rest:.3g}")

    return confirmed(rng, mean, check)


def stationary_medians(rng: np.random.Generator) -> Counter[str]:
    """The median: the weighted unit pulls cancel out, or it is one of the matrices and nothing near is better."""

    def check(metric: str, X: np.ndarray, w: np.ndarray, C: np.ndarray, eps: float) -> None:
        values, pulls = PULLS[metric](C, X)
        distances = np.sqrt(np.maximum(values, 0.0))
        if (distances > 1e-5 * distances.max()).all():
            unit = pulls / distances[:, None]
            rest = np.linalg.norm(w @ unit) / max(w @ np.linalg.norm(unit, axis=1), 1e-300)
            if rest <= 1e-4 + 1e4 * eps:
                return
        level = w @ distances
        rest = level - _least_nearby(rng, metric, X, C, w)
        small = (1e-7 + 1e3 * eps) * level
        expect(rest <= small, f"the {metric} median is not the least: {rest:.3g}")

    return confirmed(rng, median, check)


def _least_nearby(
    rng: np.random.Generator, metric: str, X: np.ndarray, C: np.ndarray, w: np.ndarray
) -> float:
    """Return the least sum of distances at points around C, and at the matrices if that should not be less."""
    root = np.linalg.cholesky(C)
    tangents = draws.tangents(rng, np.broadcast_to(np.eye(len(C), dtype=C.dtype), (12, *C.shape)))
    moves = [function(np.exp, 10.0**-k * V) for k in (2, 3, 4) for V in tangents]
    others = X[w > 0] if metric in CONVEX else X[:0]
    points = [*others, *(draws.hermitian(root @ M @ root.conj().T) for M in moves)]
    sums = [w @ np.sqrt(np.maximum(PULLS[metric](P, X)[0], 0.0)) for P in points]
    return float(min(sums))
