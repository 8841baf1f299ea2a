"""Means of matrices that lack channels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from _matrices import random_spd
from spdatoms import mean, pairwise_divergence
from spdatoms.divergences.incomplete import completed, regression_mean
from spdatoms.geometry import expm, unvech, vech
from spdatoms.geometry.channels import known_channels

METRICS = ("stein", "riemann", "jeffrey", "logeuclid")


def incomplete(count: int, n: int, seed: int = 0) -> np.ndarray:
    X, rng = random_spd(count, n, seed=seed), np.random.default_rng(seed)
    for one in X[: count - 1]:
        missing = rng.permutation(n)[: n // 3]
        one[missing] = one[:, missing] = np.nan
    return X


def cost(C: np.ndarray, X: np.ndarray, metric: str, weights: np.ndarray) -> float:
    known, total = known_channels(X), 0.0
    for one, own, weight in zip(X, known, weights, strict=True):
        at = np.ix_(own, own)
        total += weight * float(pairwise_divergence(one[at][None], C[at][None], metric)[0, 0])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_it_is_the_minimum_that_scipy_finds(metric) -> None:
    X, weights = incomplete(7, 4), np.arange(1.0, 8.0)
    C = mean(X, metric, weights)
    start = vech(np.zeros((1, 4, 4)))[0]

    def of_vector(v: np.ndarray) -> float:
        return cost(expm(unvech(v[None]))[0], X, metric, weights)

    found = minimize(of_vector, start, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(C, expm(unvech(found.x[None]))[0], rtol=1e-4, atol=1e-5)
    assert cost(C, X, metric, weights) <= found.fun * (1.0 + 1e-12)


def test_pyriemann_agrees_where_both_minimise_the_same() -> None:
    """Its steps are padded tangent vectors, ours padded gradients: for diagonal matrices both are zero together."""
    pyriemann = pytest.importorskip("pyriemann.utils.mean")
    X = np.exp(np.random.default_rng(0).standard_normal((6, 4)))[:, :, None] * np.eye(4)
    for i in range(5):
        X[i, i % 4] = X[i, :, i % 4] = np.nan
    np.testing.assert_allclose(
        mean(X, "riemann"), pyriemann.nanmean_riemann(X, tol=1e-12, maxiter=1000), atol=1e-6
    )
    general = incomplete(9, 4)
    ours, theirs = mean(general, "riemann"), pyriemann.nanmean_riemann(general)
    ones = np.ones(9)
    assert cost(ours, general, "riemann", ones) <= cost(theirs, general, "riemann", ones)


@pytest.mark.parametrize("metric", METRICS)
def test_congruence_scale_and_complex_matrices(metric) -> None:
    X = incomplete(8, 4, seed=1)
    C = mean(X, metric)
    tiny = 1e-12 * C
    np.testing.assert_allclose(mean(1e-12 * X, metric), tiny, rtol=1e-6, atol=1e-6 * tiny.max())
    turn = np.exp(1j * np.arange(4.0))[:, None]
    phases = turn * turn.conj().T
    np.testing.assert_allclose(mean(X * phases, metric), C * phases, rtol=1e-6, atol=1e-6)
    single = mean(X.astype(np.float32), metric)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, C, rtol=1e-3, atol=1e-3)


def test_complete_matrices_and_those_without_a_channel_or_weight() -> None:
    X = incomplete(8, 4)
    with_others = np.concatenate([X, np.full((1, 4, 4), np.nan), 100.0 * X[:1]])
    weights = np.array([1.0] * 8 + [1.0, 0.0])
    np.testing.assert_allclose(mean(with_others, sample_weight=weights), mean(X), rtol=1e-7)
    missing = X.copy()
    missing[:, 2] = missing[:, :, 2] = np.nan
    with pytest.raises(ValueError, match="No matrix has the channel 2"):
        mean(missing)
    X[3, 1, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[3\] is not finite: its entry \(1, 1\) is NaN"):
        mean(np.nan_to_num(X, nan=np.nan))
    with pytest.raises(ValueError, match="burg mean is not defined"):
        mean(incomplete(4, 4), "burg")


def test_completed_matrices_keep_what_is_known_and_are_spd() -> None:
    X = incomplete(9, 6)
    known = known_channels(X)
    S = regression_mean(X, known, np.ones(9))
    found = completed(X, known, S)
    np.testing.assert_array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    assert np.linalg.eigvalsh(found).min() > 0
    np.testing.assert_allclose(mean(found, "jeffrey"), S, rtol=2e-2, atol=2e-2)
    # Given the known channels, the others are conditionally as in the model.
    for one, own in zip(found, known, strict=True):
        precision, model = np.linalg.inv(one), np.linalg.inv(S)
        at = np.ix_(~own, ~own)
        np.testing.assert_allclose(precision[at], model[at], rtol=1e-8)
