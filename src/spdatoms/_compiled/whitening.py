"""W = B Bᵀ with B = L⁻¹ M: the matrix Y = M Mᵀ seen from X = L Lᵀ, for a batch of Y, one per lane.

All factors are lower triangular, so B and W cost n³/3 operations each: half of L⁻¹ Y L⁻ᵀ. With B⁻¹
in place of B the eigenvalues of W become their reciprocals.

Rows and columns are cut into blocks of ``TILE``, the last of them filled up with zeros. L⁻¹ is
stored by blocks of rows and M by blocks of columns, in the order in which tiles of B read them; B is
stored as L⁻¹ is, and W row after row, its lower triangle only.
"""

from functools import cache

import numpy as np

from spdatoms._compiled.jit import compiled, kept
from spdatoms._compiled.lanes import TILE, VECTOR_BYTES


def tile_count(n: int) -> int:
    """Return how many tiles it takes to cover n rows."""
    return -(-n // TILE)


def slot_count(n: int) -> int:
    """Return how many numbers a triangular factor takes, with the zeros that fill up its tiles."""
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


@kept
def pack_factors(L, first, orders, inverses, factors):
    """Write L⁻¹ and L of the matrices ``first, first + 1, …`` to their slots, by rows and by columns."""
    n, lanes = L.shape[1], factors.shape[2]
    inverse = np.zeros((n, n))
    (rows, row_columns), (column_rows, columns) = orders
    for a in range(L.shape[0]):
        _invert_lower(L[a], inverse)
        i = first + a
        batch, lane = i // lanes, i % lanes
        for s in range(rows.shape[0]):
            r, c = rows[s], row_columns[s]
            inverses[i, s] = inverse[r, c] if r < n and c <= r else 0.0
            r, c = column_rows[s], columns[s]
            factors[batch, s, lane] = L[a, r, c] if r < n and c <= r else 0.0


@compiled
def _invert_lower(L, inverse):
    """Write the lower triangle of L⁻¹, row after row, by forward substitution."""
    for i in range(L.shape[0]):
        row = inverse[i]
        row[:i] = 0.0
        row[i] = 1.0
        for k in range(i):
            factor, known = L[i, k], inverse[k]
            for j in range(k + 1):
                row[j] -= factor * known[j]
        for j in range(i + 1):
            row[j] /= L[i, i]


def emit_product(v, tiles, x, y, b):
    """Write B = L⁻¹ M to ``b``, from L⁻¹ at ``x`` (scalars) and M at ``y``."""
    for block in v.steps(tiles):
        for left in v.steps(block + 1):
            _factor_tile(v, tiles, block, left, x, y, b)


def emit_gram(v, tiles, b, w):
    """Write the lower triangle of W = B Bᵀ to ``w``."""
    for block in v.steps(tiles):
        rows = b + row_block_start(block) * VECTOR_BYTES
        for left in v.steps(block):
            _store_tile(v, _inner_products(v, left, rows, b), block, left, w)
        tile = _inner_products(v, block, rows, b)
        _store_tile(v, {(r, c): tile[r, c] for r, c in tile if r >= c}, block, block, w)


def emit_inverse(v, tiles, b):
    """Replace B by R = B⁻¹: R_II = B_II⁻¹, then R_IJ = −R_II Σ_{J ≤ K < I} B_IK R_KJ, by tiles.

    A block of rows of B is read for the same rows of R only, from left to right: R takes its place.
    """
    for block in v.steps(tiles):
        rows = b + row_block_start(block) * VECTOR_BYTES
        diagonal = rows + block * (TILE * TILE * VECTOR_BYTES)
        corner = _inverse_corner(v, diagonal)
        for left in v.steps(block):
            tile = _zero_tile(v)
            for step in v.steps(block - left):
                factors = rows + (left + step) * (TILE * TILE * VECTOR_BYTES)
                known = b + row_block_start(left + step) * VECTOR_BYTES
                known = known + left * (TILE * TILE * VECTOR_BYTES)
                for k in range(TILE):
                    rs = [v.load(known + (c * TILE + k) * VECTOR_BYTES) for c in range(TILE)]
                    for r in range(TILE):
                        factor = v.load(factors + (k * TILE + r) * VECTOR_BYTES)
                        _accumulate(v, tile, r, factor, rs)
            target = rows + left * (TILE * TILE * VECTOR_BYTES)
            for c in range(TILE):
                column = [v.get(tile[k, c]) for k in range(TILE)]
                for r in range(TILE):
                    value = _dot(v, [corner[r, k] for k in range(r + 1)], column[: r + 1])
                    v.store(v.b.fneg(value), target + (c * TILE + r) * VECTOR_BYTES)


def _inverse_corner(v, diagonal):
    """Invert a diagonal tile, which is triangular, in its place and return the entries."""
    places = [(r, c) for r in range(TILE) for c in range(r + 1)]
    address = {(r, c): diagonal + (c * TILE + r) * VECTOR_BYTES for r, c in places}
    inverse = _inverse_entries(v, TILE, {at: v.load(address[at]) for at in places})
    for at in places:
        v.store(inverse[at], address[at])
    return inverse


def _inverse_entries(v, n, B):
    R = {}
    for r in range(n):
        R[r, r] = v.reciprocal(B[r, r])
        for c in range(r):
            known = _dot(v, [B[r, k] for k in range(c, r)], [R[k, c] for k in range(c, r)])
            R[r, c] = v.b.fneg(v.mul(R[r, r], known))
    return R


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


def emit_gram_in_registers(v, n, inverted, x, y):
    """Return the entries of W as a dictionary, for matrices so small that loops do not pay."""
    by_rows, by_columns = factor_orders(n)
    X = {at: x + slot * v.itemsize for slot, at in enumerate(zip(*by_rows, strict=True))}
    Y = {at: y + slot * VECTOR_BYTES for slot, at in enumerate(zip(*by_columns, strict=True))}
    M = {(k, c): v.load(Y[k, c]) for k in range(n) for c in range(k + 1)}
    B = {}
    for r in range(n):
        inverse = [v.broadcast(X[r, k]) for k in range(r + 1)]
        for c in range(r + 1):
            B[r, c] = v.variable(_dot(v, inverse[c:], [M[k, c] for k in range(c, r + 1)]))
    for _ in v.steps(inverted):
        R = _inverse_entries(v, n, {at: v.get(entry) for at, entry in B.items()})
        for at, entry in B.items():
            v.set(entry, R[at])
    rows = [[v.get(B[r, k]) for k in range(r + 1)] for r in range(n)]
    return {(r, c): _dot(v, rows[r][: c + 1], rows[c]) for r, c in B}


def _dot(v, a, b):
    total = v.mul(a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = v.fma(x, y, total)
    return total
