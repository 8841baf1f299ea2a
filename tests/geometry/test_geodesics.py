"""Geodesics, geometric means and the maps between the cone and its tangent spaces, against other sources."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.geodesic
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import assert_close, assert_symmetric, random_orthogonal, random_spd, spd_stacks
from _references import reference_geodesic
from spdatoms import check_spd, mean
from spdatoms.geometry import exp_map, expm, geodesic, geometric_mean, invsqrtm, log_map, sqrtm
from spdatoms.geometry.geodesics import well_conditioned

EPS = np.finfo(np.float64).eps
relaxed = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("condition", [1e1, 1e5, 1e10])
def test_geodesic_against_mpmath(n, condition):
    A, B = random_spd(2, n, condition=condition, seed=n + 7)
    for t in (0.5, 0.3, -0.5):
        expected = reference_geodesic(A, B, t)
        assert_close(geodesic(A, B, t), expected, max(1e-12, 2 * EPS * condition))


def test_geometric_mean_in_mixed_units():
    """Both matrices have condition numbers beyond 1/eps, by the units of their variables alone."""
    units = np.logspace(-8, 8, 5)
    A, B = random_spd(2, 5) * units * units[:, None]
    G = geometric_mean(A, B) / units / units[:, None]
    expected = reference_geodesic(A, B, 0.5) / units / units[:, None]
    assert_close(G, expected, 1e-12)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_geodesic_against_pyriemann(n):
    A, B = random_spd(2, n)
    for t in (0.0, 0.25, 0.5, 1.0):
        peer = pyriemann.geometry.geodesic.geodesic_riemann(A, B, t)
        assert_close(geodesic(A, B, t), peer, 1e-12)


BINARY = [log_map, exp_map, lambda A, B: geodesic(A, B, 0.3), geometric_mean]


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binary_broadcasting_and_dtypes(function, dtype):
    X = random_spd(6, 3, dtype=dtype)
    P = random_spd(1, 3, seed=1, dtype=dtype)[0]
    Y = function(X, P)
    assert Y.dtype == dtype
    assert_symmetric(Y)
    for i in range(6):
        np.testing.assert_allclose(Y[i], function(X[i], P), rtol=1e-5)
    assert function(P, X).shape == X.shape
    grid = function(X[:2, None], X[None, 2:])
    assert grid.shape == (2, 4, 3, 3)
    np.testing.assert_allclose(grid[1, 3], function(X[1], X[5]), rtol=1e-4)


def test_maps_refuse_bad_input():
    X = random_spd(2, 3)
    with pytest.raises(ValueError, match=r"^base is not positive definite"):
        log_map(X, -X[0])
    with pytest.raises(ValueError, match=r"^V\[1\] is not symmetric"):
        exp_map(np.stack([X[0], np.tril(X[1])]), X[0])
    with pytest.raises(ValueError, match=r"^X is not finite"):
        expm(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match=r"^B\[1\] is not symmetric"):
        geodesic(X, np.stack([X[0], X[1] + np.triu(X[1], 1)]), 0.5)


def karcher_mean(X, exponential, steps=60):
    """Follow the mean of the tangent vectors far beyond convergence, as textbooks write it."""
    C = X.mean(axis=0)
    for _ in range(steps):
        C = exponential(np.mean([log_map(A, C) for A in X], axis=0), C)
    return C


def exponential_by_roots(V, P):
    root, inverse_root = sqrtm(P), invsqrtm(P)
    return root @ expm(inverse_root @ V @ inverse_root) @ root


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("exponential", [exp_map, exponential_by_roots])
def test_a_textbook_karcher_loop_ends_at_the_mean(exponential, scale):
    """At convergence the tangent vectors are rounding, symmetric relative to the base point alone."""
    X = scale * random_spd(6, 4, seed=5)
    assert_close(karcher_mean(X, exponential), mean(X, "riemann"), 1e-9)


def test_tangent_vectors_near_zero_are_judged_relative_to_the_base():
    V = np.array([[0.0, 1e-16], [-1e-16, 1e-17]])
    assert_close(expm(V), np.eye(2), 1e-15)
    P = np.diag([1e20, 1e-20])
    units = np.array([1e10, 1e-10])
    assert_close(exp_map(V * np.outer(units, units), P), P, 1e-15)
    with pytest.raises(ValueError, match=r"^V is not symmetric"):
        exp_map(1e-12 * np.array([[0.0, 1.0], [2.0, 0.0]]), 1e-12 * np.eye(2))


@pytest.mark.slow
@relaxed
@given(spd_stacks(m=2, max_condition=1e4), st.floats(-1.0, 2.0))
def test_geodesic_properties(X, t):
    A, B = X
    assert_close(geodesic(A, B, 0.0), A, 1e-12)
    assert_close(geodesic(A, B, 1.0), B, 1e-11)
    assert_close(geodesic(A, B, t), geodesic(B, A, 1.0 - t), 1e-8)
    assert_close(geodesic(A, B, t), exp_map(t * log_map(B, A), A), 1e-8)


@relaxed
@given(spd_stacks(m=2, max_condition=1e4), st.integers(0, 1000))
def test_geometric_mean_properties(X, seed):
    A, B = X
    G = geometric_mean(A, B)
    assert_symmetric(G)
    check_spd(G[None])
    assert_close(geometric_mean(B, A), G, 1e-10)
    assert_close(G @ np.linalg.solve(A, G), B, 1e-8)
    n = len(A)
    C = random_orthogonal(2, n, np.random.default_rng(seed))
    M = (C[0] * np.linspace(1.0, 5.0, n)) @ C[1]
    moved = [0.5 * (M @ Y @ M.T + (M @ Y @ M.T).T) for Y in (A, B)]
    assert_close(geometric_mean(*moved), M @ G @ M.T, 1e-8)


@relaxed
@given(spd_stacks(m=2, max_condition=1e4))
def test_log_and_exp_maps_are_inverse(X):
    P, Y = X
    V = log_map(Y, P)
    assert_close(exp_map(V, P), Y, 1e-9)
    # Its length at P is the affine-invariant distance.
    length = np.sqrt(np.trace(np.linalg.solve(P, V) @ np.linalg.solve(P, V)))
    distance = np.linalg.norm(np.log(scipy.linalg.eigh(Y, P, eigvals_only=True)))
    np.testing.assert_allclose(length, distance, rtol=1e-6, atol=1e-9)


def test_well_conditioned_finds_the_unfit() -> None:
    C = random_spd(5, 3, seed=0)
    C[1, 0, 0] = np.nan
    C[3] = np.ones((3, 3))
    C[4] *= 1e-200
    np.testing.assert_array_equal(well_conditioned(C, 1e-10), [True, False, True, False, True])
