"""Tests of spdatoms.divergences._whitened_sums against SciPy's functions of one matrix at a time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from tests._matrices import random_spd

from spdatoms.divergences._whitened_sums import whitened_sum
from spdatoms.geometry.spectral import LOG, POWER


def whitened(X, base):
    inverse = np.linalg.inv(np.linalg.cholesky(base))
    return inverse @ X @ inverse.T


def logarithms(base):
    return lambda X: np.array([scipy.linalg.logm(whitened(A, base)) for A in X])


@pytest.mark.parametrize("n", [1, 2, 3, 8, 22, 24, 25])
def test_sums_are_those_of_single_matrices(n) -> None:
    X, base, weights = random_spd(13, n), random_spd(1, n, seed=1)[0], np.linspace(0.1, 2.0, 13)
    logs = logarithms(base)(X)
    total, norms = whitened_sum(LOG, logarithms(base), X, weights, base)
    np.testing.assert_allclose(total, np.tensordot(weights, logs, 1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(norms, np.linalg.norm(logs, axis=(1, 2)), rtol=1e-10)
    least = float(np.median(norms))
    shares = weights / np.maximum(norms, least)
    divided, _ = whitened_sum(LOG, logarithms(base), X, weights, base, least=least)
    np.testing.assert_allclose(divided, np.tensordot(shares, logs, 1), rtol=1e-10, atol=1e-10)


def test_roots_in_single_precision_and_strided() -> None:
    X, base = random_spd(20, 5).astype(np.float32)[::2], random_spd(1, 5, seed=1)[0]
    roots = [scipy.linalg.sqrtm(whitened(A.astype(float), base)) for A in X]
    total, _ = whitened_sum(POWER, lambda X: X, X, np.ones(10), base, 0.5)
    np.testing.assert_allclose(total, np.sum(roots, axis=0), rtol=1e-10, atol=1e-10)


def test_what_the_kernel_would_lose_digits_of_is_left_to_the_function() -> None:
    """Variances of very different size, the ends of the range, and what is not positive definite."""
    X, base = random_spd(12, 3), np.eye(3)
    scale = np.array([1.0, 1e3, 1e-3])
    X[2] *= np.outer(scale, scale)
    X[7] *= 1e70
    X[11] = -np.eye(3)
    asked = []

    def function(Z):
        asked.extend(Z[:, 0, 0])
        return np.zeros_like(Z)

    total, norms = whitened_sum(LOG, function, X, np.ones(12), base)
    assert asked == list(X[[2, 7, 11], 0, 0])
    assert not norms[[2, 7, 11]].any()
    logs = logarithms(base)(np.delete(X, [2, 7, 11], axis=0))
    np.testing.assert_allclose(total, logs.sum(axis=0), rtol=1e-10, atol=1e-10)
