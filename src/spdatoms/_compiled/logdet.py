"""log det(X_i + Y_j) for all pairs, by LDLᵀ factorisations of a batch of Y, one matrix per lane.

With U = L·D the rows of the factor obey U[r, c] = A[r, c] − Σ_{k<c} U[r, k]·L[c, k] and L[c, k] = U[c, k]/D[k]: no
square roots, one reciprocal per column. Pivots are multiplied, the exponent of the product is taken off every few of
them, and one logarithm at the end serves the whole matrix. A pivot that is not positive gives NaN, never a number.

Three programs, chosen by size: everything in registers (tiny), straight-line code by tiles (small), and loops over
tiles. The last two are one text, `_emit_factorisation`, emitted with known or unknown loop counts. Rows are taken two
tile rows at a time: both read the same part of L, so it comes from the second-level cache once for two uses, and
their chains of dependent operations overlap.
"""

import math
from itertools import pairwise

import numpy as np
from numba import types

from spdatoms._compiled.interleave import gather, row_block_start
from spdatoms._compiled.jit import kept
from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, emitted
from spdatoms._compiled.translate import address, translated

#: Up to these sizes a factorisation is kept in registers, or is straight-line code.
TINY_SIZE, SMALL_SIZE = 8, 16
#: Up to this size the entries of X stay in registers, too.
KEPT_SIZE = 6


def pivots_at_once(bits: int) -> int:
    """Return how many pivots are multiplied before the exponent of their product is taken off."""
    return 6 if bits == 64 else 4


class Determinant:
    """The running product of the pivots as mantissa and exponent, with the least pivot as witness."""

    def __init__(self, v):
        self.v = v
        self.product, self.exponent = v.constant(1.0), v.constant(0.0)
        self.least = v.constant(1.0)
        self.pending = 0

    def witness(self, value):
        """Remember a number that must be positive."""
        self.least = self.v.least(value, self.least)

    def include(self, minor, pivots=1):
        """Multiply the determinant by a principal minor worth this many pivots."""
        if self.pending + pivots > pivots_at_once(self.v.bits):
            self.normalise()
        self.witness(minor)
        self.product = self.v.mul(self.product, minor)
        self.pending += pivots

    def normalise(self):
        """Take the exponent off the product, so that it cannot overflow."""
        # 0·product is NaN where the product is not finite, and splitting would hide that.
        self.exponent = self.v.fma(self.product, self.v.constant(0.0), self.exponent)
        self.product, exponent = self.v.split(self.product)
        self.exponent = self.v.add(self.exponent, exponent)
        self.pending = 0

    def store(self, address):
        """Store product, exponent and least pivot side by side."""
        for index, value in enumerate((self.product, self.exponent, self.least)):
            self.v.store(value, address + index * VECTOR_BYTES)

    def load(self, address):
        """Take up again what was stored."""
        self.product, self.exponent, self.least = (
            self.v.load(address + index * VECTOR_BYTES) for index in range(3)
        )
        return self

    def checked(self):
        """Return the product, NaN where a pivot was not positive."""
        v = self.v
        positive = v.greater(self.least, v.constant(0.0))
        return v.select(positive, self.product, v.constant(float("nan")))


def _eliminate(v, A, size, det):
    """Return L and 1/D of a diagonal tile; A is overwritten.

    A division takes three times as long as a multiplication and every pivot waits for the one before, so up to three
    pivots are found at once as ratios of leading minors, whose reciprocals are independent of each other.
    """
    factors, inverses = {}, []
    for first in range(0, size, 3):
        step = range(first, min(first + 3, size))
        _eliminate_step(v, A, step, factors, inverses, det)
        for q in range(step.stop, size):
            # Rows of U below the step, then their products with the rows of L.
            for c in step:
                for k in range(first, c):
                    A[q, c] = v.fnma(A[q, k], factors[c, k], A[q, c])
                factors[q, c] = v.mul(A[q, c], inverses[c])
            for r in range(step.stop, q + 1):
                for c in step:
                    A[q, r] = v.fnma(A[q, c], factors[r, c], A[q, r])
    return factors, inverses


