"""Storage for the lane kernels: the lower triangle in tile order, matrices side by side.

The rows of an n×n matrix are cut into a first block of ``n mod TILE`` rows and further blocks of ``TILE`` rows. A
block holds, for every column up to its last diagonal one, its entries of that column:

    for block: for column k in 0 … last column of the block: for row r of the block: A[r, k]

A factorisation by tiles then reads every operand front to back. The odd block comes first because its tiles have no
inner product to wait for: the work it wastes is negligible.
"""

from functools import cache
from math import prod

import numpy as np
from numba import types

from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, lane_count
from spdatoms._compiled.translate import translated


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


@cache
def flat_order(n: int) -> np.ndarray:
    """Return the entry of every slot of the tile order, in an n×n matrix row by row."""
    rows, columns = tile_order(n)
    return rows * n + columns


def row_block_start(block, odd: int):
    """Return the first slot of tile row number ``block`` (0 is the first one of full height)."""
    return odd * odd + block * (TILE * odd) + (block * (block + 1)).halved() * (TILE * TILE)


def aligned_empty(shape: tuple[int, ...], dtype) -> np.ndarray:
    """Return an uninitialised array that begins at a vector boundary."""
    dtype, size = np.dtype(dtype), prod(shape)
    buffer = np.empty(size + VECTOR_BYTES // dtype.itemsize, dtype)
    start = (-buffer.__array_interface__["data"][0] % VECTOR_BYTES) // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


def gather(X, chosen, entries, factor, lanes, out):
    """Fill a batch with entries of ``factor·X[chosen[lane]]``, one matrix per lane. (For compiled code.)"""
    for s in range(entries.shape[0]):
        entry = entries[s]
        for lane in range(lanes):
            out[s * lanes + lane] = X[chosen[lane], entry] * factor


@translated(types.void)
def _fill_slots(X, entries, factor, out):
    for i in range(X.shape[0]):
        for s in range(entries.shape[0]):
            out[i, s] = X[i, entries[s]] * factor


@translated(types.void)
def _fill_lanes(X, chosen, entries, factor, out):
    lanes = out.shape[2]
    for b in range(out.shape[0]):
        gather(X, chosen[b * lanes :], entries, factor, lanes, out[b, 0])


@translated(types.void)
def read_lanes(Y, slots, scale, out):
    """Write the entries at these slots, each times its scale, as row i of ``out`` for matrix i of the batches."""
    lanes = Y.shape[2]
    for i in range(out.shape[0]):
        block, lane = i // lanes, i % lanes
        for p in range(slots.shape[0]):
            out[i, p] = Y[block, slots[p], lane] * scale[p]


def flat(X: np.ndarray) -> np.ndarray:
    """Return matrices as rows of one type of array, whatever their strides and flags: one compilation serves all."""
    return np.require(X.reshape(len(X), X.shape[1] ** 2), X.dtype, ["C", "A", "W"])


def lanes_of(count: int, lanes: int) -> np.ndarray:
    """Return the matrix in every lane: lanes past the last matrix repeat it, and are thrown away."""
    return np.minimum(np.arange(-(-count // lanes) * lanes), count - 1)


def _flat_blocks(X: np.ndarray, multiple: int = 1):
    """Cut X into blocks of about a megabyte, all but the last a multiple of this many matrices."""
    size = max(1, (1 << 20) // (X.itemsize * X.shape[1] ** 2 * multiple)) * multiple
    for start in range(0, len(X), size):
        yield start, flat(X[start : start + size])


def pack_scalars(X: np.ndarray, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (m, slots), for matrices that are broadcast to all lanes."""
    entries = flat_order(X.shape[-1])
    out = aligned_empty((len(X), len(entries)), X.dtype)
    for start, block in _flat_blocks(X):
        _fill_slots(block, entries, float(factor), out[start : start + len(block)])
    return out


def pack_lanes(X: np.ndarray, factor: float) -> np.ndarray:
    """Return ``factor·X`` in tile order, shape (batches, slots, lanes): one matrix per lane."""
    lanes, entries = lane_count(X.dtype), flat_order(X.shape[-1])
    out = aligned_empty((-(-len(X) // lanes), len(entries), lanes), X.dtype)
    for start, block in _flat_blocks(X, lanes):
        chosen = lanes_of(len(block), lanes)
        batches = out[start // lanes :][: len(chosen) // lanes]
        _fill_lanes(block, chosen, entries, float(factor), batches)
    return out
