"""Congruences of matrices in lanes, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from _matrices import random_spd
from spdatoms._compiled.congruence import (
    LANES,
    gather,
    gram_of,
    transform_fully,
    transform_halves,
)


@njit
def congruences(T, U, atoms, factors, chosen, stack, halves, entries):
    groups = gather(atoms, factors, chosen, len(chosen), stack)
    transform_halves(T, groups, halves)
    transform_fully(T, groups, U, entries)
    return gram_of(halves)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 26])
def test_congruences_and_their_gram_matrix(n) -> None:
    rng = np.random.default_rng(n)
    D, factors, chosen = random_spd(15, n), rng.uniform(1.0, 2.0, 15), rng.permutation(15)[:11]
    T, U = np.tril(rng.standard_normal((n, n))), np.triu(rng.standard_normal((n, n)))
    stack, entries = np.full((2, n, n, LANES), np.nan), np.full((2, n * n, LANES), np.nan)
    halves = np.full((2, n * (n + 1) // 2, LANES), np.nan)
    H = congruences(T, U, D, factors, chosen, stack, halves, entries)
    A = D[chosen] / factors[chosen, None, None]
    symmetric = T @ A @ T.T
    weighted = symmetric * np.where(np.eye(n) > 0, 1.0, np.sqrt(2.0))
    rows, columns = np.tril_indices(n)
    by_atom = [V.transpose(0, 2, 1).reshape(2 * LANES, -1) for V in (halves, entries)]
    np.testing.assert_allclose(by_atom[0][:11], weighted[:, rows, columns], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        by_atom[1][:11], (T @ A @ U.T).reshape(11, -1), rtol=1e-10, atol=1e-10
    )
    assert not by_atom[0][11:].any()
    gram = np.einsum("iab,jab->ij", symmetric, symmetric)
    np.testing.assert_allclose(H[:11, :11], gram, rtol=1e-10, atol=1e-10 * gram.max())
