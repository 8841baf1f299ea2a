"""Storage for the lane kernels: the lower triangle in tile order, matrices side by side.

The rows of an n×n matrix are cut into a first block of ``n mod TILE`` rows and further blocks of ``TILE`` rows. A
block holds, for every column up to its last diagonal one, its entries of that column:

    for block: for column k in 0 … last column of the block: for row r of the block: A[r, k]

A factorisation by tiles then reads every operand front to back. The odd block comes first because its tiles have no
inner product to wait for: the work it wastes is negligible.
"""

import numpy as np
from numba import njit

from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, lane_count


def tile_order(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and column of every slot of the tile order."""
    odd = n % TILE
    heights = ([odd] if odd else []) + [TILE] * (n // TILE)
    rows, columns, first = [], [], 0
    for height in heights:
        for k in range(first + height):
            for r in range(first, first + height):
                rows.append(r)
                columns.append(k)
        first += height
    return np.array(rows), np.array(columns)


def aligned_empty(shape: tuple[int, ...], dtype) -> np.ndarray:
    """Return an uninitialised array that begins at a vector boundary."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape))
    buffer = np.empty(size + VECTOR_BYTES // dtype.itemsize, dtype)
    start = (-buffer.ctypes.data % VECTOR_BYTES) // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


@njit(cache=True, nogil=True)
def _fill_slots(X, rows, columns, factor, out):
    for i in range(X.shape[0]):
        for s in range(rows.shape[0]):
            out[i, s] = X[i, rows[s], columns[s]] * factor


@njit(cache=True, nogil=True)
def _fill_lanes(X, rows, columns, factor, out):
    lanes = out.shape[2]
    for block in range(out.shape[0]):
        for lane in range(lanes):
            # Lanes past the last matrix repeat it: they are computed and thrown away.
            i = min(block * lanes + lane, X.shape[0] - 1)
            for s in range(rows.shape[0]):
                out[block, s, lane] = X[i, rows[s], columns[s]] * factor


def pack_scalars(X: np.ndarray, order, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (m, slots), for matrices that are broadcast to all lanes."""
    out = aligned_empty((len(X), len(order[0])), X.dtype)
    _fill_slots(X, *order, X.dtype.type(factor), out)
    return out


def pack_lanes(X: np.ndarray, order, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (batches, slots, lanes): one matrix a lane."""
    lanes = lane_count(X.dtype)
    out = aligned_empty((-(-len(X) // lanes), len(order[0]), lanes), X.dtype)
    _fill_lanes(X, *order, X.dtype.type(factor), out)
    return out
