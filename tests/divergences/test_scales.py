"""Divergences at extreme scales, of matrices in very different units, and out of range."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from _references import table, well_separated
from spdatoms import divergence, mean, pairwise_divergence
from spdatoms.divergences import PowerEuclidean

#: About 1e-150 and 1e150, exact.
SCALES = [2.0**-498, 1.0, 2.0**498]


@pytest.mark.parametrize("scale", [2.0**-1018, 2.0**1010])
def test_at_the_ends_of_the_range(scale):
    X, Y = well_separated(9, 5, condition=4.0)
    for metric in ("stein", "jeffrey", "riemann", "logeuclid"):
        expected = pairwise_divergence(X, Y, metric)
        actual = pairwise_divergence(scale * X, scale * Y, metric)
        np.testing.assert_allclose(actual, expected, rtol=1e-11)


@pytest.mark.parametrize("n", [1, 3, 10, 20])
def test_scales_that_differ_within_one_call(n):
    """S(A, tB) for t → ∞ is ½ n log t − n log 2 + ½ log det B − ½ log det A."""
    A, B = well_separated(3, n, seed=n)
    X = np.concatenate([SCALES[0] * A, SCALES[2] * B])
    S = pairwise_divergence(X)
    logdet = np.linalg.slogdet(np.concatenate([A, B]))[1]
    half = 0.5 * (996 * n * np.log(2.0) + logdet[3:] - logdet[:3, None]) - n * np.log(2.0)
    np.testing.assert_allclose(S[:3, 3:], half, rtol=1e-13)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S[:3, :3], pairwise_divergence(A), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(S[3:, 3:], pairwise_divergence(B), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(pairwise_divergence(X, X.copy()), S)
    assert not S.diagonal().any()
    J = pairwise_divergence(X, metric="jeffrey")[:3, 3:]
    traces = np.einsum("aij,bji->ab", np.linalg.inv(A), B)
    np.testing.assert_allclose(J, 0.5 * traces * 2.0**996, rtol=1e-11)
    squared = pairwise_divergence(X, metric="riemann")[:3, 3:]
    expected = table(
        lambda P, Q: (
            (np.log(scipy.linalg.eigh(Q, P, eigvals_only=True)) + 996 * np.log(2)) ** 2
        ).sum(),
        A,
        B,
    )
    np.testing.assert_allclose(squared, expected, rtol=1e-11)


def test_scales_that_differ_in_single_precision():
    A, B = well_separated(3, 4, dtype=np.float32)
    X = np.concatenate([A * np.float32(2.0**-100), B * np.float32(2.0**100)])
    S = pairwise_divergence(X)
    assert S.dtype == np.float32
    np.testing.assert_allclose(S, pairwise_divergence(X.astype(np.float64)), rtol=1e-5, atol=1e-6)


#: By which power of s the other distances of sX and sY grow.
POWERS = {"chol": 1, "wasserstein": 1, "harmonic": -2, "poweuclid": 1, "thompson": 0}


@pytest.mark.parametrize("exponent", [-498, 498])
@pytest.mark.parametrize(("metric", "power"), POWERS.items())
def test_other_distances_at_any_scale(metric, power, exponent):
    X, Y = well_separated(5, 4)
    expected = pairwise_divergence(X, Y, metric)
    scaled = pairwise_divergence(2.0**exponent * X, 2.0**exponent * Y, metric)
    np.testing.assert_allclose(np.ldexp(scaled, -power * exponent), expected, rtol=1e-11)
    if metric != "thompson":
        C = mean(2.0**exponent * X, metric)
        np.testing.assert_allclose(np.ldexp(C, -exponent), mean(X, metric), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("exponent", [-498, 498])
def test_log_cholesky_at_any_scale(exponent):
    """√s multiplies what is below the diagonal; logarithms of diagonals differ as before."""
    X, Y = well_separated(5, 4)
    L, M = np.linalg.cholesky(X), np.linalg.cholesky(Y)
    below = np.tril(L[:, None] - M[None], -1) * 2.0 ** (exponent / 2)
    logs = np.log(np.einsum("mii->mi", L))[:, None] - np.log(np.einsum("mii->mi", M))
    expected = (below**2).sum(axis=(2, 3)) + (logs**2).sum(axis=2)
    scaled = pairwise_divergence(2.0**exponent * X, 2.0**exponent * Y, "logchol")
    np.testing.assert_allclose(scaled, expected, rtol=1e-11)


@pytest.mark.parametrize("decades", [20, 100, 300])
def test_diagonal_matrices_in_very_different_units(decades):
    """Condition numbers far beyond 1/eps, which cost no digit of S and J."""
    rng = np.random.default_rng(decades)
    for n in (2, 3, 9, 20):
        logs = np.linspace(-decades, decades, n) * np.log(10.0) + rng.uniform(-2, 2, (6, n))
        X = np.exp(logs)[:, :, None] * np.eye(n)
        u = np.log(X.diagonal(axis1=1, axis2=2))
        u = u[:, None] - u
        expected = (np.logaddexp(u / 2, -u / 2) - np.log(2.0)).sum(axis=-1)
        S = pairwise_divergence(X)
        np.testing.assert_allclose(S, expected, rtol=1e-11, atol=1e-11)
        J = pairwise_divergence(X, metric="jeffrey")
        np.testing.assert_allclose(J, (np.cosh(u) - 1).sum(axis=-1), rtol=1e-11, atol=1e-11)
        # The compiled code sums logarithms, so that the size of u itself counts here.
        if decades <= 100:
            squared = pairwise_divergence(X, metric="riemann")
            np.testing.assert_allclose(squared, (u**2).sum(axis=-1), rtol=1e-11, atol=1e-11)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_divergences_out_of_range_are_refused():
    X = np.stack([np.eye(2) * 1e-200, np.eye(2) * 1e200])
    for metric in ("jeffrey", "burg", "euclid"):
        with pytest.raises(OverflowError, match="beyond the range of float64"):
            pairwise_divergence(X, metric=metric)
        with pytest.raises(OverflowError, match="beyond the range of float64"):
            pairwise_divergence(X, X[::-1], metric=metric)
    tiny = np.stack([np.eye(2) * 1e-200, np.eye(2) * 2e-200])
    for metric in ("euclid", PowerEuclidean(3.0)):
        with pytest.raises(OverflowError, match="different matrices is too small for float64"):
            pairwise_divergence(tiny, metric=metric)
        with pytest.raises(OverflowError, match="different matrices is too small for float64"):
            divergence(*tiny, metric=metric)
    # The inverses of these differ by so little that the square is zero.
    with pytest.raises(OverflowError, match="different matrices is too small for float64"):
        divergence(np.eye(2) * 1e172, np.eye(2) * 2e172, metric="harmonic")
    with pytest.raises(OverflowError, match="different matrices is too small for float32"):
        pairwise_divergence((1e170 * tiny).astype(np.float32), metric="euclid")
    single = np.stack([np.eye(2), np.eye(2) * 1e30]).astype(np.float32)
    with pytest.raises(OverflowError, match="beyond the range of float32"):
        pairwise_divergence(single, metric="euclid")
