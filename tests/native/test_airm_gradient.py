"""Sums of logarithms by poles, against those by eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.divergences import get_divergence
from spdatoms.divergences._log_poles import LARGEST_BY_POLES
from spdatoms.native import lane_count

AIRM = get_divergence("riemann")
RNG = np.random.default_rng


def drawn(count, n, seed, freedom=2.0):
    A = RNG([seed, n]).standard_normal((count, n, int(freedom * n) + 1))
    return A @ A.swapaxes(1, 2) / n


def twin(X, Y, weights):
    """−2 L⁻ᵀ (Σ_j w_ij log(L⁻¹ Y_j L⁻ᵀ)) L⁻¹, a pair at a time."""
    sums = np.zeros(X.shape)
    for i, A in enumerate(X):
        W = np.linalg.inv(np.linalg.cholesky(A))
        for j, B in enumerate(Y):
            values, U = np.linalg.eigh(W @ B @ W.T)
            sums[i] -= 2.0 * weights[i, j] * W.T @ (U * np.log(values)) @ U.T @ W
    return sums


def assert_close(found, expected, tol):
    errors = np.abs(found - expected).max(axis=(1, 2))
    assert (errors <= tol * np.abs(expected).max(axis=(1, 2))).all()


@pytest.mark.parametrize(
    "n", [*range(1, 10), 13, 24, pytest.param(LARGEST_BY_POLES, marks=pytest.mark.slow)]
)
def test_all_sizes(n) -> None:
    X, Y = drawn(3, n, 0), drawn(lane_count(np.float64) + 3, n, 1)
    weights = RNG(n).standard_normal((len(X), len(Y)))
    weights[1, 2] = 0.0
    first, second = AIRM.vjp(AIRM.prepare(X), AIRM.prepare(Y), weights)
    assert_close(first, twin(X, Y, weights), 1e-12)
    assert_close(second, twin(Y, X, weights.T), 1e-12)
    np.testing.assert_array_equal(first, first.swapaxes(1, 2))


def test_large_matrices_are_answered_without_poles() -> None:
    n = LARGEST_BY_POLES + 1
    X, Y = drawn(1, n, 0), drawn(2, n, 1)
    weights = np.array([[1.0, -0.5]])
    first, _ = AIRM.vjp(AIRM.prepare(X), AIRM.prepare(Y), weights, both=False)
    assert_close(first, twin(X, Y, weights), 1e-11)


@pytest.mark.parametrize("n", [2, 5, 23])
def test_far_scales(n) -> None:
    """Both X and Y have units of their own, which only move the logarithms along the identity."""
    X, Y = drawn(3, n, 0), drawn(4, n, 1)
    scales_x, scales_y = 10.0 ** np.array([-90, 0, 40]), 10.0 ** np.array([-30, 0, 1, 100])
    weights = RNG(0).standard_normal((3, 4))
    found, _ = AIRM.vjp(
        AIRM.prepare(X * scales_x[:, None, None]),
        AIRM.prepare(Y * scales_y[:, None, None]),
        weights,
        both=False,
    )
    shifts = (weights * np.log(scales_y / scales_x[:, None])).sum(axis=1)[:, None, None]
    expected = twin(X, Y, weights) - 2.0 * shifts * np.linalg.inv(X)
    assert_close(found * scales_x[:, None, None], expected, 1e-12)


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
def test_pairs_with_small_eigenvalues_are_answered_otherwise(ratio) -> None:
    """Y has the eigenvectors of a known rotation, and one eigenvalue that is far from the others."""
    n = 6
    Q = np.linalg.qr(RNG(3).standard_normal((n, n)))[0]
    values = np.array([1.0, 2.0, 3.0, 0.5, 1.5, 1.0 / ratio])
    Y = np.stack([drawn(1, n, 4)[0], (Q * values) @ Q.T, drawn(1, n, 5)[0]])
    weights = np.array([[0.3, -2.0, 1.0]])
    found, _ = AIRM.vjp(AIRM.prepare(np.eye(n)[None]), AIRM.prepare(Y), weights, both=False)
    expected = twin(np.eye(n)[None], Y[[0, 2]], weights[:, [0, 2]])
    expected += 4.0 * (Q * np.log(values)) @ Q.T
    assert_close(found, expected, 1e-15 * ratio + 1e-12)  # as many digits as Y has


def test_rows_do_not_depend_on_threads_nor_on_other_rows() -> None:
    X, Y = drawn(40, 9, 0), drawn(30, 9, 1)
    weights = RNG(0).standard_normal((40, 30))
    P, Q = AIRM.prepare(X), AIRM.prepare(Y)
    one = AIRM.vjp(P, Q, weights)
    for a, b in zip(one, AIRM.vjp(P, Q, weights, n_jobs=2), strict=True):
        np.testing.assert_array_equal(a, b)
    few, _ = AIRM.vjp(AIRM.prepare(X[5:7]), Q, weights[5:7], both=False)
    np.testing.assert_array_equal(few, one[0][5:7])
