"""Geometric medians: against brute force, pyRiemann, the median on the line, and the optimality condition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.median import median_euclid, median_riemann
from sklearn.exceptions import ConvergenceWarning

from _hermitian import random_hpd
from _matrices import assert_close, random_spd
from spdatoms import mean, pairwise_divergence
from spdatoms.divergences import median
from spdatoms.geometry import log_map, norm


def _roots(X):
    """Return the square roots of matrices."""
    values, U = np.linalg.eigh(X)
    return (U * np.sqrt(values)[:, None]) @ U.swapaxes(1, 2)


def _cholesky_logarithms(X):
    """Return Cholesky factors, with logarithms on their diagonals."""
    L = np.linalg.cholesky(X)
    diagonal = np.arange(X.shape[-1])
    L[:, diagonal, diagonal] = np.log(L[:, diagonal, diagonal])
    return L


#: Squared distances of matrices X to one matrix C in a set of its own, by their definitions.
SQUARES = {
    "riemann": lambda X, C: (np.log(np.linalg.eigvals(np.linalg.solve(C, X)).real) ** 2).sum(
        axis=1
    ),
    "wasserstein": lambda X, C: (
        np.trace(X + C, axis1=1, axis2=2) - 2.0 * np.sqrt(np.linalg.eigvals(X @ C).real).sum(axis=1)
    ),
    "logchol": lambda X, C: ((_cholesky_logarithms(X) - _cholesky_logarithms(C)) ** 2).sum((1, 2)),
    "poweuclid": lambda X, C: 4.0 * ((_roots(X) - _roots(C)) ** 2).sum((1, 2)),
}


@pytest.mark.parametrize("metric", SQUARES)
def test_brute_force_finds_nothing_better(metric) -> None:
    X, w = random_spd(7, 2), np.linspace(0.5, 1.5, 7)

    def cost(C):
        return float(w @ np.sqrt(np.maximum(SQUARES[metric](X, C[None]), 0.0)))

    def matrix(v):
        return scipy.linalg.expm(np.array([[v[0], v[1]], [v[1], v[2]]]))

    found = scipy.optimize.minimize(
        lambda v: cost(matrix(v)),
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-11},
    )
    C = median(X, metric, w)
    assert cost(C) <= found.fun * (1.0 + 1e-10)
    assert_close(C, matrix(found.x), 1e-4)


@pytest.mark.parametrize("make", [random_spd, random_hpd])
@pytest.mark.parametrize(
    ("metric", "theirs"), [("riemann", median_riemann), ("euclid", median_euclid)]
)
def test_medians_are_those_of_pyriemann(metric, theirs, make) -> None:
    X, w = make(12, 3), np.linspace(0.5, 2.0, 12)
    assert_close(median(X, metric), theirs(X, tol=1e-10, maxiter=400), 1e-7)
    expected = theirs(X, weights=w, tol=1e-10, maxiter=400)
    assert_close(median(X, metric, w), expected, 1e-7)


@pytest.mark.parametrize("condition", [10.0, 1e5])
def test_the_unit_vectors_to_all_matrices_add_up_to_zero(condition) -> None:
    X = random_spd(11, 4, condition=condition, seed=3)
    C = median(X)
    tangents = log_map(X, C)
    units = tangents / np.asarray(norm(tangents, C))[:, None, None]
    assert norm(units.mean(axis=0), C) < 1e-6


@settings(deadline=None, max_examples=8)
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=9).filter(lambda v: len(v) % 2 == 1))
def test_on_the_line_it_is_the_median(values) -> None:
    """Distances of 1×1 matrices exp(x) are |x − y|, and an odd number of them has one median."""
    X = np.exp(np.array(values, float))[:, None, None]
    expected = np.median(values)
    for metric in ("riemann", "logeuclid", "logchol"):
        assert np.log(median(X, metric)[0, 0]) == pytest.approx(expected, abs=1e-9)


def test_a_matrix_of_the_set_is_found_exactly() -> None:
    """The heaviest matrix is the median, as soon as it has half of the weight."""
    X = random_spd(9, 3)
    w = np.ones(9)
    w[4] = 8.5
    for metric in ("riemann", "euclid", "stein", "chol"):
        np.testing.assert_array_equal(median(X, metric, w), X[4])
    np.testing.assert_array_equal(median(X[:1]), X[0])
    np.testing.assert_array_equal(median(np.stack([X[0]] * 4)), X[0])


def test_steps_do_not_end_near_a_matrix_that_is_not_the_median() -> None:
    """On the way from the mean they pass the second of these so closely that they get short."""
    X = np.array([3.0994845e-05, 5.0881383e-05, 2.4013699e-04, 2.2938159e-05])
    C = float(median(X.reshape(-1, 1, 1), "stein")[0, 0])

    def cost(c):
        """Σ √S, where S of numbers is log cosh(½ log(x/c))."""
        return np.sqrt(np.log(np.cosh(0.5 * np.log(X / c)))).sum()

    nearby = C * np.exp(np.linspace(-0.01, 0.01, 20))
    assert cost(C) <= min(map(cost, nearby))


def test_outliers_hardly_move_it() -> None:
    X = random_spd(21, 3, condition=3.0)
    clean = median(X)
    spoilt = X.copy()
    spoilt[:6] *= 1e12
    assert pairwise_divergence(median(spoilt)[None], clean[None], "riemann") < 0.5
    assert pairwise_divergence(mean(spoilt, "riemann")[None], clean[None], "riemann") > 100.0


@pytest.mark.parametrize("metric", ["riemann", "euclid", "wasserstein", "logchol", "poweuclid"])
@pytest.mark.parametrize("exponent", [-498, 498])
def test_the_scale_does_not_matter(metric, exponent) -> None:
    X = random_spd(8, 3)
    if metric == "logchol":  # which knows the scale
        assert (np.linalg.eigvalsh(median(2.0**exponent * X, metric)) > 0).all()
        return
    expected = median(X, metric)
    assert_close(median(2.0**exponent * X, metric) * 2.0**-exponent, expected, 1e-8)


def test_weights_axes_and_single_precision() -> None:
    X = random_spd(10, 3)
    counts = np.array([1, 2, 0, 3, 1, 1, 2, 1, 0, 1])
    assert_close(median(X, "riemann", counts), median(np.repeat(X, counts, axis=0)), 1e-8)
    grid = X.reshape(2, 5, 3, 3)
    np.testing.assert_array_equal(median(grid, axis=1), [median(grid[0]), median(grid[1])])
    single = median(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_close(single, median(X), 1e-5)
    np.testing.assert_array_equal(median(X), median(X).T)


def test_the_words_of_its_errors() -> None:
    X = random_spd(8, 3)
    with pytest.warns(ConvergenceWarning, match="The riemann median did not converge in 2 steps"):
        median(X, max_iter=2)
    with pytest.raises(ValueError, match="The Thompson distance has no unique mean"):
        median(X, "thompson")
    with pytest.raises(ValueError, match="different matrices is too small for float64"):
        median(1e-200 * X, "euclid")
    with pytest.raises(ValueError, match="axis must be one of the leading dimensions"):
        median(X, axis=2)
