"""Numbers near the limits of the format, atoms of all lengths, and matrices that are no Gram matrices."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from _lasso_problems import gaussian_problem
from spdatoms import sparse_code
from spdatoms.lasso.working_sets import code_features

# In a process of its own: compiled code that does not end cannot be interrupted.
_HOSTILE = """
import warnings
import numpy as np
from spdatoms import sparse_code
warnings.simplefilter("ignore")
for seed in range(400):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    F = rng.standard_normal((n, n))
    G = F @ F.T / n
    if seed % 5 == 0:
        G -= 0.2 * rng.random() * np.linalg.eigvalsh(G)[-1] * np.eye(n)
    elif seed % 5 == 1:
        G += 0.3 * rng.standard_normal((n, n))
    elif seed % 5 == 2:
        G[rng.integers(n), rng.integers(n)] = 10.0 ** rng.integers(-5, 308)
    elif seed % 5 == 3:
        G = F + F.T
    else:
        G = -G
        G[0, 0] = 1.0
    k = rng.standard_normal((3, n)) * 10.0 ** rng.integers(-300, 300)
    alpha = rng.choice([0.0, 1e-3, 0.1]) * np.abs(k).max()
    try:
        codes = sparse_code(G, k, alpha, positive=bool(seed % 2), check_gram=False)
    except ValueError as error:
        assert any(words in str(error) for words in ("semidefinite", "positive diag", "too large", "symmetric"))
    else:
        assert np.isfinite(codes).all() and ((codes >= 0).all() or not seed % 2)
