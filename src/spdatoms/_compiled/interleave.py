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

from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, emitted, lane_count
from spdatoms._compiled.translate import address, translated


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


@cache
def places_of(n: int) -> np.ndarray:
    """Return the slot of every entry of an n×n matrix, row by row.

    An entry above the diagonal that has no slot gets that of its mirror image, which comes later and replaces it.
    """
    places = np.full((n, n), -1)
    places.flat[flat_order(n)] = np.arange(len(flat_order(n)))
    return np.where(places < 0, places.T, places).ravel()


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


def starts_of_blocks(v, count):
    """Iterate over where blocks of as many entries as lanes begin; the last may overlap the one before."""
    for block in v.steps(count.halved(v.lanes.bit_length() - 1)):
        yield block * v.lanes
    yield count - v.lanes


@emitted
def scatter(v, size, count, source, chosen, row_bytes, places, factor, out):
    """Write entry e of factor·X[chosen[lane]] to lane of vector places[e], for all of ``count`` entries e."""
    scale = v.broadcast(factor)
    rows = [source + v.number(chosen + 8 * lane) * row_bytes for lane in range(v.lanes)]
    for first in starts_of_blocks(v, count):
        loaded = [v.load(row + first * v.itemsize) for row in rows]
        for offset, entry in enumerate(v.transposed(loaded)):
            place = v.number(places + (first + offset) * 8)
            v.store(v.mul(entry, scale), out + place * VECTOR_BYTES)


@emitted
def collect(v, size, count, source, places, scales, row_bytes, out):
    """Write entry p of row i: that in lane i of vector places[p], times scales[p], for all of ``count`` entries p."""
    for first in starts_of_blocks(v, count):
        vectors = []
        for offset in range(v.lanes):
            place = v.number(places + (first + offset) * 8)
            scale = v.broadcast(scales + (first + offset) * v.itemsize)
            vectors.append(v.mul(v.load(source + place * VECTOR_BYTES), scale))
        for lane, row in enumerate(v.transposed(vectors)):
            v.store(row, out + row_bytes * lane + first * v.itemsize)


@translated(types.void)
def _fill_lanes(tag, scalar, X, chosen, entries, places, factor, out):
    lanes, count = out.shape[2], X.shape[1]
    for b in range(out.shape[0]):
        if count < lanes:
            gather(X, chosen[b * lanes :], entries, factor[0], lanes, out[b, 0])
        else:
            bytes_of_row = count * (VECTOR_BYTES // lanes)
            scatter(
                tag, scalar, count, address(X), address(chosen[b * lanes :]), bytes_of_row, address(places),
                address(factor), address(out[b]),
            )  # fmt: skip


@translated(types.void)
def read_lanes(tag, scalar, Y, slots, scale, out):
    """Write the entries at these slots, each times its scale, as row i of ``out`` for matrix i of the batches."""
    lanes, count = Y.shape[2], slots.shape[0]
    bytes_of_row = count * (VECTOR_BYTES // lanes)
    for block in range(Y.shape[0]):
        first = block * lanes
        if count >= lanes and first + lanes <= out.shape[0]:
            collect(
                tag, scalar, count, address(Y[block]), address(slots), address(scale), bytes_of_row,
                address(out[first]),
            )  # fmt: skip
        else:
            for i in range(first, min(first + lanes, out.shape[0])):
                for p in range(count):
                    out[i, p] = Y[block, slots[p], i - first] * scale[p]


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
    n, lanes = X.shape[-1], lane_count(X.dtype)
    entries, scale = flat_order(n), np.array([factor], X.dtype)
    out = aligned_empty((-(-len(X) // lanes), len(entries), lanes), X.dtype)
    for start, block in _flat_blocks(X, lanes):
        chosen = lanes_of(len(block), lanes)
        batches = out[start // lanes :][: len(chosen) // lanes]
        _fill_lanes((), X.dtype.type(0), block, chosen, entries, places_of(n), scale, batches)
    return out