def _eliminate_step(v, A, step, factors, inverses, det):
    i, size = step.start, len(step)
    a = A[i, i]
    inverse = v.reciprocal(a)
    inverses.append(inverse)
    if size == 1:
        det.include(a)
        return
    b, d = A[i + 1, i], A[i + 1, i + 1]
    factors[i + 1, i] = v.mul(b, inverse)
    second = v.fnma(b, b, v.mul(a, d))
    inverse_second = v.reciprocal(second)
    inverses.append(v.mul(a, inverse_second))
    det.witness(a)
    if size == 2:
        det.include(second, pivots=2)
        return
    det.witness(second)
    e, f, g = A[i + 2, i], A[i + 2, i + 1], A[i + 2, i + 2]
    factors[i + 2, i] = v.mul(e, inverse)
    across = v.fnma(b, e, v.mul(a, f))
    factors[i + 2, i + 1] = v.mul(across, inverse_second)
    last = v.fnma(e, e, v.mul(a, g))
    third = v.fnma(across, across, v.mul(second, last))  # a times the determinant
    inverses.append(v.mul(v.mul(a, second), v.reciprocal(third)))
    det.include(v.mul(third, inverse), pivots=3)


class Factorisation:
    """Addresses of one factorisation: the inputs, and the scratch that holds U, L, 1/D and the determinant."""

    def __init__(self, v, odd, blocks, x, y, scratch):
        self.v, self.odd, self.x, self.y = v, odd, x, y
        size = blocks * TILE + odd
        self.determinant = scratch
        self.inverse_pivots = scratch + 3 * VECTOR_BYTES
        self.upper = self.inverse_pivots + size * VECTOR_BYTES
        self.row_bytes = size * (TILE * VECTOR_BYTES)
        self.lower = self.upper + self.row_bytes * 2

    def columns(self, block):
        """Iterate over the columns left of a block, a whole tile unrolled at a time."""
        for k in range(self.odd):
            yield self.v.integer(k)
        for tile in self.v.steps(block):
            for k in range(TILE):
                yield tile * TILE + (self.odd + k)

    def first_column(self, block):
        """Return the first column of a block's diagonal tile."""
        return block * TILE + self.odd

    def sums(self, start, first_column, height, width, lower):
        """Return variables with the entries of X + Y in a tile."""
        v, tile = self.v, {}
        for c in range(width):
            for r in range(c if lower else 0, height):
                slot = start + (first_column + c) * height + r
                x = v.broadcast(self.x + slot * v.itemsize)
                tile[r, c] = v.variable(v.add(v.load(self.y + slot * VECTOR_BYTES), x))
        return tile

    def diagonal(self, size, start, first_column, columns, upper):
        """Factor a diagonal tile: its pivots, and its rows of L."""
        v = self.v
        v.forget()
        lower = self.lower + start * VECTOR_BYTES
        tile = self.sums(start, first_column, size, size, lower=True)
        for k in columns:
            inverse = v.load(self.inverse_pivots + k * VECTOR_BYTES)
            us = [v.load(upper + (k * size + r) * VECTOR_BYTES) for r in range(size)]
            ls = [v.mul(u, inverse) for u in us]
            for c in range(size):
                v.store(ls[c], lower + (k * size + c) * VECTOR_BYTES)
                for r in range(c, size):
                    v.set(tile[r, c], v.fnma(us[r], ls[c], v.get(tile[r, c])))
        A = {at: v.get(entry) for at, entry in tile.items()}
        det = Determinant(v).load(self.determinant)
        factors, inverses = _eliminate(v, A, size, det)
        for c in range(size):
            v.store(inverses[c], self.inverse_pivots + (first_column + c) * VECTOR_BYTES)
            for r in range(c + 1, size):
                slot = (first_column + c) * size + r
                v.store(factors[r, c], lower + slot * VECTOR_BYTES)
        det.normalise()
        det.store(self.determinant)

    def below(self, width, start, column_start, first_column, columns, upper):
        """Compute a tile of U: rows of the block at ``start``, columns of the block at ``column_start``."""
        v = self.v
        v.forget()
        lower = self.lower + column_start * VECTOR_BYTES
        tile = self.sums(start, first_column, TILE, width, lower=False)
        for k in columns:
            ls = [v.load(lower + (k * width + c) * VECTOR_BYTES) for c in range(width)]
            for r in range(TILE):
                u = v.load(upper + (k * TILE + r) * VECTOR_BYTES)
                for c in range(width):
                    v.set(tile[r, c], v.fnma(u, ls[c], v.get(tile[r, c])))
        A = {at: v.get(entry) for at, entry in tile.items()}
        for c in range(width):
            for q in range(c):
                factor = v.load(lower + ((first_column + q) * width + c) * VECTOR_BYTES)
                for r in range(TILE):
                    A[r, c] = v.fnma(A[r, q], factor, A[r, c])
            for r in range(TILE):
                v.store(A[r, c], upper + ((first_column + c) * TILE + r) * VECTOR_BYTES)

    def odd_block(self):
        """Factor the leading block, which is smaller than a tile."""
        self.diagonal(self.odd, self.v.integer(0), self.v.integer(0), (), self.upper)

    def rows(self, block, count):
        """Factor ``count`` tile rows from number ``block`` on, side by side."""
        v, zero = self.v, self.v.integer(0)
        starts = [row_block_start(block + i, self.odd) for i in range(count)]
        uppers = [self.upper + self.row_bytes * i for i in range(count)]
        if self.odd:
            for start, upper in zip(starts, uppers, strict=True):
                self.below(self.odd, start, zero, zero, (), upper)
        for left in v.steps(block):
            for start, upper in zip(starts, uppers, strict=True):
                self._full_tile(start, left, upper)
        for i in range(count):
            for j in range(i):
                self._full_tile(starts[i], block + j, uppers[i])
            here = block + i
            columns = self.columns(here)
            self.diagonal(TILE, starts[i], self.first_column(here), columns, uppers[i])

    def _full_tile(self, start, left, upper):
        column_start = row_block_start(left, self.odd)
        first_column = self.first_column(left)
        self.below(TILE, start, column_start, first_column, self.columns(left), upper)


