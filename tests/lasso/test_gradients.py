"""Gradients of codes, against differences of the codes themselves."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms import sparse_code
from spdatoms.lasso.gradients import code_vjp, gram_vjp

STEP = 1e-6


def problem(n_atoms=12, n_queries=9, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n_atoms + n_queries, 30))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    gram, cross = A[:n_atoms] @ A[:n_atoms].T, A[n_atoms:] @ A[:n_atoms].T
    return rng, gram, 3.0 * cross


def coded(gram, cross, alpha, **options):
    return sparse_code(gram, cross, alpha, tol=1e-13, **options)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("alpha", [0.1, 0.4])
def test_slopes_in_everything_that_codes_depend_on(alpha, ridge, positive) -> None:
    rng, gram, cross = problem()
    weights, H, h = (rng.standard_normal(Z.shape) for Z in (cross, gram, cross))
    H = H + H.T
    rate = 0.4 if ridge else 0.0  # a ridge of zero cannot fall

    def moved(t: float) -> np.ndarray:
        penalties = {"ridge": ridge + rate * t, "positive": positive}
        return coded(gram + t * H, cross + t * h, alpha + 0.7 * t, **penalties)

    before, y, after = (moved(t) for t in (-STEP, 0.0, STEP))
    # No entry comes or goes on the way, so that there is no kink.
    assert np.array_equal(before != 0, y != 0)
    assert np.array_equal(after != 0, y != 0)
    assert 0 < np.count_nonzero(y) < y.size
    u = code_vjp(gram, cross, y, alpha, ridge, weights)
    slope = (u * h).sum() + (gram_vjp(y, u) * H).sum() - 0.35 * (np.sign(y) * u).sum()
    slope -= rate * (u * y).sum()
    assert slope == pytest.approx((weights * (after - before)).sum() / (2 * STEP), rel=1e-6)


def test_a_penalty_for_each_query() -> None:
    rng, gram, cross = problem()
    alpha, weights = rng.uniform(0.1, 0.5, len(cross)), rng.standard_normal(cross.shape)
    together = code_vjp(gram, cross, coded(gram, cross, alpha), alpha, 0.0, weights)
    for i in range(len(cross)):
        one = slice(i, i + 1)
        y = coded(gram, cross[one], alpha[i])
        alone = code_vjp(gram, cross[one], y, alpha[i], 0.0, weights[one])
        np.testing.assert_allclose(together[one], alone, atol=1e-12)


def test_what_violates_its_condition_is_not_active() -> None:
    """A non-zero entry that the search had not settled when it was given up says nothing about the optimum."""
    _, gram, cross = problem()
    y = coded(gram, cross, 0.2)
    wrong = y.copy()
    zero = np.flatnonzero(y[0] == 0)[0]
    wrong[0, zero] = 1e-9  # so small that it changes no other condition by more than is allowed
    weights = np.ones(y.shape)
    found = code_vjp(gram, cross, wrong, 0.2, 0.0, weights)
    np.testing.assert_allclose(found, code_vjp(gram, cross, y, 0.2, 0.0, weights), atol=1e-12)
    assert found[0, zero] == 0.0


def test_at_a_kink_what_is_zero_stays_zero() -> None:
    """Of the slopes 1 (for larger k) and 0 (for smaller) at k = α/2 it is 0."""
    gram, weights = np.eye(1), np.ones((1, 1))
    for k, slope in ((0.1, 0.0), (0.1 + 1e-9, 1.0), (0.1 - 1e-9, 0.0)):
        cross = np.array([[k]])
        y = coded(gram, cross, 0.2)
        assert code_vjp(gram, cross, y, 0.2, 0.0, weights)[0, 0] == slope


def test_codes_of_zeros_and_copies_of_atoms() -> None:
    weights = np.ones((2, 2))
    cross = np.array([[0.9, 0.9], [0.01, 0.01]])
    y = np.array([[0.4, 0.4], [0.0, 0.0]])  # one of the many codes over two copies
    u = code_vjp(np.ones((2, 2)), cross, y, 0.2, 0.0, weights)
    np.testing.assert_allclose(u, [[0.5, 0.5], [0.0, 0.0]], atol=1e-12)
