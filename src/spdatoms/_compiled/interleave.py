"""Storage for the lane kernels: the lower triangle in tile order, matrices side by side.

The rows of an n×n matrix are cut into a first block of ``n mod TILE`` rows and further blocks of ``TILE`` rows. A
block holds, for every column up to its last diagonal one, its entries of that column:

    for block: for column k in 0 … last column of the block: for row r of the block: A[r, k]

A factorisation by tiles then reads every operand front to back. The odd block comes first because its tiles have no
inner product to wait for: the work it wastes is negligible.
"""

from functools import cache

import numpy as np

from spdatoms._compiled.jit import kept
from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, lane_count


@cache
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


def row_block_start(block, odd: int):
    """Return the first slot of tile row number ``block`` (0 is the first one of full height)."""
    return odd * odd + block * (TILE * odd) + (block * (block + 1)).halved() * (TILE * TILE)


def aligned_empty(shape: tuple[int, ...], dtype) -> np.ndarray:
    """Return an uninitialised array that begins at a vector boundary."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape))
    buffer = np.empty(size + VECTOR_BYTES // dtype.itemsize, dtype)
    start = (-buffer.ctypes.data % VECTOR_BYTES) // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


@kept
def _fill_slots(X, rows, columns, factor, out):
    for i in range(X.shape[0]):
        for s in range(rows.shape[0]):
            out[i, s] = X[i, rows[s], columns[s]] * factor


@kept
def _fill_lanes(X, first, rows, columns, factor, out):
    lanes = out.shape[2]
    for i in range(X.shape[0]):
        block, lane = divmod(first + i, lanes)
        for s in range(rows.shape[0]):
            out[block, s, lane] = X[i, rows[s], columns[s]] * factor


@kept
def read_lanes(Y, slots, scale, out):
    """Write the entries at these slots, each times its scale, as row i of ``out`` for matrix i of the batches."""
    lanes = Y.shape[2]
    for i in range(out.shape[0]):
        for p in range(slots.shape[0]):
            out[i, p] = Y[i // lanes, slots[p], i % lanes] * scale[p]


def _plain_blocks(X: np.ndarray):
    """Cut X into blocks of one array type, whatever its strides and flags, so that one compilation serves all."""
    size = max(1, (1 << 20) // (X.itemsize * X.shape[1] * X.shape[2]))
    for start in range(0, len(X), size):
        yield start, np.require(X[start : start + size], X.dtype, ["C", "A", "W"])


def pack_scalars(X: np.ndarray, order, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (m, slots), for matrices that are broadcast to all lanes."""
    out = aligned_empty((len(X), len(order[0])), X.dtype)
    for start, block in _plain_blocks(X):
        _fill_slots(block, *order, X.dtype.type(factor), out[start : start + len(block)])
    return out


def pack_lanes(X: np.ndarray, order, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (batches, slots, lanes): one matrix per lane."""
    lanes = lane_count(X.dtype)
    out = aligned_empty((-(-len(X) // lanes), len(order[0]), lanes), X.dtype)
    for start, block in _plain_blocks(X):
        _fill_lanes(block, start, *order, X.dtype.type(factor), out)
    # Lanes past the last matrix repeat it: they are computed and thrown away.
    used = len(X) % lanes
    if used:
        out[-1, :, used:] = out[-1, :, used - 1 : used]
    return out
