"""Storage for the lane kernels: the lower triangle in tile order, matrices side by side (interleave.hpp)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spdatoms.native import TILE, VECTOR_BYTES, address_of, kernels, lane_count

_pack_scalars = kernels("pack_scalars", "TqqIqdT")
_pack_lanes = kernels("pack_lanes", "TqIqIqdT")
_read_lanes = kernels("read_lanes", "TqqITqT")


@cache
def tile_order(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    return np.array(rows, np.int64), np.array(columns, np.int64)


@cache
def flat_order(n: int) -> NDArray[np.int64]:
    """Return the entry of every slot of the tile order, in an n×n matrix row by row."""
    rows, columns = tile_order(n)
    return rows * n + columns


@cache
def places_of(n: int) -> NDArray[np.int64]:
    """Return the slot of every entry of an n×n matrix, row by row.

    An entry above the diagonal that has no slot gets that of its mirror image, which comes later and replaces it.
    """
    places = np.full((n, n), -1, np.int64)
    places.flat[flat_order(n)] = np.arange(len(flat_order(n)))
    return np.where(places < 0, places.T, places).ravel()


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array that begins at a vector boundary."""
    dtype, size = np.dtype(dtype), prod(shape)
    buffer = np.empty(size + VECTOR_BYTES // dtype.itemsize, dtype)
    start = -address_of(buffer) % VECTOR_BYTES // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


def flat(X: NDArray[Any]) -> NDArray[Any]:
    """Return matrices as rows of an array without gaps."""
    rows = X.reshape(len(X), X.shape[1] ** 2)
    if rows.flags.c_contiguous and rows.flags.aligned:
        return rows  # np.require takes longer to find this out than a small matrix takes
    return np.require(rows, X.dtype, ["C", "A"])


def lanes_of(count: int, lanes: int) -> NDArray[np.int64]:
    """Return the matrix in every lane: lanes past the last matrix repeat it, and are thrown away."""
    return np.minimum(np.arange(-(-count // lanes) * lanes), count - 1)


def _flat_blocks(X: NDArray[Any], multiple: int = 1) -> Iterator[tuple[int, NDArray[Any]]]:
    """Cut X into blocks of about a megabyte, all but the last a multiple of this many matrices."""
    size = max(1, (1 << 20) // (X.itemsize * X.shape[1] ** 2 * multiple)) * multiple
    for start in range(0, len(X), size):
        yield start, flat(X[start : start + size])


def pack_scalars(X: NDArray[Any], factor: float) -> NDArray[Any]:
    """Return ``factor·X`` in tile order, shape (m, slots), for matrices that are broadcast to all lanes."""
    entries = flat_order(X.shape[-1])
    out = aligned_empty((len(X), len(entries)), X.dtype)
    for start, block in _flat_blocks(X):
        target = out[start : start + len(block)]
        _pack_scalars(X.dtype)(block, *block.shape, entries, len(entries), factor, target)
    return out


def pack_lanes(X: NDArray[Any], factor: float) -> NDArray[Any]:
    """Return ``factor·X`` in tile order, shape (batches, slots, lanes): one matrix per lane."""
    n, lanes = X.shape[-1], lane_count(X.dtype)
    places, slots = places_of(n), len(flat_order(n))
    out = aligned_empty((-(-len(X) // lanes), slots, lanes), X.dtype)
    for start, block in _flat_blocks(X, lanes):
        chosen = lanes_of(len(block), lanes)
        batches = out[start // lanes :][: len(chosen) // lanes]
        _pack_lanes(X.dtype)(block, n * n, chosen, len(batches), places, slots, factor, batches)
    return out


def read_lanes(
    packed: NDArray[Any], slots: NDArray[np.int64], scales: NDArray[Any], out: NDArray[Any]
) -> None:
    """Write the entries at these slots, each times its scale, as row i of ``out`` for matrix i of the batches."""
    _read_lanes(packed.dtype)(packed, packed.shape[1], len(out), slots, scales, len(slots), out)
