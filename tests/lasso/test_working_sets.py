"""The Lasso over vectors: the codes of the Gram matrix, other solvers as oracles, and every corner."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from _lasso_problems import interior_point, kkt_residual, objective
from spdatoms import sparse_code
from spdatoms.lasso import working_sets
from spdatoms.lasso.working_sets import code_features


def vectors(n_atoms, n_queries, r=10, seed=0):
    """Atoms and queries of norm 1 around a few centres, as kernels have them."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((4, r))
    points = centres[rng.integers(4, size=n_atoms + n_queries)]
    points = points + 0.7 * rng.standard_normal(points.shape)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points[:n_atoms], points[n_atoms:]


@pytest.fixture
def small_steps(monkeypatch):
    """Working sets that grow slowly, and blocks of a few queries: many rounds on small problems."""
    monkeypatch.setattr(working_sets, "_FIRST_ATOMS", 2)
    monkeypatch.setattr(working_sets, "_GROWTH", 0.0)
    monkeypatch.setattr(working_sets, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(working_sets, "_LEAST_BLOCK", 3)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.01])
def test_codes_and_certificate_are_those_of_the_gram_matrix(small_steps, alpha):
    P, X = vectors(300, 20)
    gram, cross, norms = P @ P.T, X @ P.T, (X**2).sum(1)
    codes, certificate = code_features(P, X, alpha)
    expected, by_gram = sparse_code(
        gram, cross, alpha, query_norm=norms, return_certificate=True, check_gram=False
    )
    dense = codes.toarray()
    np.testing.assert_allclose(dense, expected, atol=1e-6)
    np.testing.assert_allclose(certificate.objective, by_gram.objective, rtol=1e-10)
    residual = kkt_residual(gram, cross, alpha, dense)
    np.testing.assert_allclose(certificate.kkt_residual, residual, atol=1e-13)
    assert (residual <= 1e-8 * np.abs(cross).max(axis=1)).all()
    np.testing.assert_allclose(
        certificate.objective, objective(gram, cross, alpha, dense, norms), rtol=1e-10
    )
    np.testing.assert_array_equal(certificate.n_nonzero, (dense != 0).sum(1))
    assert certificate.converged.all()
    assert (certificate.duality_gap <= 1e-7).all()
    assert certificate.rounds.max() > 1
    assert codes.has_sorted_indices


def test_agrees_with_an_interior_point_method():
    P, X = vectors(40, 3)
    codes, certificate = code_features(P, X, 0.05)
    for query in range(3):
        expected, minimum = interior_point(P @ P.T, P @ X[query], 0.05)
        minimum += X[query] @ X[query]
        assert certificate.objective[query] == pytest.approx(minimum, abs=1e-7)
        np.testing.assert_allclose(codes[[query]].toarray()[0], expected, atol=1e-4)