def _emit_factorisation(v, remainder, pairs, x, y, scratch):
    """Return the determinants of matrices of size ``remainder + 2·TILE·pairs``."""
    single, odd = divmod(remainder, TILE)
    Determinant(v).store(scratch)
    work = Factorisation(v, odd, pairs * 2 + single, x, y, scratch)
    if odd:
        work.odd_block()
    if single:
        work.rows(v.integer(0), 1)
    for pair in v.steps(pairs):
        work.rows(pair * 2 + single, 2)
    return Determinant(v).load(scratch)


def _lower_slots(n):
    """Iterate over the entries (r, c) on and below the diagonal and their slots in tile order."""
    edges, slot = [0, *range(n % TILE or TILE, n + 1, TILE)], 0
    for first, last in pairwise(edges):
        for c in range(last):
            for r in range(first, last):
                if r >= c:
                    yield (r, c), slot
                slot += 1


def _emit_in_registers(v, n, A):
    """Return the determinants of tiny matrices A, factored two columns at a time with one division for both.

    The second column is reduced by the first, as ever. With the inverse of the 2×2 block in its place the error would
    grow with the block's condition.
    """
    det = Determinant(v)
    if n % 2:
        det.include(A[0, 0])
        if n > 1:
            inverse = v.reciprocal(A[0, 0])
        for q in range(1, n):
            factor = v.mul(A[q, 0], inverse)
            for r in range(q, n):
                A[r, q] = v.fnma(A[r, 0], factor, A[r, q])
    for c in range(n % 2, n, 2):
        a, b, d = A[c, c], A[c + 1, c], A[c + 1, c + 1]
        minor = v.fnma(b, b, v.mul(a, d))
        det.witness(a)
        det.include(minor, pivots=2)
        if c + 2 < n:
            inverse = v.reciprocal(v.mul(a, minor))
            inverse_first = v.mul(minor, inverse)
            inverse_second = v.mul(v.mul(a, a), inverse)
        factors = {}
        for q in range(c + 2, n):
            factors[q, 0] = v.mul(A[q, c], inverse_first)
            A[q, c + 1] = v.fnma(b, factors[q, 0], A[q, c + 1])
            factors[q, 1] = v.mul(A[q, c + 1], inverse_second)
        for q in range(c + 2, n):
            for r in range(q, n):
                rest = v.fnma(A[r, c], factors[q, 0], A[r, q])
                A[r, q] = v.fnma(A[r, c + 1], factors[q, 1], rest)
    return det


