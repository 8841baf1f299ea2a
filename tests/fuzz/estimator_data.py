"""Data, weights and kernels for campaigns about estimators, and how their results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz import draws
from fuzz.campaign import expect
from fuzz.kernels import CORRECTIONS, kernel_by_definition

_QUERIES = 5


def data(
    rng: np.random.Generator, metrics: list[str], least: int = 6
) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    """Return a metric, training matrices with labels, and queries, some of which are training matrices."""
    metric, n, m = draws.pick(rng, metrics), int(rng.integers(1, 5)), int(rng.integers(least, 12))
    kind = draws.pick(rng, [np.float64, np.complex128])
    X = draws.spd(rng, m + _QUERIES, n, 10.0 ** rng.uniform(0.5, 2.0), kind)
    X[m] = X[0]
    y = np.r_[0, 1, rng.integers(0, 3, m - 2)]
    return metric, X[:m], np.array(["ash", "elm", "oak"])[y], X[m:]


def weights_of(rng: np.random.Generator, m: int) -> np.ndarray | None:
    """Return positive weights, or none."""
    return None if rng.random() < 0.6 else rng.uniform(0.3, 3.0, m)


def relative(weights: np.ndarray | None, m: int) -> np.ndarray:
    """Return weights with the mean 1."""
    return np.ones(m) if weights is None else weights / weights.mean()


def expect_close(found: Any, expected: Any, what: str, allowed: float = 1e-7) -> None:
    """Compare numbers relative to the largest."""
    found, expected = np.asarray(found), np.asarray(expected)
    expect(found.shape == expected.shape, f"{what} has the shape {found.shape}")
    size = np.abs(expected).max(initial=1e-300)
    error = np.abs(found - expected).max(initial=0.0) / size
    expect(error <= allowed, f"{what} is off by {error:.3g}")


def kernel_of(
    rng: np.random.Generator, metric: str, D: np.ndarray, X: np.ndarray
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return parameters of a kernel that rounding does not change, its Gram matrix and cross values."""
    correction = draws.pick(rng, CORRECTIONS)
    beta, K, k = kernel_by_definition(metric, D, X, "auto", correction)
    parameters = {"metric": metric, "beta": beta, "correction": correction}
    return parameters, K, k