def test_agrees_with_scikit_learn():
    P, X = vectors(200, 4, r=12)
    codes = code_features(P, X, 0.1)[0].toarray()
    for query in range(4):
        # Its objective has ½‖·‖²/r, so its penalty is ours divided by 2r.
        other = Lasso(0.1 / 24, fit_intercept=False, tol=1e-14, max_iter=100_000)
        np.testing.assert_allclose(codes[query], other.fit(P.T, X[query]).coef_, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_atoms=st.integers(1, 60),
    r=st.integers(1, 12),
    alpha=st.sampled_from([1e-3, 0.02, 0.3, 3.0]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    duplicates=st.booleans(),
)
def test_codes_are_optimal(seed, n_atoms, r, alpha, scale, duplicates):
    P, X = vectors(n_atoms, 4, r, seed)
    if duplicates:
        P = np.concatenate([P, P[::-1], 0.0 * P[:1]])
    X = np.concatenate([X, 0.0 * X[:1], P[:1]])
    # With x and p_j multiplied by s, α by s²: the same codes.
    codes, certificate = code_features(scale * P, scale * X, scale**2 * alpha)
    assert certificate.converged.all()
    residual = kkt_residual(P @ P.T, X @ P.T, alpha, codes.toarray())
    assert (residual <= 1.1e-8 * np.abs(X @ P.T).max(axis=1) + 1e-14).all()
    assert (certificate.duality_gap <= 1e-6 * scale**2).all()


def test_alpha_from_lambda_max_on_gives_zero():
    P, X = vectors(50, 5)
    largest = 2 * np.abs(X @ P.T).max(axis=1)
    codes, certificate = code_features(P, X, largest)
    assert codes.nnz == 0
    assert (certificate.rounds == 0).all()
    np.testing.assert_allclose(certificate.objective, 1.0)
    assert (np.diff(code_features(P, X, 0.999 * largest)[0].indptr) > 0).all()


def test_alpha_zero_represents_every_query():
    P, X = vectors(200, 5)
    codes, certificate = code_features(P, X, 0.0)
    np.testing.assert_allclose(codes @ P, X, atol=1e-7)
    assert certificate.converged.all()


def test_one_atom_is_soft_thresholding():
    codes, _ = code_features([[2.0]], [[1.5], [-1.5], [0.2]], 2.0)
    np.testing.assert_allclose(codes.toarray(), [[0.5], [-0.5], [0.0]])


def test_threads_and_other_queries_do_not_change_a_code(small_steps):
    P, X = vectors(150, 11)
    codes = code_features(P, X, 0.05)[0].toarray()
    np.testing.assert_array_equal(code_features(P, X, 0.05, n_jobs=2)[0].toarray(), codes)
    np.testing.assert_allclose(code_features(P, X[4:5], 0.05)[0].toarray(), codes[4:5], atol=1e-9)


@pytest.mark.parametrize(("alpha", "ridge"), [(0.05, 0.0), (0.0, 0.1)])
def test_a_code_is_the_same_to_the_last_bit_whatever_the_other_queries(alpha, ridge):
    P, X = vectors(300, 100)
    codes = code_features(P, X, alpha, ridge=ridge)[0].toarray()
    for part in (slice(0, 1), slice(0, 70), slice(62, 67), slice(None, None, -3)):
        some = code_features(P, X[part], alpha, ridge=ridge)[0].toarray()
        np.testing.assert_array_equal(some, codes[part])


def test_no_query():
    P, X = vectors(5, 3)
    codes, certificate = code_features(P, X[:0], 0.1)
    assert codes.shape == (0, 5)
    assert certificate.objective.shape == (0,)


def test_an_early_end_is_told(small_steps):
    P, X = vectors(300, 6)
    with pytest.warns(ConvergenceWarning, match="max_rounds=1 is too small"):
        codes, certificate = code_features(P, X, 0.01, max_rounds=1)
    residual = kkt_residual(P @ P.T, X @ P.T, 0.01, codes.toarray())
    np.testing.assert_allclose(certificate.kkt_residual, residual, rtol=1e-10)
    assert not certificate.converged.any()
    exact = code_features(P, X, 0.01)[1].objective
    assert (certificate.objective - exact <= certificate.duality_gap + 1e-12).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert code_features(P, X, 0.01, max_rounds=0)[0].nnz == 0


@pytest.mark.parametrize(
    ("atoms", "queries", "alpha", "message"),
    [
        (np.ones((3, 2)), np.ones((1, 3)), 0.1, "same length"),
        (np.ones((0, 2)), np.ones((1, 2)), 0.1, "same length"),
        (np.ones(3), np.ones((1, 3)), 0.1, "2 dimensions"),
        (np.full((3, 2), np.nan), np.ones((1, 2)), 0.1, "atoms contains NaN"),
        (np.ones((3, 2)), np.full((1, 2), np.inf), 0.1, "queries contains NaN or infinity"),
        (np.ones((3, 2)), np.ones((1, 2)), -0.1, "alpha must be"),
    ],
)
def test_bad_input(atoms, queries, alpha, message):
    with pytest.raises(ValueError, match=message):
        code_features(atoms, queries, alpha)


def test_atoms_that_are_all_zero_need_a_ridge():
    _, X = vectors(5, 2)
    with pytest.raises(ValueError, match="not zero"):
        code_features(np.zeros((5, 10)), X, 0.1)
    codes, _ = code_features(np.zeros((5, 10)), X, 0.1, ridge=0.1)
    assert codes.nnz == 0
