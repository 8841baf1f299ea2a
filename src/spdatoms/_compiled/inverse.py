"""(X + Y_j)⁻¹ for a batch of Y, one matrix per lane, by block Gauss–Jordan sweeps.

Sweeping the pivot block K of a symmetric matrix A,

    A_IJ ← A_IJ − A_IK A_KK⁻¹ A_KJ,   A_IK ← A_IK A_KK⁻¹,   A_KK ← −A_KK⁻¹     (I, J ≠ K),

for every block in turn leaves −A⁻¹ in its place. It takes n³ flops, works in the lower triangle alone, and every
step is a product of tiles. A pivot that is not positive makes the whole inverse NaN.

The products with A_KK⁻¹ go through its factors, A_KK = L D Lᵀ, as in a Cholesky factorisation: with the inverse itself
the error of A_IJ would grow with the condition of A_KK, and that of the whole with the square of A's condition.
"""

from numba import types

from spdatoms._compiled.interleave import collect, gather, row_block_start, scatter
from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, emitted
from spdatoms._compiled.translate import address, translated

#: Up to this size the sweeps are straight-line code.
SMALL_SIZE = 8


class Sweeps:
    """One matrix per lane, in tile order, with room for U = A_IK L⁻ᵀ and V = U D⁻¹, where A_KK = L D Lᵀ."""

    def __init__(self, v, odd, blocks, work, panels):
        self.v, self.odd, self.blocks, self.work = v, odd, blocks, work
        self.columns = panels
        self.products = panels + (blocks * TILE + odd) * (TILE * VECTOR_BYTES)

    def tile(self, row, column):
        """Return the address of tile (row, column); ``None`` is the odd block before block 0."""
        if row is None:
            return self.work
        start = row_block_start(row, self.odd)
        if column is not None:
            start = start + (column * TILE + self.odd) * TILE
        return self.work + start * VECTOR_BYTES

    def height(self, block):
        """Return the number of rows of a block."""
        return self.odd if block is None else TILE

    def others(self, pivot):
        """Iterate over the row blocks except the pivot's, with whether they lie below it."""
        if pivot is not None:
            if self.odd:
                yield None, False
            for block in self.v.steps(pivot):
                yield block, False
        after = self.v.integer(0) if pivot is None else pivot + 1
        for step in self.v.steps(self.blocks - after):
            yield after + step, True

    def panel(self, base, block):
        """Return where a block's rows of U or of V are kept."""
        first = self.v.integer(0) if block is None else block * TILE + self.odd
        return base + first * (TILE * VECTOR_BYTES)

    def read(self, address, height, width, *, transposed=False):
        """Load a tile, stored by columns (or by rows if transposed), as entries (r, c)."""
        load = self.v.load
        return {
            (r, c): load(address + (r * width + c if transposed else c * height + r) * VECTOR_BYTES)
            for c in range(width)
            for r in range(height)
        }

    def write(self, entries, address, height, width, *, transposed=False):
        """Store what `read` loads."""
        for (r, c), value in entries.items():
            slot = r * width + c if transposed else c * height + r
            self.v.store(value, address + slot * VECTOR_BYTES)

    def pivot(self, K):
        """Sweep one block."""
        v, width = self.v, self.height(K)
        v.forget()
        pivot_tile = self.read(self.tile(K, K), width, width)
        inverse, factors, inverse_pivots = self.inverted(pivot_tile, width)
        self.write(
            {at: v.sub(v.constant(0.0), entry) for at, entry in inverse.items()},
            self.tile(K, K),
            width,
            width,
        )
        for block, below in self.others(K):
            height = self.height(block)
            address = self.tile(block, K) if below else self.tile(K, block)
            column = self.read(address, height, width, transposed=not below)
            U, V = self.halfway(column, factors, inverse_pivots, height, width)
            self.write(U, self.panel(self.columns, block), height, width)
            self.write(V, self.panel(self.products, block), height, width)
            W = self.solved(V, factors, height, width)
            self.write(W, address, height, width, transposed=not below)
        for block, below in self.others(K):
            self.update_row(block, K, below, width)

    def update_row(self, block, pivot, below, width):
        """A_IJ ← A_IJ − V_I U_Jᵀ for all J ≤ I of row block I but the pivot's."""
        v, height = self.v, self.height(block)
        v.forget()
        V = self.read(self.panel(self.products, block), height, width)

        def update(J):
            U = self.panel(self.columns, J)
            address = self.tile(block, J)
            columns = self.height(J)
            for c in range(columns):
                factors = [v.load(U + (k * columns + c) * VECTOR_BYTES) for k in range(width)]
                for r in range(height):
                    at = address + (c * height + r) * VECTOR_BYTES
                    entry = v.load(at)
                    for k, factor in enumerate(factors):
                        entry = v.fnma(V[r, k], factor, entry)
                    v.store(entry, at)

        if block is None:
            update(None)
            return
        if self.odd and pivot is not None:
            update(None)
        left = pivot if below and pivot is not None else v.integer(0)
        for J in v.steps(left):
            update(J)
        after = left + 1 if below and pivot is not None else left
        for step in v.steps(block + 1 - after):
            update(after + step)

    def halfway(self, P, factors, inverse_pivots, height, width):
        """Return U = P L⁻ᵀ and V = U D⁻¹."""
        v, U, V = self.v, {}, {}
        for r in range(height):
            for c in range(width):
                U[r, c] = P[r, c]
                for k in range(c):
                    U[r, c] = v.fnma(U[r, k], factors[c, k], U[r, c])
                V[r, c] = v.mul(U[r, c], inverse_pivots[c])
        return U, V

    def solved(self, V, factors, height, width):
        """Return W = V L⁻¹."""
        v, W = self.v, {}
        for r in range(height):
            for c in reversed(range(width)):
                W[r, c] = V[r, c]
                for k in range(c + 1, width):
                    W[r, c] = v.fnma(W[r, k], factors[k, c], W[r, c])
        return W

    def inverted(self, A, size):
        """Return the inverse of a tile, by sweeping one column at a time, and its factors L and D⁻¹."""
        v = self.v
        factors, inverse_pivots = {}, []
        for k in range(size):
            positive = v.greater(A[k, k], v.constant(0.0))
            p = v.select(positive, v.reciprocal(A[k, k]), v.constant(float("nan")))
            row = {j: v.mul(A[max(j, k), min(j, k)], p) for j in range(size) if j != k}
            inverse_pivots.append(p)
            factors.update({(j, k): row[j] for j in range(k + 1, size)})
            for i in row:
                for j in row:
                    if j <= i:
                        A[i, j] = v.fnma(row[i], A[max(j, k), min(j, k)], A[i, j])
            for j, entry in row.items():
                A[max(j, k), min(j, k)] = entry
            A[k, k] = v.sub(v.constant(0.0), p)
        negative = {at: v.sub(v.constant(0.0), A[at]) for at in A if at[0] >= at[1]}
        inverse = {(r, c): negative[max(r, c), min(r, c)] for r in range(size) for c in range(size)}
        return inverse, factors, inverse_pivots


