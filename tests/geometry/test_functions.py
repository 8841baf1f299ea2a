"""Functions of matrices: logarithm, exponential, roots and powers, against mpmath, SciPy and pyRiemann."""

from __future__ import annotations

import mpmath
import numpy as np
import pyriemann.geometry.base
import pytest
import scipy.linalg
from hypothesis import given, settings

from _matrices import assert_close, assert_symmetric, random_spd, spd_stacks
from _references import reference_function, to_array
from spdatoms import check_spd, nearest_spd
from spdatoms.geometry import (
    exp_map,
    expm,
    geodesic,
    geometric_mean,
    invsqrtm,
    log_map,
    logm,
    powm,
    regularise,
    shrink,
    sqrtm,
)

EPS = np.finfo(np.float64).eps
SCALES = [1e-150, 1e-12, 1.0, 1e12, 1e150]
relaxed = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e12])
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (logm, mpmath.log),
        (sqrtm, mpmath.sqrt),
        (invsqrtm, lambda x: 1 / mpmath.sqrt(x)),
        (lambda X: powm(X, -0.3), lambda x: x ** mpmath.mpf(-0.3)),
        (lambda X: powm(X, 2.0), lambda x: x**2),
    ],
)
def test_functions_against_mpmath(n, condition, function, reference):
    for A in random_spd(2, n, condition=condition, seed=n):
        expected = to_array(reference_function(reference, A))
        assert_close(function(A), expected, max(1e-13, 2 * EPS * condition))


def test_logarithm_of_a_graded_matrix():
    """Its small eigenvalues are below the rounding errors of a symmetric eigensolver."""
    units = np.array([1e-6, 1e-2, 1e2])
    A = random_spd(1, 3)[0] * units * units[:, None]
    expected = to_array(reference_function(mpmath.log, A))
    assert_close(logm(A), expected, 1e-7)
    check_spd(expm(logm(A))[None])


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize(
    ("function", "reference", "peer"),
    [
        (logm, scipy.linalg.logm, pyriemann.geometry.base.logm),
        (sqrtm, scipy.linalg.sqrtm, pyriemann.geometry.base.sqrtm),
        (expm, scipy.linalg.expm, pyriemann.geometry.base.expm),
        (
            invsqrtm,
            lambda A: scipy.linalg.inv(scipy.linalg.sqrtm(A)),
            pyriemann.geometry.base.invsqrtm,
        ),
    ],
)
def test_functions_against_scipy_and_pyriemann(n, function, reference, peer):
    X = random_spd(4, n, condition=50.0)
    assert_close(function(X), np.stack([reference(A) for A in X]), 1e-12)
    assert_close(function(X), peer(X), 1e-12)


UNARY = [logm, expm, sqrtm, invsqrtm, lambda X: powm(X, 1.5), nearest_spd, regularise, shrink]


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unary_shapes_and_dtypes(function, dtype):
    X = random_spd(6, 3, dtype=dtype)
    original = X.copy()
    Y = function(X)
    assert Y.dtype == dtype
    assert_symmetric(Y)
    np.testing.assert_array_equal(function(X.reshape(2, 3, 3, 3)), Y.reshape(2, 3, 3, 3))
    np.testing.assert_allclose(function(X[1]), Y[1], rtol=1e-5)
    assert function(X[:0]).shape == (0, 3, 3)
    np.testing.assert_array_equal(X, original)
    assert function([[2]]).shape == (1, 1)


def test_more_matrices_than_a_block():
    X = random_spd(70_000, 3)
    Y = logm(X)
    np.testing.assert_allclose(Y[[0, 40_000, -1]], logm(X[[0, 40_000, -1]]), rtol=1e-10)


def test_float32_is_accurate_to_float32():
    X = random_spd(20, 6, condition=1e4, dtype=np.float32)
    for function in (logm, sqrtm, invsqrtm):
        exact = function(X.astype(np.float64))
        assert_close(function(X), exact, 1e-7)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_scales(n, scale):
    A, B = random_spd(2, n)
    identity = np.eye(n)
    assert_close(logm(scale * A), logm(A) + np.log(scale) * identity, 1e-13)
    assert_close(sqrtm(scale * A), np.sqrt(scale) * sqrtm(A), 1e-13)
    assert_close(invsqrtm(scale * A), invsqrtm(A) / np.sqrt(scale), 1e-13)
    for other in SCALES:
        middle = np.sqrt(scale) * np.sqrt(other)
        assert_close(geometric_mean(scale * A, other * B), middle * geometric_mean(A, B), 1e-12)
        assert_close(geodesic(scale * A, other * B, 1.0), other * B, 1e-12)
        V = log_map(other * B, scale * A)
        assert_close(V, scale * (log_map(B, A) + np.log(other / 1.0 / scale) * A), 1e-12)
        assert_close(exp_map(V, scale * A), other * B, 1e-10)


def test_results_out_of_range_are_errors():
    with pytest.raises(OverflowError, match="float64"):
        expm(1000.0 * np.eye(2))
    with pytest.raises(OverflowError, match="float32"):
        powm(1e30 * np.eye(2, dtype=np.float32), 2)


@pytest.mark.parametrize(
    ("function", "needed"),
    [
        (logm, "definite"),
        (sqrtm, "semidefinite"),
        (invsqrtm, "definite"),
        (lambda X: powm(X, 2), "semidefinite"),
        (lambda X: powm(X, -2), "definite"),
    ],
)
def test_functions_refuse_what_is_not_spd(function, needed):
    X = random_spd(6, 3).reshape(2, 3, 3, 3)
    X[1, 0] = -np.eye(3)
    with pytest.raises(ValueError, match=rf"^X\[1, 0\] is not positive {needed}"):
        function(X)
    with pytest.raises(ValueError, match=rf"^X is not positive {needed}"):
        function(-np.eye(2))
    with pytest.raises(ValueError, match="square"):
        function(np.ones((2, 3)))


@pytest.mark.slow
@relaxed
@given(spd_stacks(max_condition=1e4))
def test_log_and_exp_are_inverse(X):
    assert_close(expm(logm(X)), X, 1e-9)


@relaxed
@given(spd_stacks(max_condition=1e8))
def test_roots(X):
    root, inverse_root = sqrtm(X), invsqrtm(X)
    assert_close(root @ root, X, 1e-12)
    identity = np.broadcast_to(np.eye(X.shape[-1]), X.shape)
    assert_close(root @ inverse_root, identity, 1e-8)
