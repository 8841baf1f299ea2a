"""Singular matrices: what is defined for them is computed, and what is not semidefinite is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from spdatoms import divergence, mean, pairwise_divergence
from spdatoms.geometry import logm, powm, sqrtm


def singular(m: int, n: int, rank: int, complex_: bool = False) -> np.ndarray:
    rng = np.random.default_rng(m)
    G = rng.standard_normal((m, n, rank)) + 1j * complex_ * rng.standard_normal((m, n, rank))
    return G @ G.conj().swapaxes(1, 2) if complex_ else (G @ G.swapaxes(1, 2)).real


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("scale", [2.0**-498, 1.0, 2.0**498])
def test_roots_of_semidefinite_matrices(complex_, scale) -> None:
    X = np.concatenate([singular(5, 4, 2, complex_), singular(3, 4, 9, complex_)])
    X[0] = 0.0
    roots = sqrtm(scale * X)
    np.testing.assert_allclose(roots @ roots, scale * X, rtol=0, atol=1e-13 * abs(scale * X).max())
    np.testing.assert_array_equal(roots, roots.conj().swapaxes(1, 2))
    np.testing.assert_array_equal(sqrtm(X)[5:], sqrtm(X[5:]))
    np.testing.assert_allclose(powm(X, 2.0), X @ X, atol=1e-12 * abs(X).max() ** 2)
    for refused in (lambda: powm(X, -0.5), lambda: logm(X)):
        with pytest.raises(ValueError, match=r"X\[0\] is zero"):
            refused()


@pytest.mark.parametrize("complex_", [False, True])
def test_euclidean_geometry_of_semidefinite_matrices(complex_) -> None:
    X = singular(6, 4, 2, complex_)
    expected = np.linalg.norm(X[:, None] - X[None], axis=(2, 3)) ** 2
    np.testing.assert_allclose(pairwise_divergence(X, metric="euclid"), expected, atol=1e-10)
    np.testing.assert_allclose(divergence(X[0], X, "euclid"), expected[0], atol=1e-10)
    w = np.linspace(1.0, 2.0, 6)
    np.testing.assert_allclose(mean(X, "euclid", w), np.average(X, axis=0, weights=w), atol=1e-12)
    roots = np.array([scipy.linalg.sqrtm(A) for A in X + 1e-14 * np.eye(4)])
    expected = 4.0 * np.linalg.norm(roots[:, None] - roots[None], axis=(2, 3)) ** 2
    np.testing.assert_allclose(pairwise_divergence(X, metric="poweuclid"), expected, atol=1e-5)


def test_what_is_not_semidefinite_is_refused() -> None:
    X = singular(3, 3, 2)
    X[2] -= 0.1 * np.eye(3)
    for call in (
        lambda: sqrtm(X),
        lambda: pairwise_divergence(X, metric="euclid"),
        lambda: mean(X, "euclid"),
    ):
        with pytest.raises(ValueError, match=r"X\[2\] is not positive semidefinite: its least eig"):
            call()
    X[1, 0, 1] += 1.0
    with pytest.raises(ValueError, match=r"X\[1\] is not symmetric"):
        sqrtm(X)
    with pytest.raises(ValueError, match=r"X\[0\] is .*singular|X\[0\] is not positive definite"):
        pairwise_divergence(singular(3, 3, 2), metric="stein")
