"""Means: stationary, the same at any scale, and equal to what other sources give."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.mean import gmean
from sklearn.exceptions import ConvergenceWarning

from _matrices import random_spd, spd_stacks
from spdatoms import check_spd, mean, pairwise_divergence
from spdatoms.divergences import Burg, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.geometry import geometric_mean, log_map

METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]
SCALES = [2.0**-498, 1.0, 2.0**498]
relaxed = settings(max_examples=25, deadline=None)


def assert_close(actual, expected, tolerance=1e-8):
    largest = abs(expected).max()
    np.testing.assert_allclose(actual / largest, expected / largest, rtol=0, atol=tolerance)


def slopes(metric, X, C):
    """Return the gradients of d(X_i, C) in C, whitened by C = L Lᵀ: what no unit of measure changes."""
    L = np.linalg.cholesky(C)
    if metric == "riemann":
        tangents = log_map(X, C)
        return np.array([np.linalg.solve(L, np.linalg.solve(L, T).T) for T in tangents])
    copies = np.broadcast_to(C, X.shape)
    return L.T @ get_divergence(metric).gradient(copies, X) @ L


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann"])
@pytest.mark.parametrize("scale", SCALES)
def test_stationary(metric, scale):
    """Σ w_i ∇d(X_i, C) vanishes next to its terms."""
    for m, n, condition in ((2, 1, 5.0), (3, 3, 1e3), (11, 5, 1e2), (12, 17, 1e2)):
        X = random_spd(m, n, condition=condition, scale=scale, seed=m)
        w = np.random.default_rng(n).uniform(0.1, 2.0, m)
        C = mean(X, metric, w)
        gradients = slopes(metric, X, C)
        largest = max(1.0, *(np.linalg.norm(G) for G in gradients))
        assert np.linalg.norm(np.tensordot(w / w.sum(), gradients, axes=1)) <= 1e-8 * largest


@pytest.mark.parametrize("metric", METRICS)
def test_no_neighbour_is_better(metric):
    X = random_spd(9, 4, condition=20.0)
    w = np.linspace(0.2, 1.0, 9)
    C = mean(X, metric, w)
    least = (w @ pairwise_divergence(X, C[None], metric))[0]
    L, rng = np.linalg.cholesky(C), np.random.default_rng(0)
    for _ in range(20):
        E = rng.standard_normal((4, 4))
        other = L @ scipy.linalg.expm(1e-2 * (E + E.T)) @ L.T
        other = 0.5 * (other + other.T)
        assert (w @ pairwise_divergence(X, other[None], metric))[0] > least


@pytest.mark.parametrize("metric", ["euclid", "chol", "logchol"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("n", [1, 3, 8, 30])
def test_of_entries_and_of_factors(n, dtype, metric):
    """What is checked and summed in one pass is the mean of the definition, and errors are those of the check."""
    X = random_spd(13, n, condition=20.0)
    if dtype == np.complex128:
        S = 0.01 * np.tril(random_spd(13, n, seed=1), -1)
        X = X + 1j * (S - S.swapaxes(1, 2))
    X, w = X.astype(dtype), np.linspace(0.0, 1.0, 13)
    F = X.astype(np.result_type(dtype, np.float64))
    diagonal = range(n)
    if metric != "euclid":
        F = np.linalg.cholesky(F)
    if metric == "logchol":
        F[:, diagonal, diagonal] = np.log(F[:, diagonal, diagonal])
    C = np.tensordot(w / w.sum(), F, axes=1)
    if metric == "logchol":
        C[diagonal, diagonal] = np.exp(C[diagonal, diagonal])
    found = mean(X, metric, w)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, found.conj().T)
    single = dtype == np.float32
    assert_close(found, C if metric == "euclid" else C @ C.conj().T, 1e-6 if single else 1e-13)
    for i, j, entry, complaint in ((0, 0, np.inf, "finite"), (n - 1, n - 1, -1.0, "positive")):
        bad = X.copy()
        bad[7, i, j] = entry
        with pytest.raises(ValueError, match=rf"X\[7\] is not {complaint}"):
            mean(bad, metric, w)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_pyriemann(metric, weighted):
    names = {"stein": "logdet", "jeffrey": "kullback_sym", "burg": "euclid"}
    options = {"tol": 1e-12, "maxiter": 500} if metric in ("stein", "riemann") else {}
    for n in (2, 5, 12):
        X = random_spd(10, n, condition=30.0, seed=n)
        w = np.linspace(1.0, 3.0, 10) if weighted else None
        name = names.get(metric, metric)
        assert_close(mean(X, metric, w), gmean(X, metric=name, sample_weight=w, **options))


def test_sides_of_burg():
    X, w = random_spd(6, 4), np.linspace(1.0, 2.0, 6)
    share = w / w.sum()
    assert_close(mean(X, "burg", w), np.tensordot(share, X, axes=1), 1e-14)
    harmonic = np.linalg.inv(np.tensordot(share, np.linalg.inv(X), axes=1))
    assert_close(mean(X, Burg(side="left"), w), harmonic, 1e-13)


@relaxed
@given(X=spd_stacks(m=2, max_n=7, max_condition=1e2, log10_scale=(-150, 150)))
def test_means_of_two_are_the_geometric_mean(X):
    expected = geometric_mean(X[0], X[1])
    for metric in ("jeffrey", "riemann", "stein"):
        assert_close(mean(X, metric), expected)


@pytest.mark.slow
@relaxed
@given(
    X=spd_stacks(max_m=8, max_n=6, max_condition=1e2, log10_scale=(-2, 2)),
    exponent=st.integers(-450, 450),
)
def test_mean_scales_with_the_matrices(X, exponent):
    for metric in METRICS:
        scaled = mean(np.ldexp(X, exponent), metric)
        check_spd(scaled[None])
        assert_close(np.ldexp(scaled, -exponent), mean(X, metric))


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann"])
def test_congruence_and_inversion(metric):
    X = random_spd(7, 5, condition=10.0)
    A = np.random.default_rng(0).standard_normal((5, 5)) + 3 * np.eye(5)
    C = mean(X, metric)
    moved = A @ X @ A.T
    assert_close(mean(0.5 * (moved + moved.swapaxes(1, 2)), metric), A @ C @ A.T, 1e-7)
    inverse = np.linalg.inv(X)
    assert_close(mean(0.5 * (inverse + inverse.swapaxes(1, 2)), metric), np.linalg.inv(C), 1e-7)


@pytest.mark.parametrize("metric", METRICS)
def test_weights(metric):
    X = random_spd(5, 4, condition=10.0)
    w = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    C = mean(X, metric, w)
    # A weight of zero is a matrix left out, a weight of two a matrix given twice.
    assert_close(mean(X[[0, 2, 2, 4]], metric), C)
    for factor in (1e-300, 1e-9, 1e300):
        assert_close(mean(X, metric, factor * w), C)
    only = mean(X, metric, [0, 0, 0, 1, 0])
    assert_close(only, X[3], 1e-14)
    np.testing.assert_array_equal(mean(X, metric, np.ones(5)), mean(X, metric))


@pytest.mark.parametrize("metric", METRICS)
def test_of_one_and_of_equal_matrices(metric):
    for scale in SCALES:
        A = random_spd(1, 5, condition=1e3, scale=scale)
        np.testing.assert_array_equal(mean(A, metric), A[0])
        assert_close(mean(np.repeat(A, 6, axis=0), metric), A[0], 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_result(metric):
    """Symmetric to the bit, of the input's precision, and not a view of the input."""
    X = random_spd(6, 7)
    X.flags.writeable = False
    C = mean(X, metric)
    assert C.shape == (7, 7)
    np.testing.assert_array_equal(C, C.T)
    check_spd(C[None])
    single = mean(X.astype(np.float32), metric)
    assert single.dtype == np.float32
    assert_close(single, C, 1e-5)
    assert not np.shares_memory(mean(X[:1], metric), X)
    assert_close(mean([[[2, 1], [1, 2]], [[2, 1], [1, 2]]], metric), np.array([[2.0, 1], [1, 2]]))


