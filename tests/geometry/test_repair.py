"""Repair: the nearest SPD matrix, ridge and shrinkage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import assert_close, assert_symmetric, random_spd
from spdatoms import check_spd, nearest_spd
from spdatoms.geometry import regularise, shrink

SCALES = [1e-150, 1e-12, 1.0, 1e12, 1e150]
relaxed = settings(max_examples=40, deadline=None)


# --- nearest_spd ----------------------------------------------------------------------------------


square_matrices = st.builds(
    lambda n, seed, exponent: np.random.default_rng(seed).standard_normal((n, n)) * 10.0**exponent,
    st.integers(1, 8),
    st.integers(0, 10_000),
    st.integers(-150, 150),
)


@relaxed
@given(square_matrices)
def test_nearest_spd_is_spd_and_idempotent(A):
    N = nearest_spd(A)
    assert_symmetric(N)
    check_spd(N[None])
    assert_close(nearest_spd(N), N, 1e-14)


@relaxed
@given(square_matrices, st.floats(1e-6, 0.5), st.integers(0, 1000))
def test_nearest_spd_is_closest(A, floor, seed):
    """No other matrix above the floor, far or near, is closer in the Frobenius norm."""
    scale = abs(A).max()
    A = A / scale
    N = nearest_spd(A * scale, floor=floor) / scale
    least = floor * abs(np.linalg.eigvalsh(0.5 * (A + A.T))).max()
    assert np.linalg.eigvalsh(N)[0] >= least - 1e-13
    distance = np.linalg.norm(A - N)
    rng = np.random.default_rng(seed)
    for step in (1e-4, 1e-2, 1.0):
        other = N + step * random_spd(1, len(A), seed=rng)[0]
        assert np.linalg.norm(A - other) >= distance - 1e-13
        R = rng.standard_normal(A.shape) * step
        mixed, W = np.linalg.eigh(N + R + R.T)
        other = (W * np.maximum(mixed, least)) @ W.T
        assert np.linalg.norm(A - other) >= distance - 1e-13


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 10, 90])
def test_nearest_spd_repairs_what_check_spd_refuses(n, dtype):
    rng = np.random.default_rng(n)
    Z = rng.standard_normal((5, n, max(1, n // 2)))
    covariances = (Z @ Z.swapaxes(-1, -2)).astype(dtype)
    for X in (covariances, -covariances, rng.standard_normal((5, n, n)).astype(dtype)):
        N = nearest_spd(X)
        assert N.dtype == dtype
        check_spd(N)


def test_nearest_spd_leaves_spd_alone():
    X = random_spd(5, 6)
    np.testing.assert_array_equal(nearest_spd(X), X)


def test_nearest_spd_refusals():
    X = random_spd(4, 3)
    X[2, 0, 1] = np.nan
    with pytest.raises(ValueError, match=r"^X\[2\] is not finite: its entry \(0, 1\) is NaN"):
        nearest_spd(X)
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match=r"^X\[1\] has a zero symmetric part.*is_spd"):
        nearest_spd(np.stack([np.eye(2), skew]))
    with pytest.raises(ValueError, match="floor"):
        nearest_spd(np.eye(2), floor=0.0)


# --- Ridge and shrinkage --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_regularised_covariances_are_spd(scale, dtype):
    scale = np.clip(scale, 1e-30, 1e30) if dtype is np.float32 else scale
    Z = np.random.default_rng(0).standard_normal((5, 20, 7))
    X = (Z @ Z.swapaxes(-1, -2) * scale).astype(dtype)
    check_spd(regularise(X, 1e-3))
    check_spd(shrink(X, 0.01))
    traces = np.trace(X, axis1=1, axis2=2)
    np.testing.assert_allclose(np.trace(shrink(X, 0.3), axis1=1, axis2=2), traces, rtol=1e-5)
    np.testing.assert_allclose(
        np.trace(regularise(X, 0.5), axis1=1, axis2=2), 1.5 * traces, rtol=1e-5
    )


def test_ridge_and_shrinkage_formulas():
    A = np.array([[2.0, 1.0], [1.0, 4.0]])
    np.testing.assert_allclose(regularise(A, 0.1), A + 0.3 * np.eye(2), rtol=1e-15)
    np.testing.assert_allclose(shrink(A, 0.1), 0.9 * A + 0.3 * np.eye(2), rtol=1e-15)
    np.testing.assert_array_equal(shrink(A, 0.0), A)
    for bad in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="shrinkage"):
            shrink(A, bad)
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="ridge"):
            regularise(A, bad)
