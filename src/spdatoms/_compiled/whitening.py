"""W = B Bᵀ with B = L⁻¹ M: the matrix Y = M Mᵀ seen from X = L Lᵀ, for a batch of Y, one a lane.

Both factors are lower triangular, so B and W cost n³/3 operations each: half of L⁻¹ Y L⁻ᵀ. Rows and
columns are cut into blocks of ``TILE``, the last of them filled up with zeros. L⁻¹ is stored by
blocks of rows and M by blocks of columns, in the order in which tiles of B read them; B is stored
as L⁻¹ is, and W row after row, its lower triangle only.
"""

from functools import cache

import numpy as np

from spdatoms._compiled.lanes import TILE, VECTOR_BYTES


def tile_count(n: int) -> int:
    """Return how many tiles it takes to cover n rows."""
    return -(-n // TILE)


def slot_count(n: int) -> int:
    """Return how many numbers a triangular factor takes, the zeros that fill up its tiles included."""
    tiles = tile_count(n)
    return TILE * TILE * tiles * (tiles + 1) // 2


def row_block_start(block):
    """Return the first slot of a block of rows, which ends with its diagonal tile."""
    return (block * (block + 1)).halved() * (TILE * TILE)


def column_block_start(block, tiles):
    """Return the first slot of a block of columns, which begins with its diagonal tile."""
    return (block * (tiles * 2 + 1 - block)).halved() * (TILE * TILE)


def triangle_start(row):
    """Return the first slot of a row of a lower triangle that is stored row after row."""
    return (row * (row + 1)).halved()


@cache
def factor_orders(n: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return (row, column) of every slot, of a factor by blocks of rows and of one by columns."""
    tiles, by_rows, by_columns = tile_count(n), [], []
    for block in range(tiles):
        inside = range(block * TILE, (block + 1) * TILE)
        by_rows += [(r, k) for k in range(inside.stop) for r in inside]
        by_columns += [(k, c) for k in range(inside.start, tiles * TILE) for c in inside]
    rows, columns = np.array(by_rows).T, np.array(by_columns).T
    return (rows[0], rows[1]), (columns[0], columns[1])


def emit_whitened(v, tiles, x, y, b, w):
    """Write W to ``w``, from L⁻¹ at ``x`` (scalars) and M at ``y``; ``b`` has room for B."""
    for block in v.steps(tiles):
        rows = row_block_start(block)
        for left in v.steps(block + 1):
            _factor_tile(v, tiles, block, left, x, y, b)
        for left in v.steps(block):
            tile = _inner_products(v, left, b + rows * VECTOR_BYTES, b)
            _store_tile(v, tile, block, left, w)
        tile = _inner_products(v, block, b + rows * VECTOR_BYTES, b)
        _store_tile(v, {(r, c): tile[r, c] for r, c in tile if r >= c}, block, block, w)


def _factor_tile(v, tiles, block, left, x, y, b):
    """B[r, c] = Σ_k L⁻¹[r, k]·M[k, c] for a tile; k runs from the tile's columns to its rows."""
    rows, columns = row_block_start(block), column_block_start(left, tiles)
    x = x + (rows + left * (TILE * TILE)) * v.itemsize
    y = y + columns * VECTOR_BYTES
    tile = _zero_tile(v)
    for step in v.steps(block + 1 - left):
        for k in range(TILE):
            slot = (step * TILE + k) * TILE
            ms = [v.load(y + (slot + c) * VECTOR_BYTES) for c in range(TILE)]
            for r in range(TILE):
                _accumulate(v, tile, r, v.broadcast(x + (slot + r) * v.itemsize), ms)
    start = rows + left * (TILE * TILE)
    for (r, c), entry in tile.items():
        v.store(v.get(entry), b + (start + (c * TILE + r)) * VECTOR_BYTES)


def _inner_products(v, left, rows, b):
    """W[r, c] = Σ_k B[r, k]·B[c, k] for a tile; k runs up to the tile's columns."""
    columns = b + row_block_start(left) * VECTOR_BYTES
    tile = _zero_tile(v)
    for step in v.steps(left + 1):
        for k in range(TILE):
            slot = (step * TILE + k) * TILE
            cs = [v.load(columns + (slot + c) * VECTOR_BYTES) for c in range(TILE)]
            for r in range(TILE):
                _accumulate(v, tile, r, v.load(rows + (slot + r) * VECTOR_BYTES), cs)
    return tile


def _zero_tile(v):
    zero = v.constant(0.0)
    return {(r, c): v.variable(zero) for r in range(TILE) for c in range(TILE)}


def _accumulate(v, tile, r, factor, others):
    for c, other in enumerate(others):
        v.set(tile[r, c], v.fma(factor, other, v.get(tile[r, c])))


def _store_tile(v, tile, block, left, w):
    for (r, c), entry in tile.items():
        slot = triangle_start(block * TILE + r) + (left * TILE + c)
        v.store(v.get(entry), w + slot * VECTOR_BYTES)


def emit_whitened_in_registers(v, n, x, y):
    """Return the entries of W as a dictionary, for matrices so small that loops do not pay."""
    by_rows, by_columns = factor_orders(n)
    X = {at: x + slot * v.itemsize for slot, at in enumerate(zip(*by_rows, strict=True))}
    Y = {at: y + slot * VECTOR_BYTES for slot, at in enumerate(zip(*by_columns, strict=True))}
    M = {(k, c): v.load(Y[k, c]) for k in range(n) for c in range(k + 1)}
    B, W = {}, {}
    for r in range(n):
        inverse = [v.broadcast(X[r, k]) for k in range(r + 1)]
        for c in range(r + 1):
            B[r, c] = _dot(v, inverse[c:], [M[k, c] for k in range(c, r + 1)])
        for c in range(r + 1):
            W[r, c] = _dot(v, [B[r, k] for k in range(c + 1)], [B[c, k] for k in range(c + 1)])
    return W


def _dot(v, a, b):
    total = v.mul(a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = v.fma(x, y, total)
    return total
