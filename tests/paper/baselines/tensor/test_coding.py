"""Tensor sparse coding against CVXPY, finite differences and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from _matrices import random_spd
from spdatoms.paper.baselines import TensorSparseClassifier, TensorSparseCoder
from spdatoms.paper.baselines.tensor._maxdet import MaxdetDictionary

both_forms = pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])


def tensor_objective(X, D, y, alpha):
    """B(Σ y_j D_j, X) + α Σ y_j, written out."""
    A = np.linalg.solve(X, np.tensordot(y, D, 1))
    return np.trace(A) - np.linalg.slogdet(A)[1] - len(X) + alpha * y.sum()


def maxdet_by_cvxpy(X, D, alpha, bounded):
    cp = pytest.importorskip("cvxpy")
    n = len(X)
    T = np.linalg.inv(np.linalg.cholesky(X))
    A = T @ D @ T.T
    y = cp.Variable(len(D), nonneg=True)
    M = cp.reshape(A.reshape(len(D), -1).T @ y, (n, n), order="C")
    costs = np.trace(A, axis1=1, axis2=2) + alpha
    constraints = [np.eye(n) - M >> 0] if bounded else []
    problem = cp.Problem(cp.Minimize(costs @ y - cp.log_det(M)), constraints)
    exact = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return problem.solve(solver="CLARABEL", **exact) - n


@pytest.mark.slow
@both_forms
@pytest.mark.parametrize(("n", "N"), [(1, 3), (2, 1), (3, 30), (5, 25), (8, 20), (12, 30)])
def test_objective_is_that_of_cvxpy(n, N, bounded) -> None:
    D, X = random_spd(N, n, seed=n), random_spd(2, n, seed=n + 50)
    coded = MaxdetDictionary(D).code(X, 0.1, bounded=bounded)
    for i in range(2):
        expected = maxdet_by_cvxpy(X[i], D, 0.1, bounded)
        assert coded.certificate.objective[i] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        by_hand = tensor_objective(X[i], D, coded.codes[i], 0.1)
        assert coded.certificate.objective[i] == pytest.approx(by_hand, rel=1e-9, abs=1e-9)


def test_weights_are_penalties_of_atoms() -> None:
    """With the penalties α/√w_j they are codes over the atoms √w_j D_j, in their units."""
    D, X, w = random_spd(12, 3, seed=1), random_spd(5, 3, seed=2), np.linspace(0.2, 3.0, 12)
    y = np.arange(12) % 2
    model = TensorSparseClassifier(alpha=2.0).fit(D, y, sample_weight=w)
    lengths = np.sqrt(w / w.mean())
    scaled = TensorSparseCoder(lengths[:, None, None] * D, alpha=2.0).fit(D).transform(X)
    np.testing.assert_allclose(model._codes(X), lengths * scaled, atol=1e-6)
    plain = TensorSparseCoder(D, alpha=2.0).fit(D).transform(X)
    assert np.abs(plain - lengths * scaled).max() > 0.01


@both_forms
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize(("n", "N"), [(4, 12), (3, 60), (6, 100)])
def test_optimality_conditions_by_hand(n, N, alpha, bounded) -> None:
    D, X = random_spd(N, n, seed=1), random_spd(6, n, seed=2)
    coded = MaxdetDictionary(D).code(X, alpha, bounded=bounded)
    assert coded.certificate.converged.all()
    assert (coded.certificate.duality_gap <= 1e-9 * n).all()
    for x, y, Z in zip(X, coded.codes, coded.multipliers, strict=True):
        M = np.tensordot(y, D, 1)
        costs = np.einsum("ab,jab->j", np.linalg.inv(x), D) + alpha
        slack = costs + np.einsum("jab,ab->j", D, Z - np.linalg.inv(M))
        assert (y >= 0).all()
        assert (slack >= -1e-7 * costs).all()
        assert abs(slack @ y) <= 1e-7 * n
        if bounded:
            T = np.linalg.inv(np.linalg.cholesky(x))
            assert np.linalg.eigvalsh(T @ M @ T.T)[-1] <= 1.0 + 1e-12
            assert np.linalg.eigvalsh(Z)[0] >= -1e-9 * np.trace(Z)
            assert abs(np.sum(Z * (x - M))) <= 1e-7 * n
        else:
            assert not Z.any()
            # The scale of the optimum is known.
            assert costs @ y == pytest.approx(n)


@both_forms
@pytest.mark.parametrize("condition", [1e4, 1e8])
def test_ill_conditioned_matrices(condition, bounded) -> None:
    D, X = (random_spd(count, 6, seed=seed) for count, seed in ((40, 1), (8, 2)))
    stretch = np.diag(np.geomspace(1.0, condition**-0.5, 6))
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    X = stretch @ X @ stretch
    D[::2] = stretch @ D[::2] @ stretch
    D[1::2] = (rotation @ stretch) @ D[1::2] @ (rotation @ stretch).T
    D = 0.5 * (D + D.swapaxes(1, 2))
    coded = MaxdetDictionary(D).code(X, 0.01, bounded=bounded)
    assert coded.certificate.converged.all()
    for i in range(8):
        by_hand = tensor_objective(X[i], D, coded.codes[i], 0.01)
        assert coded.certificate.objective[i] == pytest.approx(by_hand, rel=1e-6, abs=1e-6)


def test_a_bound_that_holds_anyway_changes_nothing() -> None:
    D, X = random_spd(20, 4, seed=1), random_spd(40, 4, seed=2)
    dictionary = MaxdetDictionary(D)
    free, bounded = (dictionary.code(X, 10.0, bounded=b) for b in (False, True))
    M = np.tensordot(free.codes, D, 1)
    largest = np.linalg.eigvals(np.linalg.solve(X, M)).real.max(axis=1)
    inside, outside = largest < 0.99, largest > 1.01
    assert inside.any()
    assert outside.any()
    np.testing.assert_allclose(bounded.codes[inside], free.codes[inside], rtol=1e-6, atol=1e-9)
    assert not bounded.multipliers[inside].any()
    assert (bounded.certificate.objective[outside] > free.certificate.objective[outside]).all()


@both_forms
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(scale, bounded) -> None:
    D, X = random_spd(20, 5, seed=1), random_spd(5, 5, seed=2)
    plain = MaxdetDictionary(D).code(X, 0.05, bounded=bounded)
    scaled = MaxdetDictionary(scale * D).code(scale * X, 0.05, bounded=bounded)
    np.testing.assert_allclose(scaled.codes, plain.codes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(scaled.certificate.objective, plain.certificate.objective, rtol=1e-8)


@both_forms
def test_congruence_does_not_matter(bounded) -> None:
    D, X = random_spd(15, 4, seed=1), random_spd(5, 4, seed=2)
    G = np.random.default_rng(0).standard_normal((4, 4)) * np.array([[1.0], [1e3], [1e-3], [10.0]])
    plain = MaxdetDictionary(D).code(X, 0.05, bounded=bounded).codes
    D2, X2 = (0.5 * (A + A.swapaxes(1, 2)) for A in (G @ D @ G.T, G @ X @ G.T))
    np.testing.assert_allclose(MaxdetDictionary(D2).code(X2, 0.05, bounded=bounded).codes, plain,
                               rtol=1e-4, atol=1e-5)  # fmt: skip


def test_one_atom_has_a_closed_form() -> None:
    D, X = random_spd(1, 4, seed=1), random_spd(3, 4, seed=2)
    codes = TensorSparseCoder(D, alpha=0.3).fit(X).transform(X)
    expected = 4 / (np.einsum("mab,ab->m", np.linalg.inv(X), D[0]) + 0.3)
    np.testing.assert_allclose(codes[:, 0], expected, rtol=1e-10)
    bounded = TensorSparseCoder(D, alpha=0.3, bounded=True).fit(X).transform(X)
    largest = [np.linalg.eigvals(np.linalg.solve(x, D[0])).real.max() for x in X]
    np.testing.assert_allclose(
        bounded[:, 0], np.minimum(expected, 1 / np.array(largest)), rtol=1e-6
    )


def test_a_combination_of_atoms_is_found_without_a_price() -> None:
    D = random_spd(6, 4, seed=1)
    y = np.array([0.0, 2.0, 0.0, 0.5, 1.0, 0.0])
    X = np.tensordot(y, D, 1)[None]
    codes = TensorSparseCoder(D, alpha=0.0).fit(D).transform(X)
    np.testing.assert_allclose(codes[0], y, atol=1e-5)
    assert nnls(D.reshape(6, -1).T, X.ravel())[0] == pytest.approx(codes[0], abs=1e-5)


def test_codes_are_sparse_and_never_zero() -> None:
    codes = (
        TensorSparseCoder(alpha=0.1).fit(random_spd(200, 3)).transform(random_spd(20, 3, seed=9))
    )
    assert (codes.max(axis=1) > 0).all()
    assert (np.count_nonzero(codes, axis=1) <= 6).all()  # n(n+1)/2


def test_certificate_through_the_coder() -> None:
    coder = TensorSparseCoder(alpha=0.1).fit(random_spd(20, 4))
    codes, certificate = coder.transform_certified(random_spd(5, 4, seed=3))
    assert certificate.converged.all()
    assert (certificate.kkt_residual <= 1e-9).all()
    np.testing.assert_array_equal(certificate.n_nonzero, np.count_nonzero(codes, axis=1))


def test_classifier_scores_are_burg_divergences_of_the_parts() -> None:
    X, y = random_spd(18, 3, seed=4), np.arange(18) % 3
    model = TensorSparseClassifier(alpha=0.05).fit(X, y)
    queries = random_spd(5, 3, seed=8)
    codes = TensorSparseCoder(X, alpha=0.05).fit(X).transform(queries)
    scores = model.decision_function(queries)
    for i, query in enumerate(queries):
        used = [c for c in range(3) if codes[i, y == c].any()]
        for c in used:
            expected = tensor_objective(query, X[y == c], codes[i, y == c], 0.0)
            assert -scores[i, c] == pytest.approx(expected, abs=1e-9)
        left_out = [c for c in range(3) if c not in used]
        assert all(scores[i, c] < scores[i, used].min() for c in left_out)


@both_forms
@pytest.mark.parametrize("condition", [1e3, 1e7])
def test_copies_up_to_rounding(condition, bounded) -> None:
    """No step leads nowhere, and copies do not take turns for ever."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, N = 2 + seed % 5, 1 + seed % 3
        D = np.tile(random_spd(N, n, condition=condition, seed=rng), (8, 1, 1))
        G = np.eye(n) + 10.0 ** rng.uniform(-16, -13) * rng.standard_normal((8 * N, n, n))
        D = G @ D @ G.swapaxes(1, 2) * rng.choice([1.0, 2.0], size=(8 * N, 1, 1))
        D = 0.5 * (D + D.swapaxes(1, 2))
        X = np.concatenate([random_spd(3, n, condition=condition, seed=rng), D[:2]])
        coded = MaxdetDictionary(D).code(X, 1e-4, bounded=bounded)
        assert np.isfinite(coded.codes).all()
        assert (coded.certificate.duality_gap <= 1e-6 * n).all()
        # The gap is that to the dual problem, written out.
        for x, y, gap, Z in zip(
            X, coded.codes, coded.certificate.duality_gap, coded.multipliers, strict=True
        ):
            costs = np.einsum("jab,ba->j", D, np.linalg.inv(x) + Z) + 1e-4
            W = np.linalg.inv(np.tensordot(y, D, 1))
            ratio = (np.einsum("jab,ba->j", D, W) / costs).max()
            assert n * np.log(ratio) <= 1e-5 * n + gap
