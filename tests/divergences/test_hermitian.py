"""Divergences and means of Hermitian matrices: mpmath, pyRiemann, and invariance under complex congruence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.geometry.mean import gmean

from _divergence_oracles import value as exact_value
from _hermitian import random_hpd
from _matrices import assert_close, random_spd
from _references import table
from spdatoms import mean, pairwise_divergence
from spdatoms.divergences import Burg, Stein, divergence_names, get_divergence
from spdatoms.divergences.hermitian import over

METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]
PEERS = {
    "stein": ("logdet", np.square),
    "jeffrey": ("kullback_sym", lambda d: d),
    "burg": ("kullback", lambda d: 2.0 * d),
    "riemann": ("riemann", np.square),
    "logeuclid": ("logeuclid", np.square),
    "euclid": ("euclid", np.square),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_pairs_against_mpmath(metric, n):
    X, Y = random_hpd(2, n, seed=n), random_hpd(3, n, seed=n + 9)
    expected = table(lambda A, B: exact_value(metric, A, B), X, Y)
    np.testing.assert_allclose(pairwise_divergence(X, Y, metric), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [3, 6])
def test_pairs_against_pyriemann(metric, n):
    X, Y = random_hpd(9, n), random_hpd(5, n, seed=1)
    name, value = PEERS[metric]
    expected = value(pairwise_distance(X, Y, metric=name))
    np.testing.assert_allclose(pairwise_divergence(X, Y, metric), expected, rtol=1e-10)
    single = pairwise_divergence(X.astype(np.complex64), Y.astype(np.complex64), metric)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3)
    within = pairwise_divergence(X, metric=metric)
    assert (np.diag(within) == 0).all()
    np.testing.assert_allclose(within, pairwise_divergence(X, X, metric), atol=1e-12)


@pytest.mark.parametrize("metric", divergence_names())
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_values_up_to_the_end_of_the_range_of_single_precision(metric, dtype):
    """Real forms have twice the divergence, and Jeffrey's is half of a sum: neither may overflow before d does."""
    x = np.full((1, 1, 1), 2.0**-20)
    y = (2.0 ** np.arange(-126, 128)[:, None] * np.linspace(1.0, 1.9, 4)).reshape(-1, 1, 1)
    exact = pairwise_divergence(x, y, metric)[0]
    most = float(np.finfo(np.float32).max)
    for i in np.flatnonzero((exact > 0.5 * most) & (exact < 0.99 * most)):
        X = np.concatenate([x, y[i : i + 1]]).astype(dtype)
        for found in (
            pairwise_divergence(X[:1], X[1:], metric),
            pairwise_divergence(X, None, metric),
        ):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found[0, -1], exact[i], rtol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_a_real_matrix_is_a_complex_one(metric):
    X, Y = random_spd(4, 3), random_spd(5, 3, seed=1)
    expected = pairwise_divergence(X, Y, metric)
    for A, B in ((X + 0j, Y + 0j), (X + 0j, Y), (X, Y + 0j)):
        np.testing.assert_allclose(pairwise_divergence(A, B, metric), expected, rtol=1e-11)
    assert_close(mean(X + 0j, metric), mean(X, metric) + 0j, 1e-9)


@settings(max_examples=25, deadline=None)
@given(metric=st.sampled_from(["stein", "jeffrey", "burg", "riemann"]), seed=st.integers(0, 999))
def test_invariance_under_complex_congruence(metric, seed):
    X = random_hpd(4, 3, seed=seed)
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) + 3 * np.eye(3)
    moved = M @ X @ M.conj().T
    moved = 0.5 * moved + 0.5 * moved.conj().swapaxes(1, 2)
    expected = pairwise_divergence(X, metric=metric)
    np.testing.assert_allclose(
        pairwise_divergence(moved, metric=metric), expected, rtol=1e-7, atol=1e-9
    )
    C = mean(X, metric)
    assert_close(mean(moved, metric), M @ C @ M.conj().T, 1e-7)


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann", "logeuclid", "euclid"])
def test_means_against_pyriemann(metric):
    X = random_hpd(12, 4, seed=3)
    weights = np.random.default_rng(4).uniform(0.1, 1.0, len(X))
    options = {"tol": 1e-12, "maxiter": 500} if metric in {"riemann", "stein"} else {}
    peer = gmean(X, metric=PEERS[metric][0], sample_weight=weights, **options)
    C = mean(X, metric, sample_weight=weights)
    assert_close(C, peer, 1e-7)
    np.testing.assert_array_equal(C, C.conj().T)
    assert mean(X.astype(np.complex64), metric).dtype == np.complex64


def test_harmonic_mean():
    X = random_hpd(5, 3)
    expected = np.linalg.inv(np.linalg.inv(X).mean(axis=0))
    assert_close(mean(X, Burg(side="left")), expected, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_gradients_are_those_of_differences(metric):
    """dd = Re tr(G dX) for Hermitian dX."""
    X, Y, V = random_hpd(1, 3), random_hpd(1, 3, seed=1), random_hpd(1, 3, seed=2)
    divergence = over(get_divergence(metric), X)
    G = divergence.gradient(X, Y)
    h = 1e-5
    plus, minus = (pairwise_divergence(X + s * h * V, Y, metric)[0, 0] for s in (1.0, -1.0))
    slope = np.trace(G[0] @ V[0]).real
    np.testing.assert_allclose(slope, (plus - minus) / (2 * h), rtol=1e-6, atol=1e-9)


def test_over_leaves_real_matrices_alone():
    stein = Stein()
    assert over(stein, random_spd(1, 2)) is stein
    hermitian = over(stein, np.dtype(np.complex64))
    assert hermitian.name == "stein"
    assert over(hermitian, random_spd(1, 2)) is hermitian
    assert [hermitian.kernel_is_guaranteed(beta, n=2) for beta in (0.5, 1.0, 3.5)] == [
        False,
        True,
        True,
    ]
