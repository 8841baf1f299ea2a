"""Σ log² λ(X⁻¹ Y) of all pairs, against LAPACK's generalised eigenvalues and singular values."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular, svdvals

from spdatoms.divergences.affine_invariant import AffineInvariant


def definite(count, n, seed, condition=100.0):
    rng = np.random.default_rng([n, seed])
    Q = np.linalg.qr(rng.standard_normal((count, n, n)))[0]
    return (Q * np.geomspace(1.0, condition, n)) @ Q.transpose(0, 2, 1)


def twin(X, Y):
    L, M = np.linalg.cholesky(X), np.linalg.cholesky(Y)
    logs = [[2 * np.log(svdvals(solve_triangular(a, b, lower=True))) for b in M] for a in L]
    return (np.array(logs) ** 2).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n, dtype):
    metric, X, Y = (
        AffineInvariant(),
        definite(2, n, 0).astype(dtype),
        definite(5, n, 1).astype(dtype),
    )
    computed = metric.pairwise(metric.prepare(X), metric.prepare(Y))
    rtol = 1e-11 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(
        computed, twin(X.astype(float), Y.astype(float)), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize("n", [*range(2, 12), 23])
@pytest.mark.parametrize("condition", [1e3, 1e6])
def test_ill_conditioned_pairs(n, condition):
    metric, X, Y = AffineInvariant(), definite(2, n, 0), definite(3, n, 1, condition)
    computed = metric.pairwise(metric.prepare(X), metric.prepare(Y))
    np.testing.assert_allclose(computed, twin(X, Y), rtol=1e-9)


@pytest.mark.parametrize("count", [1, 7, 31, 32, 33, 67])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_value_does_not_depend_on_the_other_matrices(n, count):
    metric, X, Y = AffineInvariant(), definite(3, n, 0), definite(count, n, 1)
    together = metric.pairwise(metric.prepare(X), metric.prepare(Y))
    for j in (0, count // 2, count - 1):
        alone = metric.pairwise(metric.prepare(X[1:2]), metric.prepare(Y[j : j + 1]))
        np.testing.assert_allclose(alone[0, 0], together[1, j], rtol=1e-13)


@pytest.mark.parametrize("n", [1, 3, 7, 14])
def test_half_of_the_pairs_of_one_set(n):
    metric, X = AffineInvariant(), definite(37, n, 0)
    half = metric.pairwise(metric.prepare(X))
    np.testing.assert_array_equal(half, half.T)
    np.testing.assert_allclose(half, twin(X, X), rtol=1e-10, atol=1e-24)
