"""Sums of inverses over the pairs that a sparse matrix uses: (i, r) with w_ir ≠ 0.

A code uses a few atoms of many, so most pairs of a sample and an atom do not matter for the update of
the atom, and are never touched. The matrices of the others are gathered into the lanes of one batch
after another, so that a sparse code costs what its non-zeros cost.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats, Indices
from spdatoms.geometry import batched
from spdatoms.geometry.half_vectors import tile_entries
from spdatoms.geometry.triangles import entry_weights
from spdatoms.native import lane_count
from spdatoms.native.interleave import flat, flat_order, lanes_of


def columns_of_entries(matrix: scipy.sparse.csc_array) -> Indices:
    """Return the column of every entry."""
    return np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))


def with_values(matrix: scipy.sparse.csc_array, values: Floats) -> scipy.sparse.csc_array:
    """Return a matrix with the same pattern and other values."""
    return scipy.sparse.csc_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def columns(matrix: scipy.sparse.csc_array, chosen: Indices) -> scipy.sparse.csc_array:
    """Return some columns, without a copy if that is all of them."""
    return matrix if len(chosen) == matrix.shape[1] else matrix[:, chosen]


def column_sums(matrix: scipy.sparse.csc_array) -> Floats:
    """Return the sums of the columns."""
    sums = np.bincount(columns_of_entries(matrix), matrix.data, matrix.shape[1])
    return np.asarray(sums, np.float64)


def in_batches(
    matrix: scipy.sparse.csc_array,
) -> tuple[Indices, NDArray[np.bool_], Indices, Indices]:
    """Arrange the entries of a sparse matrix, column by column, a whole number of batches of lanes for each.

    Return which entry is in every lane, whether it is no copy that fills up the last batch of a column, and where the
    batches of each column begin and end.
    """
    lanes = lane_count(np.float64)
    starts = matrix.indptr.astype(np.int64)
    counts = np.diff(starts)
    batches = -(-counts // lanes)
    ends = np.cumsum(batches)
    begins = ends - batches
    room = batches * lanes
    place = np.arange(room.sum()) - np.repeat(begins * lanes, room)
    last = np.repeat(counts - 1, room)
    entries = np.repeat(starts[:-1], room) + np.minimum(place, last)
    return entries, place <= last, begins, ends


def weighted_inverse_sums(X: Floats, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
    """Return Σ_i w_ir (X_i + D_r)⁻¹ as half-vectors with weights √2, shape (B, n(n+1)/2)."""
    sums, factors = scaled_inverse_sums(X, weights, D)
    _, rows, cols = tile_entries(X.shape[-1])
    return np.asarray(sums * entry_weights(rows, cols) * factors[:, None])


def scaled_inverse_sums(
    X: Floats, weights: scipy.sparse.csc_array, D: Floats
) -> tuple[Floats, Floats]:
    """Return Σ_i w_ir (f_r·(X_i + D_r))⁻¹ as half-vectors without weights, and the f_r.

    These are powers of two that bring atoms near one, where no reciprocal overflows.
    """
    entries, used, begins, ends = in_batches(weights)
    chosen = weights.indices[entries].astype(np.int64)
    return _summed(X, chosen, begins, ends, np.where(used, weights.data[entries], 0.0), D)


def scaled_inverse_sum(X: Floats, weights: Floats, D: Floats) -> tuple[Floats, Floats]:
    """Return the same for one D (n, n) and weights (m,) of all X."""
    chosen = lanes_of(len(X), lane_count(np.float64))
    own = np.zeros(len(chosen))
    own[: len(X)] = weights
    ends = np.array([len(chosen) // lane_count(np.float64)])
    return _summed(X, chosen, np.zeros(1, np.int64), ends, own, D[None])


def _summed(
    X: Floats, chosen: Indices, begins: Indices, ends: Indices, weights: Floats, D: Floats
) -> tuple[Floats, Floats]:
    """Return `scaled_inverse_sums` for the X that are ``chosen`` for the lanes of batches; each D has some of them."""
    factors = np.ldexp(1.0, -np.frexp(np.einsum("rii->r", D))[1])
    totals = np.zeros((len(D), len(flat_order(X.shape[-1]))))
    batched.add_weighted_inverses(D, factors, flat(X), chosen, begins, ends, weights, totals)
    if np.isnan(totals).any():
        raise ValueError("A sum X_i + D_r is not positive definite: ask check_spd about both.")
    return totals[:, tile_entries(X.shape[-1])[0]], factors
