"""Identities of the divergences: symmetry, invariance, inequalities, gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import random_orthogonal, random_spd, spd_stacks
from _references import by_eigenvalues
from spdatoms import pairwise_divergence
from spdatoms.divergences import get_divergence

INVARIANT = ["stein", "jeffrey", "riemann"]
relaxed = settings(max_examples=40, deadline=None)


def pair_values(metric, X, Y):
    """d(X_i, Y_i), as the diagonal of the table."""
    return pairwise_divergence(X, Y, metric).diagonal()


def pairs(**options):
    return spd_stacks(m=2, **{"max_condition": 1e3, "max_n": 9, **options})


@relaxed
@given(X=spd_stacks(max_m=12, max_n=12, max_condition=1e5, log10_scale=(-150, 150)))
def test_symmetry_and_sign(X):
    for metric in INVARIANT:
        D = pairwise_divergence(X, X, metric)
        assert (D >= 0).all()
        np.testing.assert_allclose(D, D.T, rtol=1e-9, atol=1e-9)
        assert D.diagonal().max() <= 1e-9


@relaxed
@given(X=pairs())
def test_eigenvalue_formulas_and_inequalities(X):
    values = {metric: pairwise_divergence(X, metric=metric)[0, 1] for metric in INVARIANT}
    for metric, value in values.items():
        expected = by_eigenvalues(metric, X[0], X[1])
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
    eighth = values["riemann"] / 8
    assert values["stein"] <= eighth * (1 + 1e-9) + 1e-12
    assert eighth <= values["jeffrey"] / 4 * (1 + 1e-9) + 1e-12


@relaxed
@given(X=pairs(max_condition=1e2), seed=st.integers(0, 999), spread=st.floats(0.0, 2.0))
def test_congruence_and_inversion(X, seed, spread):
    n = X.shape[-1]
    U, V = random_orthogonal(2, n, np.random.default_rng(seed))
    A = (U * np.logspace(-spread / 2, spread / 2, n)) @ V
    moved = A @ X @ A.T
    moved = 0.5 * (moved + moved.swapaxes(-1, -2))
    inverse = np.linalg.inv(X)
    inverse = 0.5 * (inverse + inverse.swapaxes(-1, -2))
    for metric in INVARIANT:
        value = pairwise_divergence(X, metric=metric)[0, 1]
        for other in (moved, inverse):
            again = pairwise_divergence(other, metric=metric)[0, 1]
            np.testing.assert_allclose(again, value, rtol=1e-9, atol=1e-11)


@relaxed
@given(X=spd_stacks(m=3, max_n=9, max_condition=1e4))
def test_triangle_inequality_of_root_stein(X):
    d = np.sqrt(pairwise_divergence(X))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        assert d[i, j] <= d[i, k] + d[k, j] + 1e-6


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "euclid"])
@relaxed
@given(X=pairs(max_condition=1e2, max_n=6, log10_scale=(-3, 3)), seed=st.integers(0, 999))
def test_gradients_against_finite_differences(metric, X, seed):
    n = X.shape[-1]
    L = np.linalg.cholesky(X[0])
    E = np.random.default_rng(seed).standard_normal((n, n))
    E = L @ (E + E.T) @ L.T
    h = 1e-5 / n
    ahead, behind = (X[:1] + step * E for step in (h, -h))
    ahead, behind = (0.5 * (Z + Z.swapaxes(1, 2)) for Z in (ahead, behind))
    rise = pair_values(metric, ahead, X[1:])[0] - pair_values(metric, behind, X[1:])[0]
    slope = rise / (2 * h)
    gradient = get_divergence(metric).gradient(X[:1], X[1:])
    assert gradient.shape == (1, n, n)
    value = pair_values(metric, X[:1], X[1:])[0]
    # What a step of relative size one may change.
    change = np.linalg.norm(L.T @ gradient[0] @ L) * n + value + n
    if metric == "euclid":
        change = value + np.linalg.norm(X) ** 2
    assert abs(slope - np.sum(gradient[0] * E)) <= 1e-6 * change


def test_gradient_at_equality_is_zero():
    X = random_spd(5, 6, condition=1e2)
    for metric in ("stein", "jeffrey", "burg", "euclid"):
        gradient = get_divergence(metric).gradient(X, X)
        largest = abs(np.linalg.inv(X)).max()
        assert abs(gradient).max() <= 1e-12 * largest