def program(n: int) -> tuple[int, int]:
    """Return the number that selects the program for n×n matrices, and the loop count it needs."""
    return (n, 0) if n <= SMALL_SIZE else (SMALL_SIZE + 1 + n % TILE, n // TILE)


@emitted
def _negative_inverse(v, selected, blocks, work, panels):
    if selected <= SMALL_SIZE:
        blocks, odd = v.integer(selected // TILE), selected % TILE
    else:
        odd = selected - SMALL_SIZE - 1
    sweeps = Sweeps(v, odd, blocks, work, panels)
    if odd:
        sweeps.pivot(None)
    for block in v.steps(blocks):
        sweeps.pivot(block)


@emitted
def _add_broadcast(v, selected, count, x, y, out):
    for slot in v.steps(count):
        total = v.add(v.broadcast(x + slot * v.itemsize), v.load(y + slot * VECTOR_BYTES))
        v.store(total, out + slot * VECTOR_BYTES)


def panels_size(n: int, lanes: int) -> int:
    """Return how many numbers of scratch the sweeps of one batch need."""
    return 2 * n * TILE * lanes


@translated(types.void)
def invert(tag, scalar, blocks, Y, panels):
    """Overwrite every batch of Y, in tile order, by the *negative* inverses of its matrices."""
    for b in range(Y.shape[0]):
        _negative_inverse(tag, scalar, blocks, address(Y[b]), address(panels))


@translated(types.void)
def stack_with_inverses(
    tag, scalar, blocks, X, chosen, places, slots, weights, negative_weights, one, work, panels, out
):  # fmt: skip
    """Write the entries at these slots, times their weights, of X_i and of X_i⁻¹ side by side as row i of ``out``.

    Lane k of all batches takes the matrix X[chosen[k]], and there is a row for every lane.
    """
    lanes, count = work.shape[1], slots.shape[0]
    item_bytes = VECTOR_BYTES // lanes
    row_bytes, space = out.shape[1] * item_bytes, address(work)
    for b in range(chosen.shape[0] // lanes):
        row = address(out[b * lanes])
        scatter(
            tag, scalar, X.shape[1], address(X), address(chosen[b * lanes :]), X.shape[1] * item_bytes,
            address(places), address(one), space,
        )  # fmt: skip
        # The same code for both, emitted once.
        for inverted in range(2):
            scales = address(weights)
            if inverted == 1:
                _negative_inverse(tag, scalar, blocks, space, address(panels))
                scales = address(negative_weights)
            target = row + inverted * count * item_bytes
            collect(tag, scalar, count, space, address(slots), scales, row_bytes, target)


@translated(types.void)
def add_weighted_inverses(
    tag, scalar, blocks, X, factors, Y, chosen, entries, begins, ends, weights, panels, work, totals
):  # fmt: skip
    """Add Σ_j w_j (factors[i]·(X_i + Y_j))⁻¹ to ``totals[i]``, over the batches ``begins[i] … ends[i] − 1`` of Y.

    Lane k of all batches holds the matrix Y[chosen[k]] and has the weight w_k. ``X`` holds factors[i]·X_i, in tile
    order like the totals.
    """
    slots, lanes = work.shape
    for i in range(X.shape[0]):
        for b in range(begins[i], ends[i]):
            gather(Y, chosen[b * lanes :], entries, factors[i], lanes, work[0])
            space = address(work)
            _add_broadcast(tag, scalar, slots, address(X[i]), space, space)
            _negative_inverse(tag, scalar, blocks, space, address(panels))
            for s in range(slots):
                total = totals[i, s]
                for lane in range(lanes):
                    total -= weights[b * lanes + lane] * work[s, lane]
                totals[i, s] = total
