"""Coding in the tangent space at the query: CVXPY, finite differences, invariance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from mpmath import mp
from scipy.linalg import logm
from sklearn.exceptions import ConvergenceWarning

from _matrices import random_spd, spd_stacks
from spdatoms import pairwise_divergence
from spdatoms.geometry import log_map, unvech
from spdatoms.geometry.spectral import inverse_cholesky
from spdatoms.paper.baselines import RiemannianSparseClassifier, RiemannianSparseCoder
from spdatoms.paper.baselines.tangent import coding
from spdatoms.paper.baselines.tangent._affine_lasso import affine_codes
from spdatoms.paper.baselines.tangent._tangents import tangent_vectors
from spdatoms.paper.baselines.tangent.coding import tangent_codes


@pytest.mark.slow
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


@pytest.mark.slow
def test_weights_are_penalties_of_atoms() -> None:
    cp = pytest.importorskip("cvxpy")
    B, w = np.random.default_rng(0).standard_normal((9, 6)), np.linspace(0.1, 3.0, 9)
    (code,), (objective,), (residual,) = affine_codes(B[None], 2.0, 1e-9, w)
    assert code.sum() == pytest.approx(1.0)
    assert residual < 1e-9
    y = cp.Variable(9)
    loss = cp.sum_squares(B.T @ y) + 2.0 * cp.norm1(cp.multiply(1.0 / np.sqrt(w), y))
    assert objective == pytest.approx(cp.Problem(cp.Minimize(loss), [cp.sum(y) == 1]).solve())
    np.testing.assert_allclose(code, y.value, atol=1e-4)


def all_vectors(X, D):
    """log_X(D_j) as vectors, for all queries and atoms."""
    queries, atoms = np.indices((len(X), len(D))).reshape(2, -1)
    return tangent_vectors(inverse_cholesky(X), D, queries, atoms).reshape(len(X), len(D), -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17])
def test_vectors_and_gradients_are_those_of_scipy(n, scale) -> None:
    X, D = random_spd(3, n, condition=50.0, seed=1), random_spd(4, n, condition=50.0, seed=2)
    V = random_spd(3, n, seed=3)
    queries, atoms = np.array([0, 2, 2, 1, 0, 1, 2, 0, 0, 1, 2]), np.arange(11) % 4
    W = inverse_cholesky(X)
    vectors = tangent_vectors(W, scale * D, queries, atoms)
    gradients = tangent_vectors(W, scale * D, queries, atoms, V)
    for k, (i, j) in enumerate(zip(queries, atoms, strict=True)):
        A = W[i] @ D[j] @ W[i].T
        expected = logm(A) + np.log(scale) * np.eye(n)
        np.testing.assert_allclose(
            unvech(vectors[k], weighted=True), expected, rtol=1e-9, atol=1e-9
        )
        # The derivative of log at A along V is a corner of the logarithm of a block matrix.
        derivative = logm(np.block([[A, V[i]], [np.zeros((n, n)), A]]))[:n, n:]
        expected = W[i].T @ derivative @ W[i] / scale
        size = np.abs(expected).max()
        np.testing.assert_allclose(unvech(gradients[k], weighted=True), expected, atol=1e-8 * size)


@pytest.mark.parametrize(("n", "spread"), [(3, 1e3), (17, 1e3), (3, 1e9), (17, 1e9)])
def test_vectors_of_ill_conditioned_pairs(n, spread) -> None:
    units = np.geomspace(spread, 1.0 / spread, n)
    D = random_spd(1, n, condition=10.0) * np.outer(units, units)
    pair = np.zeros(1, np.intp)
    vectors = tangent_vectors(np.eye(n)[None], D, pair, pair)
    with mp.workdps(60):
        eigenvalues, U = mp.eigsy(mp.matrix(D[0].tolist()))
        expected = U * mp.diag([mp.log(x) for x in eigenvalues]) * U.T
        expected = np.array(expected.tolist(), dtype=float)
    np.testing.assert_allclose(unvech(vectors[0], weighted=True), expected, atol=1e-9)


def test_gradients_where_eigenvalues_are_equal_or_nearly_so() -> None:
    spectrum = np.array([2.0, 2.0, 2.0 + 1e-9, 2.8, 2.9])
    D, V = np.diag(spectrum)[None], random_spd(1, 5, seed=1)
    pair = np.zeros(1, np.intp)
    gradient = unvech(tangent_vectors(np.eye(5)[None], D, pair, pair, V)[0], weighted=True)
    for a, b in np.ndindex(5, 5):
        with mp.workdps(40):
            x, y = mp.mpf(spectrum[a]), mp.mpf(spectrum[b])
            factor = 1 / x if x == y else (mp.log(x) - mp.log(y)) / (x - y)
        assert gradient[a, b] == pytest.approx(float(factor) * V[0, a, b], rel=1e-14)


def test_tangents_have_the_lengths_of_distances_however_far_the_atoms() -> None:
    D, X = (random_spd(m, 3, condition=1e6, seed=m) for m in (5, 4))
    D *= 10.0 ** np.arange(-12, 3, 3)[:, None, None]
    squares = (all_vectors(X, D) ** 2).sum(axis=-1)
    np.testing.assert_allclose(squares, pairwise_divergence(X, D, "riemann"), rtol=1e-5)


def test_a_query_that_is_an_atom_has_its_indicator() -> None:
    D = random_spd(8, 3)
    codes, objective, _ = tangent_codes(D, D, 0.1)
    np.testing.assert_allclose(codes, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(objective, 0.1, atol=1e-10)


@given(spd_stacks(m=7, max_n=4, max_condition=1e3))
@settings(max_examples=15, deadline=None)
def test_norm_at_the_query_is_the_distance(stack) -> None:
    squares = (all_vectors(stack[:1], stack[1:]) ** 2).sum(axis=-1)
    distances = pairwise_divergence(stack[:1], stack[1:], metric="riemann")
    np.testing.assert_allclose(squares, distances, rtol=1e-6, atol=1e-10)


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
    B = all_vectors(1.01 * D[i : i + 1], D)[0]
    part = np.where(labels == "b", codes[i], 0.0)
    residual = np.linalg.norm(np.tensordot(part, B, 1)) / part.sum()
    assert -model.decision_function(1.01 * D)[i, 1] == pytest.approx(residual, rel=1e-6)


@pytest.mark.parametrize("alpha", [1e3, 1e12, 1e100, 1e307])
def test_however_large_alpha_is_codes_are_the_best_of_the_simplex(alpha) -> None:
    D, X = random_spd(9, 3, seed=1), random_spd(4, 3, seed=2)
    codes, objective, residual = tangent_codes(X, D, alpha)
    squares = (all_vectors(X, D) ** 2).sum(axis=-1).max(axis=1)
    for i in range(4):
        expected, (least,), _ = tangent_codes(X[i : i + 1], D, 2.0 * squares[i])
        np.testing.assert_allclose(codes[i : i + 1], expected, atol=1e-8)
        assert (codes[i] >= 0).all()
        assert objective[i] == pytest.approx(alpha + least - 2.0 * squares[i], rel=1e-12)
    assert (residual <= 1e-9).all()


def test_a_large_alpha_for_some_of_the_queries_only() -> None:
    D = random_spd(6, 3, condition=1.5, seed=1)
    X = np.concatenate([random_spd(2, 3, condition=1.5, seed=2), 1e3 * D[:1]])
    codes, objective, _ = tangent_codes(X, D, 20.0)
    for i in range(3):
        alone, (least,), _ = tangent_codes(X[i : i + 1], D, 20.0)
        np.testing.assert_array_equal(codes[i : i + 1], alone)
        assert objective[i] == least


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1e307])
def test_atoms_at_the_query_itself(alpha) -> None:
    (code,), (objective,), (residual,) = affine_codes(np.zeros((1, 3, 6)), alpha, 1e-9)
    assert code.sum() == pytest.approx(1.0)
    assert objective == pytest.approx(alpha)
    assert residual == 0.0


def test_codes_that_are_not_optimal_or_not_finite_are_reported(monkeypatch) -> None:
    D, X = random_spd(6, 3, seed=1), random_spd(4, 3, seed=2)
    coder, classifier = RiemannianSparseCoder(D).fit(D), RiemannianSparseClassifier()
    classifier.fit(D, np.arange(6) % 2)
    weighted = RiemannianSparseClassifier().fit(D, np.arange(6) % 2, np.arange(1.0, 7.0))
    for alpha in (1e12, 1e100):
        with pytest.warns(ConvergenceWarning, match="too large next to these distances"):
            weighted.set_params(alpha=alpha).predict(X)
    with pytest.raises(ValueError, match=r"query 0 is not finite.*lower it"):
        weighted.set_params(alpha=1e307).predict(X)
    monkeypatch.setattr(coding, "_TOLERATED", -1.0)
    with pytest.warns(ConvergenceWarning, match="4 of 4 codes in tangent spaces"):
        coder.transform(X)
    with pytest.warns(ConvergenceWarning, match="4 of 4 codes in tangent spaces"):
        classifier.predict(X)
