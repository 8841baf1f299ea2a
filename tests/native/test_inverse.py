"""Inverses of many matrices, against NumPy's."""

import numpy as np
import pytest

from spdatoms.geometry.batched import (
    Lanes,
    add_weighted_inverses,
    half_vectors_with_inverses,
    inverse,
    pair_inverse_sums,
)
from spdatoms.native import lane_count
from spdatoms.native.interleave import flat, tile_order

LANES = lane_count(np.float64)


def definite(count, n, seed=0):
    A = np.random.default_rng([n, seed]).standard_normal((count, n, n + 2))
    return A @ A.transpose(0, 2, 1) / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", range(1, 41))
@pytest.mark.parametrize("count", [1, 11])
def test_inverse(n, count):
    X = definite(count, n)
    np.testing.assert_allclose(inverse(X), np.linalg.inv(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", range(1, 41))
def test_side_by_side_with_the_matrices(n):
    X = definite(LANES + 3, n)
    rows, columns = tile_order(n)
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))[rows >= columns]
    both = np.concatenate([X, np.linalg.inv(X)]).reshape(2, len(X), n, n)
    half = both[:, :, rows, columns][..., rows >= columns] * weights
    np.testing.assert_allclose(
        half_vectors_with_inverses(X), np.hstack(half), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("n", range(1, 41))
def test_weighted_sums(n):
    rng = np.random.default_rng(n)
    X, Y = definite(2, n), definite(5, n, seed=1)
    factors, weights = np.array([0.5, 2.0]), rng.standard_normal(3 * LANES)
    chosen, begins, ends = rng.integers(5, size=3 * LANES), np.array([0, 1]), np.array([1, 3])
    rows, columns = tile_order(n)
    totals = np.ones((2, len(rows)))
    add_weighted_inverses(X, factors, flat(Y), chosen, begins, ends, weights, totals)
    for i in range(2):
        lanes = slice(begins[i] * LANES, ends[i] * LANES)
        inverses = np.linalg.inv(factors[i] * (X[i] + Y[chosen[lanes]]))
        expected = 1.0 + np.einsum("k,kij->ij", weights[lanes], inverses)
        np.testing.assert_allclose(totals[i], expected[rows, columns], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", range(1, 41))
def test_sums_over_all_pairs(n):
    rng = np.random.default_rng(n)
    X, Y = definite(3, n), definite(2 * LANES + 3, n, seed=1)
    weights = rng.standard_normal((len(X), len(Y)))
    inverses = np.linalg.inv(X[:, None] + Y)
    for sums, expected in zip(
        pair_inverse_sums(0.25 * X, Lanes(0.25 * Y, 4.0), 4.0, weights),
        (
            np.einsum("ij,ijab->iab", weights, inverses),
            np.einsum("ij,ijab->jab", weights, inverses),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(sums, 4.0 * expected, rtol=1e-9, atol=1e-9)


def test_sums_over_pairs_that_are_not_definite_are_refused():
    X = definite(3, 5)
    X[1, 2, 2] = -100.0
    with pytest.raises(ValueError, match="is not positive definite"):
        pair_inverse_sums(X, Lanes(definite(4, 5), 1.0), 1.0, np.ones((3, 4)))


@pytest.mark.parametrize("n", range(1, 20))
def test_a_pivot_that_is_not_positive_spoils_its_matrix_alone(n):
    for place in range(n):
        X = definite(7, n)
        X[3, place, place] = -10.0
        with pytest.raises(ValueError, match="Matrix 3 is not positive definite"):
            inverse(X)
