"""Log-determinants and sums of inverses over the pairs that a sparse matrix uses: (i, r) with w_ir ≠ 0.

The typed front of the gathered lane kernels. A code uses a few atoms of many, so most pairs of a
sample and an atom have no say in the update of the atom and are never touched.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._compiled import inverse as _inverse
from spdatoms._compiled import logdet as _logdet
from spdatoms._compiled import sparse_pairs as _gathered
from spdatoms._compiled.interleave import aligned_empty, pack_scalars, tile_order
from spdatoms._compiled.lanes import lane_count, size_tag
from spdatoms._utils.typing import Floats, Indices
from spdatoms.geometry.half_vectors import entry_weights, tile_entries


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


def _pattern(matrix: scipy.sparse.csc_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the columns start and the rows they use, in the type that was compiled for."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


def weighted_inverse_sums(X: Floats, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
    """Return Σ_i w_ir (X_i + D_r)⁻¹ as half-vectors with weights √2, shape (B, n(n+1)/2)."""
    n = X.shape[-1]
    selected, blocks = _inverse.program(n)
    order = tile_order(n)
    slots, lanes = len(order[0]), lane_count(np.float64)
    # A power of two for every atom brings it near one, where no reciprocal overflows.
    factors = np.ldexp(1.0, -np.frexp(np.einsum("rii->r", D))[1])
    totals = np.zeros((len(D), slots))
    _gathered.add_weighted_inverses_of_pairs(
        size_tag(selected),
        np.float64(0),
        blocks,
        X.reshape(len(X), -1),
        pack_scalars(D * factors[:, None, None], order, 1.0),
        factors,
        *_pattern(weights),
        weights.data,
        order[0] * n + order[1],
        aligned_empty((_inverse.panels_size(n, lanes),), np.float64),
        aligned_empty((slots, lanes), np.float64),
        totals,
    )
    if np.isnan(totals).any():
        raise ValueError("A sum X_i + D_r is not positive definite: ask check_spd about both.")
    picked, rows, cols = tile_entries(n)
    return np.asarray(totals[:, picked] * entry_weights(rows, cols) * factors[:, None])


def stein_divergences(
    X: Floats,
    logdets_x: Floats,
    pattern: scipy.sparse.csc_array,
    D: Floats,
    logdets_d: Floats,
    exponent: int,
) -> Floats:
    """Return S(X_i, D_r) for the entries of the pattern, in its order, given log det of both.

    The power of two 2^-exponent brings both sets to where products of pivots do not overflow.
    """
    n = X.shape[-1]
    selected, pairs = _logdet.program(n)
    order = tile_order(n)
    slots, lanes = len(order[0]), lane_count(np.float64)
    half = float(np.ldexp(1.0, -exponent - 1))
    out = np.empty(pattern.nnz)
    if not _gathered.logdets_of_pairs(
        size_tag(selected),
        np.float64(0),
        pairs,
        X.reshape(len(X), -1),
        pack_scalars(D, order, half),
        half,
        *_pattern(pattern),
        order[0] * n + order[1],
        0.5 * logdets_x - n * exponent * np.log(2.0),
        0.5 * logdets_d,
        np.zeros(1),
        aligned_empty((_logdet.scratch_size(n, slots, lanes),), np.float64),
        aligned_empty((slots, lanes), np.float64),
        out,
    ):
        raise ValueError("A sum X_i + D_r is not positive definite: ask check_spd about both.")
    return out
