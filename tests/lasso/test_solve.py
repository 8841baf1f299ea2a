"""The kernel Lasso: optimality by brute force, other solvers as oracles, and every corner."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from _lasso_problems import (
    assert_optimal,
    gaussian_kernel,
    gaussian_problem,
    interior_point,
    kkt_residual,
    objective,
)
from spdatoms import sparse_code


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.01, 1e-3, 1e-5])
@pytest.mark.parametrize("n_atoms", [2, 5, 64, 300])
def test_codes_are_optimal_and_the_certificate_is_true(n_atoms, alpha, positive):
    gram, cross = gaussian_problem(n_atoms, 20)
    codes, certificate = sparse_code(gram, cross, alpha, positive=positive, return_certificate=True)
    assert_optimal(gram, cross, alpha, codes, positive)
    residual = kkt_residual(gram, cross, alpha, codes, positive)
    np.testing.assert_allclose(certificate.kkt_residual, residual, atol=1e-10)
    np.testing.assert_allclose(
        certificate.objective, objective(gram, cross, alpha, codes), atol=1e-10
    )
    np.testing.assert_array_equal(certificate.n_nonzero, (codes != 0).sum(1))
    assert certificate.converged.all()
    assert (certificate.duality_gap <= 1e-6).all()
    assert (certificate.rounds < 60).all()


@pytest.mark.parametrize("positive", [False, True])
def test_agrees_with_an_interior_point_method(positive):
    gram, cross = gaussian_problem(12, 3)
    codes, certificate = sparse_code(
        gram, cross, 0.05, positive=positive, query_norm=1.3, return_certificate=True
    )
    for query in range(3):
        expected, minimum = interior_point(gram, cross[query], 0.05, positive)
        assert certificate.objective[query] == pytest.approx(1.3 + minimum, abs=1e-7)
        np.testing.assert_allclose(codes[query], expected, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.2, 0.01])
def test_agrees_with_least_angle_regression(alpha):
    gram, cross = gaussian_problem(40, 5)
    codes = sparse_code(gram, cross, alpha)
    for query in range(5):
        # Its objective has ½‖·‖²/n, so its penalty is half of ours.
        _, _, path = lars_path_gram(
            cross[query], gram, n_samples=1, alpha_min=alpha / 2, method="lasso"
        )
        np.testing.assert_allclose(codes[query], path[:, -1], atol=1e-9)


def test_one_atom_is_soft_thresholding():
    gram, cross = np.array([[4.0]]), np.array([[3.0], [-3.0], [0.5], [-0.5]])
    np.testing.assert_allclose(sparse_code(gram, cross, 2.0), [[0.5], [-0.5], [0.0], [0.0]])
    np.testing.assert_allclose(
        sparse_code(gram, cross, 2.0, positive=True), [[0.5], [0.0], [0.0], [0.0]]
    )


def test_alpha_from_lambda_max_on_gives_zero_and_just_below_does_not():
    gram, cross = gaussian_problem(30, 8)
    largest = 2 * np.abs(cross).max(axis=1)
    codes, certificate = sparse_code(gram, cross, largest, return_certificate=True)
    assert not codes.any()
    assert (certificate.rounds == 0).all()
    np.testing.assert_allclose(certificate.objective, 1.0)
    assert (certificate.duality_gap <= 1e-15).all()
    assert (sparse_code(gram, cross, 0.999 * largest) != 0).any(axis=1).all()


def test_alpha_zero_solves_the_linear_system():
    gram, cross = gaussian_problem(25, 6, width=1.0)
    codes = sparse_code(gram, cross, 0.0)
    np.testing.assert_allclose(codes @ gram, cross, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_zero_cross_gives_a_zero_code(alpha):
    gram, cross = gaussian_problem(10, 3)
    cross[1] = 0
    codes, certificate = sparse_code(gram, cross, alpha, return_certificate=True)
    assert not codes[1].any()
    assert certificate.objective[1] == 1.0
    assert certificate.kkt_residual[1] == 0.0


def test_alpha_may_differ_from_query_to_query():
    gram, cross = gaussian_problem(50, 4)
    alphas = np.array([0.3, 0.1, 0.01, 0.001])
    codes = sparse_code(gram, cross, alphas)
    for query, alpha in enumerate(alphas):
        alone = sparse_code(gram, cross[[query]], alpha)
        np.testing.assert_array_equal(codes[[query]], alone)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2])
def test_duplicate_and_nearly_duplicate_atoms(distance, alpha, positive):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((15, 4))
    atoms = np.vstack([points, points + distance * rng.standard_normal(points.shape), points[:3]])
    queries = rng.standard_normal((6, 4))
    everything = np.vstack([atoms, queries, points[:2]])
    gram, cross = gaussian_kernel(everything, everything, len(atoms))
    gram = (gram + gram.T) / 2
    # Without a penalty, atoms 1e-7 apart get codes of 1e7: rounding alone may exceed the tolerance.
    hopeless = alpha == 0 and 1e-9 < distance < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if hopeless else "error", ConvergenceWarning)
        codes = sparse_code(gram, cross, alpha, positive=positive)
    assert_optimal(gram, cross, alpha, codes, positive, tol=1e-6 if hopeless else 1e-8)


def test_an_exact_duplicate_is_not_used_beside_its_twin():
    gram, cross = gaussian_problem(8, 5)
    twice = np.r_[0:8, 0:8]
    codes = sparse_code(gram[np.ix_(twice, twice)], cross[:, twice], 0.05)
    assert not (codes[:, :8] * codes[:, 8:]).any()
    np.testing.assert_allclose(codes[:, :8] + codes[:, 8:], sparse_code(gram, cross, 0.05))


def test_rank_one_gram():
    direction = np.array([1.0, -2.0, 0.5, 3.0])
    codes = sparse_code(np.outer(direction, direction), 0.7 * direction[None], 0.1)
    np.testing.assert_allclose(codes, [[0, 0, 0, (0.7 * 3 - 0.05) / 9]], atol=1e-12)


def test_supports_larger_than_the_first_capacity_of_the_factor():
    gram, cross = gaussian_problem(400, 3, dimension=12)
    codes = sparse_code(gram, cross, 1e-6)
    assert ((codes != 0).sum(1) > 150).all()
    assert_optimal(gram, cross, 1e-6, codes)


@pytest.mark.slow
def test_many_atoms():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10_500, 3)).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    gram = features @ features.T
    cross = features[:4] @ features.T
    codes = sparse_code(gram, cross, 0.5, sparse=True, check_gram=False)
    assert codes.dtype == np.float32
    assert codes.nnz < 40
    assert_optimal(gram, cross, 0.5, codes.toarray(), tol=1e-5)


def features_and_query():
    shapes = st.tuples(st.integers(1, 5), st.integers(1, 9))
    entries = st.integers(-3, 3).map(float) | st.floats(-3, 3, width=16)
    return shapes.flatmap(
        lambda shape: st.tuples(arrays(float, shape, elements=entries), st.integers(0, 2**32 - 1))
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(features_and_query(), st.sampled_from([1e-6, 1e-3, 0.1, 1.0]), st.booleans())
def test_any_gram_of_features_is_solved(drawn, relative_alpha, positive):
    """Small integers give duplicates, opposite atoms, zero atoms, ties and every rank."""
    features, seed = drawn
    gram = features.T @ features
    if not gram.diagonal().any():
        return
    queries = np.random.default_rng(seed).integers(-3, 4, (3, len(features))).astype(float)
    cross = queries @ features
    alpha = relative_alpha * 2 * np.abs(cross).max(axis=1)
    codes, certificate = sparse_code(
        gram, cross, alpha, positive=positive, query_norm=(queries**2).sum(1),
        return_certificate=True,
    )  # fmt: skip
    assert_optimal(gram, cross, alpha, codes, positive)
    assert (certificate.duality_gap <= 1e-5 * (queries**2).sum(1) + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
@pytest.mark.parametrize("n_atoms", [150, 600])
def test_objective_falls_strictly_in_every_round(n_atoms, alpha, positive):
    gram, cross = gaussian_problem(n_atoms, 10)
    _, last = sparse_code(gram, cross, alpha, positive=positive, return_certificate=True)
    objectives, residuals = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rounds in range(last.rounds.max() + 1):
            codes, certificate = sparse_code(
                gram, cross, alpha, positive=positive, max_rounds=rounds, return_certificate=True
            )
            objectives.append(objective(gram, cross, alpha, codes))
            residuals.append(certificate.kkt_residual)
            np.testing.assert_array_equal(certificate.converged, last.rounds <= rounds)
            # The gap bounds the distance from the minimum from the first round on.
            assert (certificate.duality_gap >= objectives[-1] - last.objective - 1e-12).all()
    falls = -np.diff(objectives, axis=0)
    assert (falls > -1e-15).all()
    visible = np.array(residuals[:-1]) > 1e-6  # below that the fall drowns in rounding
    assert (falls[visible] > 0).all()
    assert visible.sum() > len(cross)


def test_what_is_left_undone_is_reported():
    gram, cross = gaussian_problem(100, 7)
    with pytest.warns(ConvergenceWarning, match=r"7 of 7 codes .* max_rounds=1 ") as record:
        _, certificate = sparse_code(gram, cross, 0.001, max_rounds=1, return_certificate=True)
    assert record[0].filename == __file__
    assert not certificate.converged.any()
    assert f"{certificate.kkt_residual.max():.2g}"[:3] in str(record[0].message)


def test_a_problem_without_minimum_is_reported():
    gram = np.ones((2, 2))
    with pytest.warns(ConvergenceWarning, match="range of gram"):
        sparse_code(gram, [[1.0, -1.0]], 0.1)


@pytest.mark.parametrize("alpha", [1.9, 0.1])
def test_indefinite_gram_is_refused(alpha):
    gram = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    for positive in (False, True):
        with pytest.raises(ValueError, match=r"eigenvalue is -0\.27.*'clip', 'flip' or 'shift'"):
            sparse_code(gram, np.ones((1, 3)), alpha, positive=positive)


def test_indefinite_block_met_by_the_search_is_refused():
    gram = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    with pytest.raises(ValueError, match=r"met at query 1.*'clip'"):
        sparse_code(gram, [[0.0, 0.0, 0.0], [1.0, -1.0, 1.0]], 0.01, check_gram=False)


def test_indefinite_block_is_met_in_whatever_order_many_atoms_are_coded():
    gram, cross = np.eye(300), np.eye(300)[::-1][:5].copy()
    gram[0, 1] = gram[1, 0] = 2.0
    cross[3, :2] = 1.0, -1.0
    with pytest.raises(ValueError, match=r"met at query 3.*'clip'"):
        sparse_code(gram, cross, 0.01, check_gram=False)


def test_positive_codes_over_an_unchecked_indefinite_gram_are_stationary():
    gram = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    cross = np.array([[0.9, 0.1, 0.8], [0.1, 0.9, 0.1]])
    codes = sparse_code(gram, cross, 0.05, positive=True, check_gram=False)
    assert_optimal(gram, cross, 0.05, codes, positive=True)


@pytest.mark.parametrize("scale", [2.0**-40, 1e-12, 1e12, 1e-150, 1e150])
def test_the_scale_of_the_kernel_does_not_matter(scale):
    gram, cross = gaussian_problem(60, 6)
    expected = sparse_code(gram, cross, 0.01)
    codes = sparse_code(scale * gram, scale * cross, scale * 0.01)
    np.testing.assert_allclose(codes, expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(codes != 0, expected != 0)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_codes_are_homogeneous_in_cross_and_alpha(scale):
    gram, cross = gaussian_problem(60, 6)
    codes = sparse_code(gram, scale * cross, scale * 0.01)
    np.testing.assert_allclose(codes / scale, sparse_code(gram, cross, 0.01), atol=1e-12)


@pytest.mark.parametrize("n_atoms", [40, 500])
def test_codes_do_not_depend_on_threads_or_on_other_queries(n_atoms):
    gram, cross = gaussian_problem(n_atoms, 300)
    codes = sparse_code(gram, cross, 0.01)
    np.testing.assert_array_equal(codes, sparse_code(gram, cross, 0.01, n_jobs=2))
    np.testing.assert_array_equal(codes, sparse_code(gram, cross, 0.01, n_jobs=-1))
    np.testing.assert_array_equal(codes[::-7], sparse_code(gram, cross[::-7], 0.01))


@pytest.mark.parametrize("positive", [False, True])
def test_any_start_leads_to_the_same_codes(positive):
    gram, cross = gaussian_problem(50, 10, width=0.5)
    expected = sparse_code(gram, cross, 0.02, positive=positive)
    rng = np.random.default_rng(3)
    start = rng.standard_normal(expected.shape) * (rng.random(expected.shape) < 0.4)
    for init in (start, scipy.sparse.csr_matrix(start), start.astype(np.float32), 1e3 * start):
        codes = sparse_code(gram, cross, 0.02, positive=positive, init=init)
        np.testing.assert_allclose(codes, expected, atol=1e-10)


def test_the_solution_is_a_start_that_needs_no_round():
    gram, cross = gaussian_problem(50, 10)
    codes = sparse_code(gram, cross, 0.02)
    again, certificate = sparse_code(gram, cross, 0.02, init=codes, return_certificate=True)
    np.testing.assert_array_equal(again, codes)
    assert not certificate.rounds.any()


def test_a_start_on_duplicate_atoms():
    gram, cross = gaussian_problem(8, 5)
    twice = np.r_[0:8, 0:8]
    gram, cross = gram[np.ix_(twice, twice)], cross[:, twice]
    codes = sparse_code(gram, cross, 0.05, init=np.ones_like(cross))
    assert_optimal(gram, cross, 0.05, codes)


def test_sparse_output():
    gram, cross = gaussian_problem(40, 30)
    dense = sparse_code(gram, cross, 0.05)
    codes, certificate = sparse_code(gram, cross, 0.05, sparse=True, return_certificate=True)
    assert scipy.sparse.issparse(codes)
    assert codes.format == "csr"
    np.testing.assert_array_equal(codes.toarray(), dense)
    np.testing.assert_array_equal(certificate.n_nonzero, (dense != 0).sum(1))


@pytest.mark.parametrize("sparse", [False, True])
def test_no_queries(sparse):
    gram, cross = gaussian_problem(6, 0)
    codes, certificate = sparse_code(gram, cross, 0.1, sparse=sparse, return_certificate=True)
    assert codes.shape == (0, 6)
    assert certificate.objective.shape == (0,)


GRAM, CROSS = gaussian_problem(5, 4)


def test_progress_bar(capsys):
    sparse_code(GRAM, CROSS, 0.1, progress=True)
    assert "sparse coding: 100%" in capsys.readouterr().err


def test_excluded_atoms_are_as_if_they_were_not_there() -> None:
    rng = np.random.default_rng(3)
    points = rng.standard_normal((30, 4))
    gram = np.exp(-0.2 * ((points[:, None] - points) ** 2).sum(-1))
    codes, certificate = sparse_code(
        gram, gram, 0.05, exclude=np.arange(30), return_certificate=True
    )
    assert certificate.converged.all()
    for i in range(30):
        others = np.delete(np.arange(30), i)
        alone = sparse_code(gram[np.ix_(others, others)], gram[i : i + 1, others], 0.05)
        np.testing.assert_allclose(np.delete(codes[i], i), alone[0], atol=1e-7)
    assert not codes.diagonal().any()
    warm = sparse_code(gram, gram, 0.05, exclude=np.arange(30), init=np.eye(30))
    np.testing.assert_allclose(warm, codes, atol=1e-7)
    for bad in (np.full(30, 30), np.full(29, -1), np.full(30, 0.5)):
        with pytest.raises(ValueError, match="exclude"):
            sparse_code(gram, gram, 0.05, exclude=bad)
