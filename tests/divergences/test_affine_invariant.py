from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.geometry.mean import mean_riemann

from _divergence_oracles import value as exact_value
from _matrices import random_spd, spd_stacks
from spdatoms import pairwise_divergence
from spdatoms.divergences import AffineInvariant
from spdatoms.native import lane_count

EPS = np.finfo(np.float64).eps
#: Columns that the kernel computes together: GROUP in eigenvalues.hpp.
WIDTH = 4 * lane_count(np.float64)

airm = AffineInvariant()


def airm2(X, Y=None, n_jobs=None) -> NDArray[np.floating]:
    return airm.pairwise(airm.prepare(X), None if Y is None else airm.prepare(Y), n_jobs=n_jobs)


def generalised_eigenvalues(X, Y) -> NDArray[np.float64]:
    values = [[np.log(scipy.linalg.eigvalsh(y, x)) for y in Y] for x in X]
    return (np.array(values) ** 2).sum(axis=-1)


def fifty_digits(X, Y) -> NDArray[np.float64]:
    """Σ log² λ by mpmath, of matrices of scale 1 (its Cholesky has an absolute tolerance)."""

    def distance(x, y):
        inverse = mpmath.cholesky(mpmath.matrix(x.tolist())) ** -1
        W = inverse * mpmath.matrix(y.tolist()) * inverse.T
        eigenvalues = mpmath.eigsy((W + W.T) / 2, eigvals_only=True)
        return float(sum(mpmath.log(eigenvalue) ** 2 for eigenvalue in eigenvalues))

    with mpmath.workdps(50):
        return np.array([[distance(x, y) for y in Y] for x in X])


def condition(*stacks) -> float:
    return max(np.linalg.cond(stack).max() for stack in stacks)


def assert_close(actual, expected, *stacks, eps: float = EPS) -> None:
    tolerance = max(1e-11 * eps / EPS, 2 * eps * condition(*stacks))
    np.testing.assert_allclose(actual, expected, rtol=min(tolerance, 0.1))


@pytest.mark.parametrize("n", [*range(1, 41), 64, 93, 160])
def test_every_size_agrees_with_scipy(n):
    X, Y = random_spd(2, n, seed=n), random_spd(3 if n > 40 else WIDTH + 1, n, seed=n + 1)
    assert_close(airm2(X, Y), generalised_eigenvalues(X, Y), X, Y)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH + 3])
@pytest.mark.parametrize("n", [3, 12])
def test_every_count_agrees_with_pyriemann(n, count):
    X, Y = random_spd(3, n, seed=count), random_spd(count, n, seed=count + 1)
    expected = pairwise_distance(X, Y, metric="riemann", squared=True)
    assert_close(airm2(X, Y), expected, X, Y)
    expected = pairwise_distance(Y, metric="riemann", squared=True)
    np.testing.assert_allclose(airm2(Y), expected, rtol=1e-11, atol=1e-20)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [None, 1e2, 1e4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 10])
def test_fifty_digits_at_any_condition(n, spread):
    X, Y = (random_spd(2, n, condition=spread, seed=seed) for seed in (n, n + 1))
    assert_close(airm2(X, Y), fifty_digits(X, Y), X, Y)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 22])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_both_does_not_matter(n, scale):
    X, Y = random_spd(3, n, seed=1), random_spd(4, n, seed=2)
    assert_close(airm2(scale * X, scale * Y), generalised_eigenvalues(X, Y), X, Y)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_scale_of_one_adds_its_logarithm(n):
    X, Y = random_spd(3, n, seed=1), random_spd(4, n, seed=2)
    logs = np.array([[np.log(scipy.linalg.eigvalsh(y, x)) for y in Y] for x in X])
    expected = ((logs + np.log(1e300)) ** 2).sum(axis=-1)
    assert_close(airm2(1e-150 * X, 1e150 * Y), expected, X, Y)


def test_units_of_the_variables_do_not_matter():
    X, Y = random_spd(3, 4, seed=1), random_spd(4, 4, seed=2)
    units = np.array([1e-60, 1.0, 1e5, 1e40])
    scaled = airm2(X * units * units[:, None], Y * units * units[:, None])
    np.testing.assert_allclose(scaled, airm2(X, Y), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 12, 30])
