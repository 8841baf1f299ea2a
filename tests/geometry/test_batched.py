"""Batched determinants and inverses: what is not positive definite is detected, though nobody checked it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from _matrices import random_spd
from spdatoms.divergences.atom_sums import weighted_inverse_sums
from spdatoms.geometry import batched


def log_determinants_of_sums(X, Y):
    shifts_x, shifts_y = np.zeros(len(X), X.dtype), np.zeros(len(Y), X.dtype)
    lanes = batched.Lanes(Y, 1.0)
    return batched.log_determinants(X, lanes, 1.0, shifts_x, shifts_y, floor=0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bad_pivots_are_detected(dtype):
    """A pivot that is negative, zero, NaN or infinite, at any place, in one matrix of many."""
    sizes = (1, 2, 3, 5, 12, 22) if dtype is np.float32 else (*range(1, 26), 43)
    for n in sizes:
        X, Y = (np.repeat(np.eye(n, dtype=dtype)[None], count, axis=0) for count in (3, 13))
        for at in {0, n // 2, n - 1}:
            for value in (-3.0, -1.0, np.nan, np.inf):
                bad = Y.copy()
                bad[6, at, at] = value
                with pytest.raises(ValueError, match="not positive definite"):
                    log_determinants_of_sums(X, bad)
                with pytest.raises(ValueError, match="not positive definite"):
                    log_determinants_of_sums(bad, X)
                if value < 0 and dtype is np.float64:
                    with pytest.raises(ValueError, match="Matrix 6 is not positive definite"):
                        batched.inverse(bad)


@pytest.mark.slow
def test_indefinite_with_positive_diagonal_is_detected():
    for n in (2, 3, 5, 8, 12, 16, 20, 43):
        Y = random_spd(9, n)
        eigenvalues, U = np.linalg.eigh(Y[4])
        # Two negative eigenvalues leave a positive determinant.
        eigenvalues[:2] = -0.05
        Y[4] = (U * eigenvalues) @ U.T
        zero = np.zeros((1, n, n))
        message = r"\(the first is 0, 4\)"
        with pytest.raises(ValueError, match=message):
            log_determinants_of_sums(zero, Y)
        with pytest.raises(ValueError, match="Matrix 4 is not positive definite"):
            batched.inverse(Y)
        with pytest.raises(ValueError, match="not positive definite"):
            batched.careful_log_determinant(Y[4], Y[4])
        with pytest.raises(ValueError, match="not positive definite"):
            weighted_inverse_sums(Y, scipy.sparse.csc_array(np.ones((9, 1))), zero)


@pytest.mark.parametrize(("n", "dtype"), [(2, np.float64), (5, np.float32), (5, np.float64)])
def test_the_matrix_without_an_inverse_is_counted_from_the_first_of_all(n, dtype, monkeypatch):
    """Not from the first of those that are inverted at a time."""
    monkeypatch.setattr(batched, "_PREPARE_BYTES", 1)
    X = np.repeat(np.eye(n, dtype=dtype)[None], 40, axis=0)
    X[33, -1, -1] = -1.0
    with pytest.raises(ValueError, match="Matrix 33 is not positive definite"):
        batched.half_vectors_with_inverses(X)