def program(n: int) -> tuple[int, int]:
    """Return the number that selects the program for n×n matrices, and the loop count it needs."""
    if n <= SMALL_SIZE:
        return n, 0
    return SMALL_SIZE + 1 + n % (2 * TILE), n // (2 * TILE)


def _determinants(v, selected, pairs, x, scratch):
    """Return a function that emits the determinants of X + Y, where Y is the batch at an address."""
    if selected <= SMALL_SIZE:
        pairs, remainder = divmod(selected, 2 * TILE)
        pairs = v.integer(pairs)
    else:
        remainder = selected - SMALL_SIZE - 1
    if selected > TINY_SIZE:
        return lambda y: _emit_factorisation(v, remainder, pairs, x, y, scratch)

    def of_x(slot):
        return v.broadcast(x + slot * v.itemsize)

    # What fits in registers is loaded once for all batches.
    kept = {slot: of_x(slot) for _, slot in _lower_slots(selected) if selected <= KEPT_SIZE}

    def in_registers(y):
        A = {
            at: v.add(v.load(y + slot * VECTOR_BYTES), kept[slot] if kept else of_x(slot))
            for at, slot in _lower_slots(selected)
        }
        return _emit_in_registers(v, selected, A)

    return in_registers


@emitted
def _shifted_logs(
    v, selected, pairs, count, x, y, y_bytes, scratch, results, limits, shift_x, shift_y, verdict, out
):  # fmt: skip
    """Store max(floor, log det(2^e·(X + Y)) − shift_x − shift_y) of these batches; NaN in one spoils the verdict."""
    # First the determinants of all batches: the logarithms have many constants, which are then loaded once.
    has_exponent = selected > pivots_at_once(v.bits)
    determinants = _determinants(v, selected, pairs, x, scratch)
    for batch in v.steps(count):
        v.fetch_for_writing(out + batch * VECTOR_BYTES)
        det, result = determinants(y + batch * y_bytes), results + batch * (2 * VECTOR_BYTES)
        v.store(det.checked(), result)
        if has_exponent:
            v.store(det.exponent, result + VECTOR_BYTES)
    floor, exponent, shift = (v.broadcast(at) for at in (limits, limits + v.itemsize, shift_x))
    all_numbers = v.variable(v.load(verdict))

    def write_one(batch):
        det, result = Determinant(v), results + batch * (2 * VECTOR_BYTES)
        det.product, det.exponent = v.load(result), exponent
        if has_exponent:
            det.exponent = v.add(exponent, v.load(result + VECTOR_BYTES))
        det.normalise()
        logarithm = v.log_of_split(det.product, det.exponent)
        value = v.sub(logarithm, v.add(shift, v.load(shift_y + batch * VECTOR_BYTES)))
        v.set(all_numbers, v.fma(value, v.constant(0.0), v.get(all_numbers)))
        v.store(v.select(v.greater(floor, value), floor, value), out + batch * VECTOR_BYTES)

    # Two at a time: the constants are loaded once for both.
    for pair in v.steps(count.halved()):
        write_one(pair * 2)
        write_one(pair * 2 + 1)
    for _ in v.steps(count.parity()):
        write_one(count - 1)
    v.store(v.get(all_numbers), verdict)