def test_diagonal_matrices_are_logarithms(n):
    """Tridiagonal from the start: nothing may be divided by the zeros off the diagonal."""
    rng = np.random.default_rng(n)
    x, y = rng.uniform(-3, 3, (3, n)), rng.uniform(-3, 3, (5, n))
    X, Y = (np.exp(logs)[:, :, None] * np.eye(n) for logs in (x, y))
    expected = ((x[:, None] - y) ** 2).sum(axis=-1)
    np.testing.assert_allclose(airm2(X, Y), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 12, 43])
def test_equal_and_nearly_equal_matrices(n):
    X = random_spd(WIDTH + 2, n, seed=n)
    equal = airm2(X, X.copy())
    assert (equal >= 0).all()
    assert equal.diagonal().max() <= n * (10 * EPS * condition(X)) ** 2
    nudge = 1e-9
    near = airm2(X, (1 + nudge) * X).diagonal()
    np.testing.assert_allclose(near, n * np.log1p(nudge) ** 2, rtol=1e-5)
    identity = np.broadcast_to(np.eye(n), (3, n, n))
    assert (airm2(identity, identity) == 0).all()


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_eigenvalues_that_coincide(n):
    X = np.eye(n)[None] + np.ones((n, n))
    np.testing.assert_allclose(airm2(X, np.eye(n)[None])[0, 0], np.log(n + 1) ** 2, rtol=1e-13)


@pytest.mark.parametrize("m", [1, 5, WIDTH + 3, 70])
def test_half_is_mirrored(m):
    X = random_spd(m, 5, seed=m)
    D = airm2(X)
    assert (D == D.T).all()
    assert (D.diagonal() == 0).all()
    np.testing.assert_allclose(D, airm2(X, X), rtol=1e-12, atol=1e-25)


@pytest.mark.parametrize("n", [3, 22])
def test_threads_do_not_change_the_result(n, monkeypatch):
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._BLOCK_WORK", 20 * (n + 5) ** 3)
    X, Y = random_spd(30, n, seed=1), random_spd(20, n, seed=2)
    assert (airm2(X, Y) == airm2(X, Y, n_jobs=2)).all()
    assert (airm2(X) == airm2(X, n_jobs=2)).all()


@pytest.mark.parametrize("n", [3, 12])
def test_single_precision(n):
    X, Y = (random_spd(9, n, seed=seed, dtype=np.float32) for seed in (1, 2))
    expected = generalised_eigenvalues(X.astype(float), Y.astype(float))
    for D in (airm2(X, Y), airm2(Y, X).T):
        assert D.dtype == np.float32
        assert_close(D, expected, X, Y, eps=np.finfo(np.float32).eps)
    assert airm2(X).dtype == np.float32
    assert airm2(X, Y.astype(np.float64)).dtype == np.float64


def test_any_strides_and_read_only():
    X = random_spd(6, 5, seed=1)
    expected = airm2(X)
    strided = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    strided.flags.writeable = False
    assert (airm2(strided) == expected).all()


def test_ill_conditioned_pairs_in_every_block(monkeypatch):
    """The pairs that are left open are found again by index, block by block, within a set too."""
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._BLOCK_WORK", 1)
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._BLOCK_BYTES", 8 * 9 * 4)
    X = random_spd(WIDTH + 3, 3, seed=1)
    X[::4] = random_spd(len(X[::4]), 3, condition=1e9, seed=2)
    expected = fifty_digits(X[:2], X)
    D = airm2(X)
    for i in range(2):
        np.testing.assert_allclose(np.delete(D[i], i), np.delete(expected[i], i), rtol=1e-7)


def opposite_units(ratio, n):
    """Return two well conditioned matrices, all but for the units, and λ = ratio^±2, 1, …, 1."""
    x = np.ones(n)
    x[0], x[-1] = ratio, 1 / ratio
    return np.diag(x)[None], np.diag(1 / x)[None]


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e7, 1e20])
def test_pairs_that_only_singular_values_answer(n, ratio):
    X, Y = opposite_units(ratio, n)
    np.testing.assert_allclose(airm2(X, Y), 2 * np.log(ratio**2) ** 2, rtol=1e-12)


