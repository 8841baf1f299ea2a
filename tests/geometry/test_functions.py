"""Functions of matrices, AIRM geometry, repair and half-vectorisation, against other sources."""

from __future__ import annotations

import mpmath
import numpy as np
import pyriemann.geometry.base
import pyriemann.geometry.geodesic
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import random_orthogonal, random_spd, spd_stacks
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
    unvech,
    vech,
)

EPS = np.finfo(np.float64).eps
SCALES = [1e-150, 1e-12, 1.0, 1e12, 1e150]
relaxed = settings(max_examples=40, deadline=None)


def assert_close(actual, expected, tolerance):
    """Compare matrices relative to the norm of each expected one."""
    assert actual.shape == np.shape(expected)
    largest = abs(np.asarray(expected)).max(axis=(-1, -2), keepdims=True)
    np.testing.assert_allclose(actual / largest, expected / largest, rtol=0, atol=tolerance)


def assert_symmetric(X):
    np.testing.assert_array_equal(X, X.swapaxes(-1, -2))


# --- References with 50 digits --------------------------------------------------------------------


def reference_function(function, A):
    """U f(λ) Uᵀ in 50 digits; A has scale 1, because mpmath's tolerances are absolute."""
    with mpmath.workdps(50):
        eigenvalues, U = mpmath.eigsy(mpmath.matrix(A.tolist()))
        return U * mpmath.diag([function(x) for x in eigenvalues]) * U.T


def to_array(M):
    return np.array(M.tolist(), dtype=np.float64)


def reference_geodesic(A, B, t):
    """A^½ (A^-½ B A^-½)^t A^½ in 50 digits, as the definition says."""
    with mpmath.workdps(50):
        root = reference_function(mpmath.sqrt, A)
        inverse_root = root**-1
        inner = inverse_root * mpmath.matrix(B.tolist()) * inverse_root
        eigenvalues, U = mpmath.eigsy((inner + inner.T) / 2)
        return to_array(root * U * mpmath.diag([x**t for x in eigenvalues]) * U.T * root)


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


# --- SciPy and pyRiemann --------------------------------------------------------------------------


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


@pytest.mark.parametrize("n", [1, 3, 20])
def test_geodesic_against_pyriemann(n):
    A, B = random_spd(2, n)
    for t in (0.0, 0.25, 0.5, 1.0):
        peer = pyriemann.geometry.geodesic.geodesic_riemann(A, B, t)
        assert_close(geodesic(A, B, t), peer, 1e-12)


# --- Shapes, precision, scale ---------------------------------------------------------------------

UNARY = [logm, expm, sqrtm, invsqrtm, lambda X: powm(X, 1.5), nearest_spd, regularise, shrink]
BINARY = [log_map, exp_map, lambda A, B: geodesic(A, B, 0.3), geometric_mean]


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


@pytest.mark.parametrize("function", [logm, sqrtm, invsqrtm, lambda X: powm(X, 2)])
def test_functions_refuse_what_is_not_spd(function):
    X = random_spd(6, 3).reshape(2, 3, 3, 3)
    X[1, 0] = -np.eye(3)
    with pytest.raises(ValueError, match=r"^X\[1, 0\] is not positive definite"):
        function(X)
    with pytest.raises(ValueError, match=r"^X is not positive definite"):
        function(-np.eye(2))
    with pytest.raises(ValueError, match="square"):
        function(np.ones((2, 3)))


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


# --- Properties -----------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match=r"^X\[2\] is not finite: its entry \(0, 1\) is nan"):
        nearest_spd(X)
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match=r"^X\[1\] has a zero symmetric part"):
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


# --- Half-vectorisation ---------------------------------------------------------------------------

ORDERS = ["lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
@relaxed
@given(X=spd_stacks())
def test_vech_round_trip(X, order, weighted):
    options = {"order": order, "weighted": weighted}
    n = X.shape[-1]
    v = vech(X, **options)
    assert v.shape == (len(X), n * (n + 1) // 2)
    np.testing.assert_allclose(unvech(v, **options), X, rtol=4 * EPS)
    np.testing.assert_array_equal(vech(X[0], **options), v[0])
    if weighted:
        np.testing.assert_allclose(v @ v.T, np.einsum("aij,bji->ab", X, X), rtol=1e-12)


def test_orders_of_diffusion_tools():
    """dipy.reconst.dti.lower_triangular, FSL's dtifit --save_tensor, MRtrix's dwi2tensor."""
    xx, xy, xz, yy, yz, zz = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    D = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert vech(D, order="dipy").tolist() == [xx, xy, yy, xz, yz, zz]
    assert vech(D, order="fsl").tolist() == [xx, xy, xz, yy, yz, zz]
    assert vech(D, order="mrtrix").tolist() == [xx, yy, zz, xy, xz, yz]


def test_vech_keeps_float32_and_refuses_nonsense():
    X = random_spd(3, 4, dtype=np.float32)
    assert vech(X, weighted=True).dtype == np.float32
    assert unvech(vech(X, weighted=True), weighted=True).dtype == np.float32
    with pytest.raises(ValueError, match="order"):
        vech(X, order="spm")
    with pytest.raises(ValueError, match=r"n\(n\+1\)/2"):
        unvech(np.ones(5))
    with pytest.raises(ValueError, match="square"):
        vech(np.ones((2, 3)))