def scratch_size(n: int, slots: int, lanes: int) -> int:
    """Return how many numbers of scratch a batch and its factorisation need."""
    return (2 * slots + (2 * TILE + 1) * n + 3) * lanes


@translated(types.void)
def logdets(
    tag, scalar, pairs, X, Y, chosen, entries, factor, limits, shifts_x, shifts_y, begins, ends, chunk, scratch,
    results, last, verdict, row_bytes, out,
):  # fmt: skip
    """Write max(floor, log det(2^e·(X_i + Y_j)) − shifts_x[i] − shifts_y[j]); a NaN spoils the verdict.

    ``limits`` holds the floor and n·e. ``X`` holds scalars in tile order, and row i takes the batches ``begins[i] …
    ends[i] − 1`` of Y. ``chunk`` batches serve all rows before the next come in, so that they stay in the cache. ``Y``
    holds the batches, one after the other; or, if there are ``entries``, matrices from which the batches are gathered:
    Y[chosen[k]]·factor for lane k of all of them. ``shifts_y`` has a number for every lane.

    The results of row i lie ``row_bytes`` after those of row i − 1: ``out`` is a matrix if that is the length of its
    rows.
    """
    lanes = verdict.shape[0]
    batches, slots = shifts_y.shape[0] // lanes, X.shape[1]
    item_bytes, batch_bytes = VECTOR_BYTES // lanes, slots * VECTOR_BYTES
    gathers = entries.shape[0] > 0
    space = address(scratch) + batch_bytes
    # Batches that a row of the result has room for; one more may be needed in part.
    full = out.shape[1] // lanes
    for chunk_start in range(0, batches, chunk):
        for i in range(X.shape[0]):
            for partial in range(2):
                start = max(chunk_start, begins[i])
                stop = min(chunk_start + chunk, ends[i])
                row = address(out) + i * row_bytes
                if partial == 0:
                    stop = min(stop, full)
                else:
                    start = max(start, full)
                    row = address(last) - full * VECTOR_BYTES
                count = 1 if gathers else stop - start
                for b in range(start, stop, max(1, count)):
                    y = address(Y) + b * batch_bytes
                    if gathers:
                        gather(Y, chosen[b * lanes :], entries, factor, lanes, scratch)
                        y = address(scratch)
                    _shifted_logs(
                        tag, scalar, pairs, count, address(X[i]), y, batch_bytes, space, address(results),
                        address(limits), address(shifts_x) + i * item_bytes, address(shifts_y) + b * VECTOR_BYTES,
                        address(verdict), row + b * VECTOR_BYTES,
                    )  # fmt: skip
                if partial == 1 and start < stop:
                    for j in range(full * lanes, out.shape[1]):
                        out[i, j] = last[j - full * lanes]


@kept
def careful_logdet(A, B):
    """log det((A + B)/2), a logarithm for every pivot: where scales differ by hundreds of bits."""
    n = A.shape[0]
    U, L = np.empty((n, n)), np.empty((n, n))
    logdet = 0.0
    for r in range(n):
        for c in range(r + 1):
            entry = 0.5 * A[r, c] + 0.5 * B[r, c]
            for k in range(c):
                entry -= U[r, k] * L[c, k]
            U[r, c] = entry
            if c < r:
                L[r, c] = entry / U[c, c]
        logdet += math.log(U[r, r]) if U[r, r] > 0 else math.nan
    return logdet