"""


@pytest.mark.slow
def test_no_matrix_keeps_the_solver_for_ever():
    subprocess.run([sys.executable, "-c", _HOSTILE], check=True, timeout=600)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(
    ("of_gram", "of_cross"), [(1.0, 1e155), (1e-305, 1e-305), (1e300, 1e307), (1e150, 1e-150)]
)
def test_any_scale_of_gram_and_cross(of_gram, of_cross, positive, alpha):
    gram, cross = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0.9, 0.5], [0.1, -0.3]])
    expected = sparse_code(gram, cross, alpha, positive=positive)
    codes, certificate = sparse_code(
        of_gram * gram, of_cross * cross, of_cross * alpha, positive=positive,
        return_certificate=True,
    )  # fmt: skip
    np.testing.assert_allclose(codes / of_cross * of_gram, expected, rtol=1e-11, atol=1e-14)
    assert certificate.converged.all()
    assert not np.isnan(certificate.objective).any()


def test_a_gram_matrix_of_subnormal_numbers():
    gram, cross = 1e-310 * np.array([[1.0, 0.5], [0.5, 1.0]]), 1e-310 * np.array([[0.9, 0.5]])
    np.testing.assert_allclose(sparse_code(gram, cross, 2e-311), [[0.8, 0.0]], atol=1e-12)


def test_queries_far_from_all_atoms_have_the_objective_of_the_zero_code():
    codes, certificate = sparse_code(
        np.eye(2), [[1e-200, 2e-300], [0.0, 5e-324]], 0.1, return_certificate=True
    )
    assert not codes.any()
    np.testing.assert_array_equal(certificate.objective, 1.0)
    assert (certificate.duality_gap <= 1e-15).all()


def test_a_code_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="query 1 is too large for float64: multiply gram"):
        sparse_code(1e-200 * np.eye(2), [[1e-3, 0.0], [1e200, 0.0]], 0.0)
    with pytest.raises(ValueError, match="query 0 is too large for float32"):
        sparse_code(1e-30 * np.eye(2, dtype=np.float32), np.full((1, 2), 1e10, np.float32), 0.0)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_vectors_of_any_length(scale):
    rng = np.random.default_rng(0)
    P, X = rng.standard_normal((40, 6)), rng.standard_normal((5, 6))
    expected = code_features(P, X, 0.1, ridge=0.01)[0].toarray()
    codes, certificate = code_features(scale * P, scale * X, 0.1 * scale**2, ridge=0.01 * scale**2)
    np.testing.assert_allclose(codes.toarray(), expected, atol=1e-10)
    assert certificate.converged.all()
    codes, _ = code_features(P, scale * X, 0.1 * scale, ridge=0.01)
    np.testing.assert_allclose(codes.toarray() / scale, expected, atol=1e-10)


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e9])
def test_every_atom_is_judged_in_its_own_scale(ratio):
    gram, cross = np.diag([ratio**2, 1.0]), np.array([[10 * ratio, 1.0]])
    codes, certificate = sparse_code(gram, cross, 0.1, query_norm=101.0, return_certificate=True)
    np.testing.assert_allclose(codes, [[(10 * ratio - 0.05) / ratio**2, 0.95]], rtol=1e-12)
    assert certificate.converged.all()
    assert certificate.duality_gap[0] <= 1e-6


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.sampled_from([0.0, 1e-4, 0.1]))
def test_atoms_of_very_different_lengths(seed, n_atoms, alpha):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n_atoms, 30)) * 10.0 ** rng.uniform(-4, 4, (n_atoms, 1))
    X = rng.standard_normal((3, 30))
    gram, cross = P @ P.T, X @ P.T
    codes, certificate = sparse_code(
        gram, cross, alpha, query_norm=(X**2).sum(1), return_certificate=True
    )
    assert certificate.converged.all()
    # The conditions atom by atom, from the vectors and not from their Gram matrix.
    h = (X - codes @ P) @ P.T
    inside = np.abs(h - alpha / 2 * np.sign(codes))
    violation = np.where(codes != 0, inside, np.maximum(np.abs(h) - alpha / 2, 0))
    lengths = np.linalg.norm(P, axis=1)
    allowed = 1e-8 * np.abs(cross / lengths).max(axis=1)[:, None] * lengths
    assert (2 * violation <= 1.01 * allowed).all()
    if alpha > 0:
        assert (certificate.duality_gap <= 0.01 * certificate.objective + 1e-9).all()


def test_codes_against_the_gap_are_not_called_converged():
    gram, cross = gaussian_problem(60, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # With so large a tolerance the conditions hold, but after one round the code is not yet good.
        _, certificate = sparse_code(
            gram, cross, 0.01, tol=0.5, max_rounds=1, return_certificate=True
        )
    far = certificate.duality_gap > 0.01 * certificate.objective
    assert far.any()
    assert not certificate.converged[far].any()


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.sampled_from([0.0, 1e-9]))
def test_positive_codes_are_positive_from_any_start_on_a_singular_gram(seed, n_atoms, alpha):
    rng = np.random.default_rng(seed)
    F = rng.integers(-2, 3, (int(rng.integers(1, n_atoms + 1)), n_atoms)).astype(float)
    if not F.any():
        return
    init = 10.0 * rng.random((3, n_atoms)) * (rng.random((3, n_atoms)) < 0.7)
    X = rng.integers(-2, 3, (3, len(F))).astype(float)
    codes, certificate = sparse_code(
        F.T @ F, X @ F, alpha, positive=True, init=init, return_certificate=True
    )
    assert (codes >= 0).all()
    assert certificate.converged.all()


def test_the_code_of_zeros_is_zero_from_any_start():
    gram, cross = gaussian_problem(9, 3)
    cross[1] = 0.0
    codes, certificate = sparse_code(gram, cross, 0.0, init=cross, return_certificate=True)
    again = sparse_code(gram, cross, 0.0, init=np.ones((3, 9)), positive=True)
    assert not codes[1].any()
    assert not again[1].any()
    assert certificate.converged.all()


def test_a_start_far_beyond_any_code_is_no_start():
    gram, cross = gaussian_problem(20, 3)
    init = np.zeros((3, 20))
    init[:, ::3] = 1e300
    codes = sparse_code(gram, cross, 0.1, init=init)
    np.testing.assert_allclose(codes, sparse_code(gram, cross, 0.1), atol=1e-12)


def test_an_unchecked_gram_that_is_not_finite_is_noticed_where_it_matters():
    gram, cross = gaussian_problem(20, 3)
    used = int(np.abs(sparse_code(gram, cross, 0.3)[0]).argmax())
    other = (used + 1) % 20
    for value in (np.nan, np.inf):
        gram[used, other] = gram[other, used] = value
        with pytest.raises(ValueError, match="gram contains NaN or infinity, first in row"):
            sparse_code(gram, cross, 0.3, check_gram=False)


@pytest.mark.parametrize("seed", [76, 145, 170])
def test_atoms_beyond_the_rank_are_not_taken_for_an_indefinite_gram_matrix(seed):
    # Entries in single precision: the pivots of atoms beyond the rank are errors, magnified by those before.
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(10, 60))
    n_atoms = rank + int(rng.integers(3, rank))
    F = rng.standard_normal((n_atoms, rank)) * 10.0 ** np.linspace(0, -rng.uniform(0.5, 2.5), rank)
    steep = 10.0 ** np.linspace(0, rng.uniform(0, 3), rank)
    cross = (F @ (rng.standard_normal((rank, 30)) * steep[:, None])).T.astype(np.float32)
    gram, alpha = (F @ F.T).astype(np.float32), 1e-3 * float(abs(cross).max())
    untested = sparse_code(gram, cross, alpha, check_gram=False)
    tested, certificate = sparse_code(gram, cross, alpha, return_certificate=True)
    np.testing.assert_array_equal(untested, tested)
    assert certificate.converged.all()
