"""T A Tᵀ and T A Uᵀ for eight matrices A at a time, with triangular T and U: one matrix per lane.

The products are stored as V[g, k, i]: entry k of the matrix in lane i of group g.
"""

from __future__ import annotations

import numpy as np

from spdatoms._compiled.lanes import VECTOR_BYTES, emitted, size_tag
from spdatoms._compiled.small_matrices import ROOT_TWO, compiled

#: Matrices in a stack, and the bytes of an entry of all of them.
LANES, _WIDTH = 8, 64

# A tile of products has this many rows and columns; a matrix that is smaller has tiles of one entry.
_EDGE = 4 if VECTOR_BYTES == _WIDTH else 2
_TILE, _ENTRY = size_tag(_EDGE), size_tag(1)
# The rows of a tile of the Gram matrix, whose columns are lanes, and the entries that it sums at a time.
_ROWS, _SLICE = 2 * _EDGE, 256
_ROWS_TAG = size_tag(_ROWS)


@emitted
def _tile(v, edge, count, factors, vectors, n, out, down, across):
    """Store Σ_k F_rk · A_ck over 0 ≤ k < count at out + r·down + c·across for r, c < edge.

    F is a matrix of scalars, A one of vectors, both with rows of length n. All but count and n are
    addresses or bytes.
    """
    v = v.wide(_WIDTH // VECTOR_BYTES)
    entries = [(r, c) for r in range(edge) for c in range(edge)]
    totals = {entry: v.variable(v.constant(0.0)) for entry in entries}
    for k in v.steps(count):
        scalars = [v.broadcast(factors + (n * r + k) * 8) for r in range(edge)]
        columns = [v.load(vectors + (n * c + k) * _WIDTH) for c in range(edge)]
        for r, c in entries:
            v.set(totals[r, c], v.fma(scalars[r], columns[c], v.get(totals[r, c])))
    for r, c in entries:
        v.store(v.get(totals[r, c]), out + down * r + across * c)


@compiled
def gather(atoms, factors, chosen, count, stack):
    """Write stack[g, a, b, i] = D_j[a, b] / factors[j] with j = chosen[8g + i]: eight matrices side by side.

    Return the groups that are needed, the last one filled up with zeros.
    """
    groups, n = -(-count // LANES), atoms.shape[1]
    atom, weight = np.empty(LANES, np.int64), np.empty(LANES)
    for g in range(groups):
        for i in range(LANES):
            inside = g * LANES + i < count
            atom[i] = chosen[g * LANES + i] if inside else 0
            weight[i] = 1.0 / factors[atom[i]] if inside else 0.0
        for a in range(n):
            for b in range(n):
                for i in range(LANES):
                    stack[g, a, b, i] = atoms[atom[i], a, b] * weight[i]
    return stack[:groups]


# Of arrays that are known by their address alone numba would free the memory too early: an argument lives
# until the function ends. The last tile of a row or column begins so early that it fits, and does some
# entries again.


@compiled
def _rows_of_product(tile, T, i, matrices, columns, rows):
    """Write (TA)_rj to rows[r − i, j] for j < columns and a tile's rows from i on; A is symmetric, at an address."""
    n, edge = len(T), len(tile)
    for start in range(0, columns, edge):
        j = min(start, n - edge)
        # Row j of A is its column j.
        _tile(
            tile, 1.0, i + edge, T.ctypes.data + i * n * 8, matrices + j * n * _WIDTH, n,
            rows.ctypes.data + j * _WIDTH, n * _WIDTH, _WIDTH,
        )  # fmt: skip


@compiled
def _halves(tile, T, stack, rows, products, V):
    n, edge = len(T), len(tile)
    for g in range(len(stack)):
        for first in range(0, n, edge):
            i = min(first, n - edge)
            _rows_of_product(tile, T, i, stack.ctypes.data + g * n * n * _WIDTH, i + edge, rows)
            for start in range(0, i + edge, edge):
                j = min(start, n - edge)
                _tile(
                    tile, 1.0, j + edge, T.ctypes.data + j * n * 8, rows.ctypes.data, n,
                    products.ctypes.data + j * _WIDTH, _WIDTH, n * _WIDTH,
                )  # fmt: skip
            for r in range(i, i + edge):
                half = V[g, r * (r + 1) // 2 : (r + 1) * (r + 2) // 2]
                for j in range(r + 1):
                    weight = 1.0 if j == r else ROOT_TWO
                    for lane in range(LANES):
                        half[j, lane] = weight * products[r - i, j, lane]


@compiled
def _entries(tile, T, stack, U, rows, V):
    n, edge = len(T), len(tile)
    for g in range(len(stack)):
        entries = V[g]
        for first in range(0, n, edge):
            i = min(first, n - edge)
            _rows_of_product(tile, T, i, stack.ctypes.data + g * n * n * _WIDTH, n, rows)
            for start in range(0, n, edge):
                j = min(start, n - edge)
                _tile(
                    tile, 1.0, n - j, U.ctypes.data + j * (n + 1) * 8, rows.ctypes.data + j * _WIDTH, n,
                    entries.ctypes.data + (i * n + j) * _WIDTH, _WIDTH, n * _WIDTH,
                )  # fmt: skip


@compiled
def transform_halves(T, stack, V):
    """Write the half-vectors of T A Tᵀ to V[g, :, i], where T is lower triangular, A symmetric."""
    shape = (_EDGE, len(T), LANES)
    rows, products = np.empty(shape), np.empty(shape)
    if len(T) < _EDGE:
        _halves(_ENTRY, T, stack, rows, products, V)
    else:
        _halves(_TILE, T, stack, rows, products, V)


@compiled
def transform_fully(T, stack, U, V):
    """Write the entries of T A Uᵀ to V[g, :, i], T lower and U upper triangular, A symmetric."""
    rows = np.empty((_EDGE, len(T), LANES))
    if len(T) < _EDGE:
        _entries(_ENTRY, T, stack, U, rows, V)
    else:
        _entries(_TILE, T, stack, U, rows, V)


@emitted
def _add_products(v, size, count, left, right, out, stride):
    """Add Σ_k left[k, r] · right[k] at out + r·stride for r < size; all but count are addresses or bytes."""
    v = v.wide(_WIDTH // VECTOR_BYTES)
    totals = [v.variable(v.load(out + stride * r)) for r in range(size)]
    for k in v.steps(count):
        vector = v.load(right + k * _WIDTH)
        for r in range(size):
            v.set(
                totals[r], v.fma(v.broadcast(left + k * _WIDTH + r * 8), vector, v.get(totals[r]))
            )
    for r in range(size):
        v.store(v.get(totals[r]), out + stride * r)


@compiled
def gram_of(V):
    """Return H_ij = Σ_k V[·, k, i] V[·, k, j] over the matrices in the lanes of all groups."""
    groups, length = V.shape[:2]
    size = LANES * groups
    H = np.zeros((size, size))
    # A slice of all vectors stays in the cache.
    for start in range(0, length, _SLICE):
        count = min(_SLICE, length - start)
        for g in range(groups):
            for h in range(g + 1):
                for r in range(0, LANES, _ROWS):
                    _add_products(
                        _ROWS_TAG, 1.0, count,
                        V.ctypes.data + (g * length + start) * _WIDTH + r * 8,
                        V.ctypes.data + (h * length + start) * _WIDTH,
                        H.ctypes.data + ((g * LANES + r) * size + h * LANES) * 8, size * 8,
                    )  # fmt: skip
    for i in range(size):
        for j in range(i + 1, size):
            H[i, j] = H[j, i]
    return H