def test_pairs_in_other_units_have_all_digits():
    """The variances of one matrix relative to those of another span twenty orders of magnitude."""
    rng = np.random.default_rng(4)
    X = random_spd(4, 4, seed=3)
    units = 10.0 ** rng.uniform(-5, 5, (4, 1, 4))
    X = X * (units * units.swapaxes(1, 2))
    expected = [[exact_value("riemann", A, B) for B in X] for A in X]
    np.testing.assert_allclose(airm2(X), expected, rtol=1e-13, atol=1e-30)
    np.testing.assert_allclose(airm2(X[:2], X), expected[:2], rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_a_pair_without_answer_raises(n):
    X, Y = (np.repeat(matrix, 3, axis=0) for matrix in opposite_units(1e150, n))
    Y[0] = X[0]
    with pytest.raises(ValueError, match="bring the variables to common units"):
        airm2(X, Y)


@settings(max_examples=50, deadline=None)
@given(X=spd_stacks(max_m=6), seed=st.integers(0, 99))
def test_invariance(X, seed):
    """AIRM(X, Y) = AIRM(X⁻¹, Y⁻¹) = AIRM(A X Aᵀ, A Y Aᵀ)."""
    n = X.shape[1]
    expected = airm2(X)
    tolerance = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(airm2(np.linalg.inv(X)), expected, **tolerance)
    A = np.random.default_rng(seed).standard_normal((n, n)) + 3 * np.eye(n)
    np.testing.assert_allclose(airm2(A @ X @ A.T), expected, **tolerance)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_centre_is_a_step_of_karchers_iteration(scale):
    X = random_spd(12, 4, seed=3)
    weights = np.linspace(1, 2, 12)
    C = X[0]
    for _ in range(40):
        C = airm.centre(airm.prepare(scale * X), weights, scale * C) / scale
    np.testing.assert_allclose(C, mean_riemann(X, sample_weight=weights, tol=1e-12), rtol=1e-9)


def test_centre_with_a_negative_weight():
    """Of numbers it is the weighted mean of logarithms, whatever the signs."""
    z, weights = np.array([2.0, 8.0, 0.5, 3.0]), np.array([1.0, 2.0, -0.5, 0.0])
    C = airm.centre(airm.prepare(z[:, None, None]), weights, np.array([[5.0]]))
    np.testing.assert_allclose(np.log(C[0, 0]), weights @ np.log(z) / weights.sum(), rtol=1e-13)


def test_a_matrix_beyond_the_range_of_numbers_is_refused_in_words() -> None:
    X = np.diag([1e-300, 1.0, 1e300])[None]
    with pytest.raises(ValueError, match="orders of magnitude"):
        pairwise_divergence(X, metric="riemann")


@pytest.mark.parametrize("m", [2, 3, 4, 9, 14])
@pytest.mark.parametrize("n", [33, 64, 210])
def test_few_large_matrices(n, m):
    """Their pairs have lanes of their own, whatever the threads."""
    X = random_spd(m, n, condition=1e3, seed=n)
    X[0] *= 1e-100
    X[-1] = random_spd(1, n, condition=1e8)[0]  # whose pairs need their inverses, too
    found = airm2(X)
    np.testing.assert_allclose(found, airm2(X, X.copy()), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found[0, 1:], generalised_eigenvalues(X[:1], X[1:])[0], rtol=1e-7)
    assert (found == found.T).all()
    assert (found.diagonal() == 0).all()
    assert (found == airm2(X, n_jobs=2)).all()


def graded_and_ill_conditioned(n, m):
    """Return m matrices, of which the second is D X D with a wide D, and the third has the condition 1e13."""
    X, D = random_spd(m, n, condition=1e3, seed=n), np.geomspace(1, 1e-9, n)
    X[1] *= D * D[:, None]
    X[2] = random_spd(1, n, condition=1e13)[0]
    return X


@pytest.mark.parametrize(("n", "m"), [(33, 9), (48, 4)])
def test_few_large_matrices_of_any_condition(n, m):
    """The kernel leaves pairs of theirs open, or has too few digits of them."""
    X = graded_and_ill_conditioned(n, m)
    found, expected = airm2(X), airm2(X, X.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    assert (found == found.T).all()
    assert (found == airm2(X, n_jobs=2)).all()


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_few_large_matrices_of_any_condition_agree_with_mpmath(pair):
    X = graded_and_ill_conditioned(33, 4)
    assert airm2(X)[pair] == pytest.approx(exact_value("riemann", *X[list(pair)]), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1.0])
def test_large_matrices_by_lapack(scale, monkeypatch):
    X = random_spd(6, 5, condition=1e6)
    X[2] *= scale
    expected = airm2(X), airm2(X[:4], X[2:])
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._LARGEST_NATIVE", 4)
    for found, compiled in zip((airm2(X), airm2(X[:4], X[2:])), expected, strict=True):
        np.testing.assert_allclose(found, compiled, rtol=1e-10, atol=1e-12)
