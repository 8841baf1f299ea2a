"""The elastic net and collaborative representation: other solvers as oracles, and the certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet

from _lasso_problems import assert_optimal, gaussian_problem, interior_point, objective
from _matrices import random_spd
from spdatoms import DivergenceKernel, SPDSparseCoder, sparse_code, sparse_code_path
from spdatoms.lasso.working_sets import code_features
from spdatoms.storage import load, save


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("positive", [False, True])
def test_agrees_with_an_interior_point_method(alpha, positive):
    gram, cross = gaussian_problem(12, 3)
    codes, certificate = sparse_code(
        gram, cross, alpha, ridge=0.2, positive=positive, query_norm=1.3, return_certificate=True
    )
    for query in range(3):
        expected, minimum = interior_point(gram + 0.2 * np.eye(12), cross[query], alpha, positive)
        assert certificate.objective[query] == pytest.approx(1.3 + minimum, abs=1e-7)
        np.testing.assert_allclose(codes[query], expected, atol=1e-4)
    assert certificate.converged.all()
    assert (certificate.duality_gap <= 1e-12).all()


@pytest.mark.parametrize("by_features", [False, True])
def test_agrees_with_scikit_learn(by_features):
    rng = np.random.default_rng(0)
    P, X = rng.standard_normal((60, 12)), rng.standard_normal((4, 12))
    alpha, ridge = 0.7, 0.3
    if by_features:
        codes = code_features(P, X, alpha, ridge=ridge)[0].toarray()
    else:
        codes = sparse_code(P @ P.T, X @ P.T, alpha, ridge=ridge)
    # Its objective is ‖·‖²/2r + a·w‖y‖₁ + a(1 − w)‖y‖²/2.
    first, second = alpha / 24, ridge / 12
    other = ElasticNet(
        first + second, l1_ratio=first / (first + second), fit_intercept=False, tol=1e-14,
        max_iter=100_000,
    )  # fmt: skip
    for query in range(4):
        np.testing.assert_allclose(codes[query], other.fit(P.T, X[query]).coef_, atol=1e-8)


@pytest.mark.parametrize("ridge", [1e-14, 1e-8, 1e-3, 1.0, 1e6])
def test_collaborative_representation_solves_the_linear_system(ridge):
    gram, cross = gaussian_problem(80, 70)
    codes, certificate = sparse_code(gram, cross, 0.0, ridge=ridge, return_certificate=True)
    regular = gram + ridge * np.eye(80)
    assert_optimal(regular, cross, 0.0, codes)
    assert certificate.converged.all()
    expected = objective(regular, cross, 0.0, codes)
    np.testing.assert_allclose(certificate.objective, expected, atol=1e-10)
    # What the quadratic is above its minimum, by its definition.
    error = codes - np.linalg.solve(regular, cross.T).T
    above = np.einsum("ij,jk,ik->i", error, regular, error)
    assert (above <= certificate.duality_gap + 1e-13).all()
    if ridge >= 1e-3:
        assert (certificate.duality_gap <= 1e-18 / ridge).all()


def test_left_out_atoms_are_as_if_they_were_not_there():
    gram, _ = gaussian_problem(70, 0)
    left_out = np.arange(70)
    left_out[3] = -1
    codes, certificate = sparse_code(
        gram, gram, 0.0, ridge=0.01, exclude=left_out, return_certificate=True
    )
    assert certificate.converged.all()
    for query in range(70):
        others = np.delete(np.arange(70), left_out[query]) if query != 3 else np.arange(70)
        block = gram[np.ix_(others, others)] + 0.01 * np.eye(len(others))
        np.testing.assert_allclose(
            codes[query, others], np.linalg.solve(block, gram[query, others]), atol=1e-10
        )
        assert query == 3 or codes[query, query] == 0.0
    # The search finds the same, up to a penalty that is hardly there.
    np.testing.assert_allclose(
        codes, sparse_code(gram, gram, 1e-12, ridge=0.01, exclude=left_out), atol=1e-8
    )


def test_a_collaborative_code_does_not_depend_on_the_other_queries():
    gram, cross = gaussian_problem(37, 150)
    codes = sparse_code(gram, cross, 0.0, ridge=0.01)
    np.testing.assert_array_equal(codes, sparse_code(gram, cross, 0.0, ridge=0.01, n_jobs=2))
    for part in (slice(0, 1), slice(0, 70), slice(63, 66), slice(149, 150), slice(None, None, -3)):
        alone = sparse_code(gram, cross[part], 0.0, ridge=0.01)
        np.testing.assert_array_equal(alone, codes[part])


def test_duplicate_atoms_share_a_code():
    gram, cross = gaussian_problem(8, 5)
    twice = np.r_[0:8, 0:8]
    for alpha in (0.0, 0.05):
        codes = sparse_code(gram[np.ix_(twice, twice)], cross[:, twice], alpha, ridge=0.1)
        np.testing.assert_allclose(codes[:, :8], codes[:, 8:], atol=1e-12)
        np.testing.assert_allclose(
            2 * codes[:, :8], sparse_code(gram, cross, alpha, ridge=0.05), atol=1e-10
        )


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_atoms=st.integers(1, 30),
    rank=st.integers(1, 12),
    alpha=st.sampled_from([0.0, 1e-3, 0.1]),
    ridge=st.sampled_from([1e-6, 1e-2, 10.0]),
    positive=st.booleans(),
    scale=st.sampled_from([1e-100, 1.0, 1e100]),
)
def test_codes_are_optimal_and_certified(seed, n_atoms, rank, alpha, ridge, positive, scale):
    rng = np.random.default_rng(seed)
    P, X = rng.standard_normal((n_atoms, rank)), rng.standard_normal((4, rank))
    gram, cross, norms = P @ P.T, X @ P.T, (X**2).sum(1)
    codes, certificate = sparse_code(
        scale * gram, scale * cross, scale * alpha, ridge=scale * ridge, query_norm=scale * norms,
        positive=positive, return_certificate=True, check_gram=False,
    )  # fmt: skip
    assert_optimal(gram + ridge * np.eye(n_atoms), cross, alpha, codes, positive, tol=1.1e-8)
    assert certificate.converged.all()
    assert (certificate.duality_gap <= 1e-6 * scale * norms).all()


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_features_have_the_codes_of_their_gram_matrix(alpha):
    rng = np.random.default_rng(1)
    P, X = rng.standard_normal((90, 10)), rng.standard_normal((20, 10))
    codes, certificate = code_features(P, X, alpha, ridge=0.2)
    expected, by_gram = sparse_code(
        P @ P.T, X @ P.T, alpha, ridge=0.2, query_norm=(X**2).sum(1), return_certificate=True
    )
    np.testing.assert_allclose(codes.toarray(), expected, atol=1e-9)
    np.testing.assert_allclose(certificate.objective, by_gram.objective, rtol=1e-10)
    np.testing.assert_array_equal(certificate.n_nonzero, by_gram.n_nonzero)
    assert certificate.converged.all()
    assert (certificate.duality_gap <= 1e-10).all()


def test_path_ends_with_collaborative_representation():
    gram, cross = gaussian_problem(30, 6)
    path = sparse_code_path(gram, cross, [0.1, 0.01, 0.0], ridge=0.05)
    for alpha, codes in zip([0.1, 0.01, 0.0], path, strict=True):
        expected = sparse_code(gram, cross, alpha, ridge=0.05)
        np.testing.assert_allclose(codes, expected, atol=1e-9)


def test_ridge_of_the_coder_survives_a_file(tmp_path):
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    kernel = DivergenceKernel().fit(D)
    coder = SPDSparseCoder(D, beta=kernel.beta_, alpha=0.01, ridge=0.1).fit(X)
    expected = sparse_code(kernel.gram_, kernel.cross(X), 0.01, ridge=0.1)
    np.testing.assert_array_equal(coder.transform(X), expected)
    save(coder, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.ridge == 0.1
    np.testing.assert_array_equal(again.transform(X), expected)


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf, "auto", None, True, [0.1]])
def test_bad_ridge(ridge):
    for call in (
        lambda: sparse_code(np.eye(2), np.eye(2), 0.1, ridge=ridge),
        lambda: SPDSparseCoder(ridge=ridge).fit(random_spd(4, 3)),
    ):
        with pytest.raises(ValueError, match="ridge must be a number ≥ 0"):
            call()
