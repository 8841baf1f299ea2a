"""Pairs of matrices that belong together: shapes as NumPy broadcasts them, values as all pairs have them."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn

from _hermitian import random_hpd
from _matrices import assert_close, random_spd
from spdatoms import divergence, pairwise_divergence
from spdatoms.divergences.registry import divergence_classes
from spdatoms.geometry import geodesic

METRICS = [c.name for c in divergence_classes()]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [random_spd, random_hpd])
def test_values_are_those_of_all_pairs(make, metric):
    X, Y = make(12, 3), make(12, 3, seed=1)
    expected = pairwise_divergence(X, Y, metric)
    np.testing.assert_allclose(divergence(X, Y, metric), np.diag(expected), rtol=1e-10)
    np.testing.assert_allclose(divergence(X[:, None], Y[:5], metric), expected[:, :5], rtol=1e-10)
    single = divergence(X[0], Y[1], metric)
    assert np.ndim(single) == 0
    np.testing.assert_allclose(single, expected[0, 1], rtol=1e-10)


def test_shapes_types_and_errors():
    X = random_spd(6, 3, dtype=np.float32)
    assert divergence(X.reshape(2, 3, 3, 3), X[0]).shape == (2, 3)
    assert divergence(X, X[0]).dtype == np.float32
    assert divergence(X[:0], X[0]).shape == (0,)
    with pytest.raises(ValueError, match=r"^A\[1, 0\] is not positive definite"):
        divergence(np.array([[np.eye(2)], [-np.eye(2)]]), np.eye(2))
    with pytest.raises(ValueError, match="matrices of one size, got 3×3 and 2×2"):
        divergence(X, np.eye(2))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [random_spd, random_hpd])
def test_larger_and_ill_conditioned_matrices(make, metric):
    X, Y = make(9, 26), make(9, 26, seed=1)
    X[4, 0] *= 1e-6
    X[4, :, 0] *= 1e-6  # one variable in other units
    X[5] += 1e5 * X[5].diagonal().real.mean()  # nearly a multiple of a matrix of ones
    expected = np.diag(pairwise_divergence(X, Y, metric))
    np.testing.assert_allclose(divergence(X, Y, metric), expected, rtol=1e-7)


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "riemann", "thompson"])
@pytest.mark.parametrize(("first", "second"), [(1e-200, 1e-200), (1e200, 1e200), (1e-60, 1e60)])
@pytest.mark.parametrize("n", [3, 26])
def test_any_scale(n, first, second, metric):
    X, Y = random_spd(9, n), random_spd(9, n, seed=1)
    X[3:], Y[3:] = X[3:] * first, Y[3:] * second
    expected = np.diag(pairwise_divergence(X, Y, metric))
    np.testing.assert_allclose(divergence(X, Y, metric), expected, rtol=1e-9)


def test_wasserstein_distances_of_large_close_and_tiny_pairs():
    X = random_spd(4, 30)
    Y = X * np.array([1.0, 1.0 + 1e-9, 4.0, 4.0])[:, None, None]
    X[3], Y[3] = X[3] * 1e-150, Y[3] * 1e-150
    expected = np.trace(X, axis1=1, axis2=2) * np.array([0.0, 0.25e-18, 1.0, 1.0])
    np.testing.assert_allclose(divergence(X, Y, "wasserstein"), expected, rtol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [3, 12])
def test_what_is_refused(n, metric):
    X, Y = random_spd(10, n), random_spd(10, n, seed=1)
    for name, fault in (
        ("not positive", lambda Z: np.negative(Z, out=Z)),
        ("not finite", lambda Z: Z.__setitem__((0, 1), np.nan)),
        ("not finite", lambda Z: Z.__setitem__((1, 1), np.inf)),
        ("not symmetric", lambda Z: Z.__setitem__((1, 0), Z[1, 0] + 0.01)),
    ):
        bad = Y.copy()
        fault(bad[7])
        with pytest.raises(ValueError, match=rf"^B\[7\] is {name}"):
            divergence(X, bad, metric)
        with pytest.raises(ValueError, match=rf"^A is {name}"):
            divergence(bad[7], X, metric)


def test_the_euclidean_distance_of_symmetric_matrices():
    X = np.array([[[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    np.testing.assert_allclose(divergence(X[0], X, "euclid"), [0.0, 10.0])


@pytest.mark.parametrize("make", [random_spd, random_hpd])
def test_geodesics_take_arrays_of_t(make):
    A, B = make(2, 3)
    t = np.array([0.0, 0.3, 1.0, 0.3])
    points = geodesic(A, B, t)
    assert_close(points, np.stack([geodesic(A, B, float(s)) for s in t]), 1e-14)
    stack = make(5, 3, seed=1)
    grid = geodesic(A, stack, t[:, None])
    assert grid.shape == (4, 5, 3, 3)
    assert_close(grid[1], geodesic(A, stack, 0.3), 1e-14)
    with pytest.raises(ValueError, match="t must be a number or an array of finite numbers"):
        geodesic(A, B, [0.1, np.nan])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [random_spd, random_hpd])
def test_values_of_trusted_matrices_are_the_same(make, metric):
    X, Y = make(12, 3), make(12, 3, seed=1)
    with sklearn.config_context(assume_finite=True):
        trusted = divergence(X, Y, metric)
    np.testing.assert_array_equal(trusted, divergence(X, Y, metric))


@pytest.mark.parametrize("n", [1, 3, 8, 26])
def test_trusted_matrices_need_not_be_fit(n):
    X = np.random.default_rng(n).standard_normal((5, n, n))
    with sklearn.config_context(assume_finite=True):
        values = divergence(X, X[0], "euclid")
    np.testing.assert_allclose(values, ((X - X[0]) ** 2).sum(axis=(1, 2)))
    with pytest.raises(ValueError, match=r"^A\[\d\] is not"):
        divergence(X, X[0], "euclid")