@pytest.mark.parametrize("metric", ["stein", "riemann"])
def test_warns_when_the_steps_do_not_suffice(metric):
    X = random_spd(8, 4, condition=1e3)
    with pytest.warns(ConvergenceWarning, match=f"{metric} mean did not converge in 2 steps"):
        C = mean(X, metric, max_iter=2)
    check_spd(C[None])
    assert_close(mean(X, metric, tol=1e-4), mean(X, metric), 1e-2)


def test_bad_weights():
    X = random_spd(3, 2)
    for bad in ([1, 2], [[1, 1, 1]], 1.0):
        with pytest.raises(ValueError, match=r"sample_weight must have the shape \(3,\)"):
            mean(X, sample_weight=bad)
    for bad in ([0, 0, 0], [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1]):
        with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
            mean(X, sample_weight=bad)


def test_bad_matrices():
    with pytest.raises(ValueError, match=r"X\[1\] is not positive definite"):
        mean([np.eye(2), -np.eye(2)])
    with pytest.raises(ValueError, match="metric must be one of"):
        mean(random_spd(3, 2), "cosine")


@pytest.mark.parametrize("metric", METRICS)
def test_centre_with_negative_weights_stays_in_the_cone(metric):
    divergence = get_divergence(metric)
    X = random_spd(4, 3, condition=1e2)
    weights = np.array([1.0, 1.0, -0.7, -0.7])
    C = divergence.centre(divergence.prepare(X), weights, X[0])
    check_spd(0.5 * (C + C.T)[None])


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann"])
def test_centres_are_those_of_the_columns_of_weights(metric, complex_entries):
    """Weights of both signs, of one matrix alone, and of all; at small scales, too."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(11, 4, 9)) + (1j * rng.normal(size=(11, 4, 9)) if complex_entries else 0)
    Z = 1e-30 * A @ A.conj().swapaxes(1, 2)
    weights = np.zeros((11, 3))
    weights[3, 0], weights[:, 1], weights[:5, 2] = 2.0, np.arange(1, 12), [1, 2, -0.1, 3, 0.5]
    divergence = over(get_divergence(metric), Z)
    prepared = divergence.prepare(Z)
    found = divergence.centres(prepared, scipy.sparse.csc_array(weights), Z[:3])
    for r in range(3):
        one = divergence.centre(prepared, weights[:, r], Z[r])
        np.testing.assert_allclose(found[r], one, rtol=1e-14, atol=1e-14 * abs(one).max())


def test_centre_of_stein_is_the_step_of_its_fixed_point():
    Z, C = random_spd(9, 5, seed=3), random_spd(1, 5, seed=4)[0]
    weights = np.arange(9.0)
    P = np.einsum("i,ijk->jk", weights, np.linalg.inv(Z + C))
    stein = get_divergence("stein")
    found = stein.centre(stein.prepare(Z), weights, C)
    np.testing.assert_allclose(found, 0.5 * weights.sum() * np.linalg.inv(P), rtol=1e-12)


@pytest.mark.parametrize("metric", ["stein", "riemann", "wasserstein"])
@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_two_matrices_need_no_loop(metric, t):
    """The formula is a fixed point of the steps, and the limits are the matrices themselves."""
    A, B = random_spd(2, 4)
    divergence = get_divergence(metric)
    C = divergence.between(A, B, t)
    if C is None:
        assert metric == "stein"
        assert t != 0.5
        return
    step = divergence.centre(divergence.prepare(np.stack([A, B])), np.array([1.0 - t, t]), C)
    assert_close(step, C, 1e-12)
    if t in (0.0, 1.0):
        assert_close(C, B if t else A, 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 22, 65])
@pytest.mark.parametrize("m", [2, 8, 19])
def test_mean_of_trusted_matrices(m, n, dtype):
    X, weights = random_spd(m, n).astype(dtype), np.arange(m)
    for own in (None, weights):
        with sklearn.config_context(assume_finite=True):
            trusted = mean(X, "euclid", own)
        assert trusted.dtype == dtype
        np.testing.assert_array_equal(trusted, trusted.T)
        assert_close(trusted, np.average(X, axis=0, weights=own), 4 * np.finfo(dtype).eps)


def test_trusted_matrices_may_lack_channels():
    X = random_spd(12, 3)
    X[4, 0], X[4, :, 0] = np.nan, np.nan
    with sklearn.config_context(assume_finite=True):
        trusted = mean(X, "euclid")
    np.testing.assert_array_equal(trusted, mean(X, "euclid"))
