"""Coding in the tangent space at the query: CVXPY, finite differences, invariance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from _matrices import random_spd, spd_stacks
from spdatoms import pairwise_divergence
from spdatoms.baselines import RiemannianSparseClassifier, RiemannianSparseCoder
from spdatoms.baselines.tangent._affine_lasso import affine_code
from spdatoms.baselines.tangent._tangents import Tangents
from spdatoms.baselines.tangent.coding import tangent_codes
from spdatoms.geometry import log_map


@pytest.mark.parametrize("alpha", [0.0, 0.1, 5.0])
@pytest.mark.parametrize(("n", "N"), [(1, 4), (3, 5), (4, 25)])
def test_objective_is_that_of_cvxpy(n, N, alpha) -> None:
    cp = pytest.importorskip("cvxpy")
    D, X = random_spd(N, n, seed=1), random_spd(2, n, seed=2)
    codes, objective, residual = tangent_codes(X, D, alpha)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0, rtol=1e-12)
    assert (residual <= 1e-9).all()
    for i in range(2):
        L = np.linalg.inv(np.linalg.cholesky(X[i]))
        B = (L @ log_map(D, X[i]) @ L.T).reshape(N, -1)
        y = cp.Variable(N)
        loss = cp.sum_squares(B.T @ y) + alpha * cp.norm1(y)
        expected = cp.Problem(cp.Minimize(loss), [cp.sum(y) == 1]).solve(
            solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )
        assert objective[i] == pytest.approx(expected, rel=1e-6, abs=1e-8)
        by_hand = np.sum((codes[i] @ B) ** 2) + alpha * np.abs(codes[i]).sum()
        assert objective[i] == pytest.approx(by_hand, rel=1e-9, abs=1e-12)


def test_weights_are_penalties_of_atoms() -> None:
    cp = pytest.importorskip("cvxpy")
    B, w = np.random.default_rng(0).standard_normal((9, 6)), np.linspace(0.1, 3.0, 9)
    code, objective, residual = affine_code(B, 2.0, 1e-9, w)
    assert code.sum() == pytest.approx(1.0)
    assert residual < 1e-9
    y = cp.Variable(9)
    loss = cp.sum_squares(B.T @ y) + 2.0 * cp.norm1(cp.multiply(1.0 / np.sqrt(w), y))
    assert objective == pytest.approx(cp.Problem(cp.Minimize(loss), [cp.sum(y) == 1]).solve())
    np.testing.assert_allclose(code, y.value, atol=1e-4)


def test_tangents_have_the_lengths_of_distances_however_far_the_atoms() -> None:
    D, X = (random_spd(m, 3, condition=1e6, seed=m) for m in (5, 4))
    D *= 10.0 ** np.arange(-12, 3, 3)[:, None, None]
    tangents = Tangents.at(X[:, None], D)
    least, greatest = tangents.eigenvalues.min(axis=-1), tangents.eigenvalues.max(axis=-1)
    assert (least < 1e-8 * greatest).any()
    squares = (tangents.matrices**2).sum(axis=(-2, -1))
    np.testing.assert_allclose(squares, pairwise_divergence(X, D, "riemann"), rtol=1e-5)


def test_a_query_that_is_an_atom_has_its_indicator() -> None:
    D = random_spd(8, 3)
    codes, objective, _ = tangent_codes(D, D, 0.1)
    np.testing.assert_allclose(codes, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(objective, 0.1, atol=1e-10)


@given(spd_stacks(m=7, max_n=4, max_condition=1e3))
@settings(max_examples=15, deadline=None)
def test_norm_at_the_query_is_the_distance(stack) -> None:
    tangents = Tangents.at(stack[0], stack[1:]).matrices
    distances = pairwise_divergence(stack[:1], stack[1:], metric="riemann")[0]
    np.testing.assert_allclose((tangents**2).sum(axis=(1, 2)), distances, rtol=1e-6, atol=1e-10)


def test_congruence_does_not_matter() -> None:
    D, X = random_spd(10, 4, seed=1), random_spd(4, 4, seed=2)
    G = np.random.default_rng(0).standard_normal((4, 4))
    D2, X2 = (0.5 * (A + A.swapaxes(1, 2)) for A in (G @ D @ G.T, G @ X @ G.T))
    plain, moved = tangent_codes(X, D, 0.1)[0], tangent_codes(X2, D2, 0.1)[0]
    np.testing.assert_allclose(moved, plain, atol=1e-7)


def test_classifier_finds_the_class_of_near_copies() -> None:
    D = random_spd(9, 4, condition=20.0, seed=2)
    labels = np.repeat(["a", "b", "c"], 3)
    model = RiemannianSparseClassifier().fit(D, labels)
    np.testing.assert_array_equal(model.predict(1.01 * D), labels)
    codes = RiemannianSparseCoder(D).fit(D).transform(1.01 * D)
    i = 4
    B = Tangents.at(1.01 * D[i], D).matrices
    part = np.where(labels == "b", codes[i], 0.0)
    residual = np.linalg.norm(np.tensordot(part, B, 1)) / part.sum()
    assert -model.decision_function(1.01 * D)[i, 1] == pytest.approx(residual, rel=1e-6)
