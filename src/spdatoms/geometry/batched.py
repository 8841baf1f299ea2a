"""Log-determinants and inverses of many SPD matrices: the typed front of the lane kernels."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from spdatoms._utils.threads import (
    block_slices,
    effective_n_jobs,
    map_in_threads,
    run_blocks,
)
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.geometry.half_vectors import (
    from_half_vectors,
    symmetric_slots,
    tile_entries,
    tile_weights,
)
from spdatoms.native import VECTOR_BYTES, kernel, kernels, lane_count
from spdatoms.native.elementwise import mirror
from spdatoms.native.interleave import (
    flat,
    flat_order,
    lanes_of,
    pack_lanes,
    pack_scalars,
    places_of,
    read_lanes,
)

_logdets = kernels("logdets", "qqTTIIdddTTIIqqTqq")
_pair_logdets = kernels("pair_logdets", "qqTIIddTT")
_inverses = kernel("inverses", "qqDIIDqqD")
_add_weighted_inverses = kernel("add_weighted_inverses", "qqDDDIIIIDD")
_sum_pair_inverses = kernel("sum_pair_inverses", "qqqDDDDD")

#: Bytes of packed matrices that are used against many others before the next ones are loaded: a part
#: of the second-level cache.
_CHUNK_BYTES = 128 << 10
#: The same for tiny matrices: the first-level cache, which also holds three vectors per batch (shifts, determinants and
#: the result).
_FIRST_LEVEL_BYTES = 48 << 10
#: Up to this size the pairs of a row are side by side, however few they are.
_LARGEST_IN_ROWS = 32
#: Flops in a block of work: some tens of milliseconds, so that Ctrl-C need not wait long, and packed
#: matrices that come in from memory serve many others.
_BLOCK_FLOPS = 1e9
#: Flops that are worth waking another thread for: some 0.2 milliseconds.
_LEAST_SHARED_FLOPS = 1e7
#: Parts that threads share where each needs sums of its own, and the least batches and flops of one.
_PARTS, _PART_BATCHES, _PART_FLOPS = 8, 4, 1e8
#: Matrices whose half-vectors are found at a time, in bytes of input.
_PREPARE_BYTES = 4 << 20


class Lanes:
    """Matrices ``factor·X`` for the lane kernels, packed when they are first needed."""

    def __init__(self, X: FloatArray, factor: float) -> None:
        self.count, self.n = len(X), X.shape[-1]
        self.matrices, self.factor = X, factor

    @cached_property
    def packed(self) -> FloatArray:
        """Batches, one matrix per lane, shape (batches, slots, lanes)."""
        return pack_lanes(self.matrices, self.factor)

    @cached_property
    def scalars(self) -> FloatArray:
        """The same matrices one after the other, shape (m, slots)."""
        return pack_scalars(self.matrices, self.factor)


def log_determinants(
    X: FloatArray,
    Y: Lanes,
    factor: float,
    shifts_x: FloatArray,
    shifts_y: FloatArray,
    *,
    floor: float,
    power: int = 0,
    triangle: bool = False,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return max(floor, log det(2^power·(factor·X_i + Y_j)) − shifts_x[i] − shifts_y[j]), shape (m, N).

    With ``triangle`` only the entries with j > i are computed, and mirrored, and the diagonal is the floor. A sum
    that is not positive definite is an error.
    """
    m, n, dtype = len(X), X.shape[-1], X.dtype
    out = np.empty((m, Y.count), dtype)
    if triangle and pairs_fill_lanes(m, n, lane_count(dtype)):
        rows, columns = np.triu_indices(m, 1)
        shifts = (shifts_x[rows] + shifts_y[columns]).astype(dtype, copy=False)
        values = _of_pairs(Y.scalars, rows, columns, shifts, n, floor, power, n_jobs)
        np.fill_diagonal(out, floor)
        out[rows, columns] = out[columns, rows] = values
        if np.isnan(values).any():
            raise _not_definite(out, slice(0, m))
        return out
    batches, slots, lanes = Y.packed.shape
    chunk = _chunk(slots * lanes * dtype.itemsize)
    padded = np.zeros(batches * lanes, dtype)
    padded[: Y.count] = shifts_y
    by_rows = m >= batches or triangle

    def compute(part: slice) -> None:
        rows = part if by_rows else slice(0, m)
        numbers = np.arange(rows.start, rows.stop)
        begins = np.full(len(numbers), 0 if by_rows else part.start)
        if not write_logdets(
            pack_scalars(X[rows], factor),
            Y.packed.reshape(batches, -1),
            None,
            np.ascontiguousarray(shifts_x[rows], dtype),
            padded,
            (numbers + 1) // lanes if triangle else begins,
            np.full(len(numbers), batches if by_rows else part.stop),
            out[rows],
            n=n,
            floor=floor,
            power=power,
            chunk=min(chunk, batches),
        ):
            raise _not_definite(out, rows)
        if triangle:
            mirror(out, rows.start, rows.stop)

    pair_flops = n**3 / 3 + n**2 + 50
    items, flops = (m, pair_flops * Y.count) if by_rows else (batches, pair_flops * m * lanes)
    run_blocks(compute, items, _block_size(items, flops, n_jobs), n_jobs, uses_blas=False)
    if triangle:
        np.fill_diagonal(out, floor)
    return out


def pairs_fill_lanes(m: int, n: int, lanes: int) -> bool:
    """Return whether pairs of m matrices, one per lane, take less time than rows of pairs that leave lanes idle."""
    by_rows = int((-(-m // lanes) - np.arange(1, m + 1) // lanes).sum())
    # Bringing a pair into its lane takes a share of about 16/n of the work.
    return n > _LARGEST_IN_ROWS and -(-m * (m - 1) // 2 // lanes) * (1 + 16 / n) < by_rows


def _of_pairs(
    X: FloatArray,
    rows: Indices,
    columns: Indices,
    shifts: FloatArray,
    n: int,
    floor: float,
    power: int,
    n_jobs: int | None,
) -> FloatArray:
    """Return max(floor, log det(2^power·(X_i + X_j)) − shift) for these i and j, one pair per lane; X are scalars."""
    lanes = lane_count(X.dtype)
    chosen = lanes_of(len(rows), lanes)
    first, second, shifts = rows[chosen], columns[chosen], shifts[chosen]
    values = np.empty(len(chosen), X.dtype)

    def compute(part: slice) -> None:
        own = slice(part.start * lanes, part.stop * lanes)
        batches = part.stop - part.start
        _pair_logdets(X.dtype)(
            n, batches, X, first[own], second[own], floor, n * power, shifts[own], values[own]
        )

    batches = len(chosen) // lanes
    size = _block_size(batches, lanes * (n**3 / 3 + n**2), n_jobs)
    run_blocks(compute, batches, size, n_jobs, uses_blas=False)
    return values[: len(rows)]


def write_logdets(
    X: FloatArray,
    Y: FloatArray,
    chosen: Indices | None,
    shifts_x: FloatArray,
    shifts_y: FloatArray,
    begins: Indices,
    ends: Indices,
    out: FloatArray,
    *,
    n: int,
    floor: float,
    chunk: int,
    power: int = 0,
    factor: float = 1.0,
) -> bool:
    """Write max(floor, log det(2^power·(X_i + Y_j)) − shifts_x[i] − shifts_y[j]); return whether all are numbers.

    X is packed, and row i takes the batches ``begins[i] … ends[i] − 1`` of Y, which is packed, too. Or, if matrices are
    ``chosen``, lane k of all batches is factor·Y[chosen[k]] (see `flat`), no batch serves two rows, and ``out`` has one
    row for all.
    """
    dtype = X.dtype
    return bool(
        _logdets(dtype)(
            n,
            len(X),
            X,
            Y,
            chosen,
            flat_order(n),
            factor,
            floor,
            n * power,
            shifts_x,
            shifts_y,
            begins,
            ends,
            len(shifts_y) // lane_count(dtype),
            chunk,
            out,
            out.shape[1],
            out.shape[1] if chosen is None else 0,
        )
    )


def packed_log_determinant(X: Lanes) -> FloatArray:
    """Return log det X_i of matrices whose scale is that of an exponent that `common_exponent` gave."""
    dtype = X.matrices.dtype
    zero, shifts = np.zeros((1, X.n, X.n), dtype), np.zeros(X.count, dtype)
    if pairs_fill_lanes(X.count, X.n, lane_count(dtype)):
        every = np.arange(X.count)
        none = np.full_like(every, -1)
        values = _of_pairs(X.scalars, every, none, shifts, X.n, -np.inf, 0, None)
        if np.isnan(values).any():
            raise _not_definite(values[None], slice(0, 1))
        return values
    (logdets,) = log_determinants(zero, X, 1.0, shifts[:1], shifts, floor=-np.inf)
    return np.asarray(logdets)


def log_determinant(X: FloatArray) -> Floats:
    """Return log det X_i of SPD matrices at any scales, in double precision."""
    X = np.asarray(X, np.float64)
    if common_exponent(exponent_range(X), X.dtype) == 0:
        return np.asarray(packed_log_determinant(Lanes(X, 1.0)), np.float64)
    # One after the other, so that none depends on the scales of the others.
    return np.array([_own_log_determinant(A) for A in X])


def _own_log_determinant(A: Floats) -> float:
    exponent = common_exponent(exponent_range(A[None]), A.dtype)
    if exponent is None:
        return careful_log_determinant(A, A)
    (scaled,) = packed_log_determinant(Lanes(A[None], float(np.ldexp(1.0, -exponent))))
    return float(scaled + len(A) * exponent * np.log(2.0))


def careful_log_determinant(A: Floats, B: Floats) -> float:
    """Return log det((A + B)/2) of two matrices at any scales: a logarithm for every pivot."""
    rest, logdet = 0.5 * np.asarray(A, np.float64) + 0.5 * np.asarray(B, np.float64), 0.0
    while len(rest):
        pivot, column = rest[0, 0], rest[1:, 0]
        if not pivot > 0.0:
            raise ValueError("A sum X_i + Y_j is not positive definite: ask check_spd about both.")
        logdet += float(np.log(pivot))
        rest = rest[1:, 1:] - np.outer(column, column / pivot)
    return logdet


def exponent_range(X: FloatArray) -> tuple[int, int]:
    """Return the binary exponents between which all pivots of sums of two of the matrices lie."""
    diagonals = X.diagonal(axis1=1, axis2=2)
    # check_spd has seen to it that no pivot is below eps times its diagonal entry, and no pivot of a
    # sum is above the sum of the diagonal entries.
    lowest = np.frexp(diagonals.min())[1] - np.finfo(X.dtype).nmant - 1
    return int(lowest), int(np.frexp(diagonals.max())[1]) + 1


def common_exponent(within: tuple[int, int], dtype: np.dtype[np.floating]) -> int | None:
    """Return an e such that the kernels' products of pivots of 2^-e·X do not overflow, if there is one.

    It is zero if that will do: the last bits of a result then do not depend on the other matrices.
    """
    # 2^-e itself must not overflow, either.
    middle = max(sum(within) // 2, int(np.finfo(dtype).minexp))
    for exponent in (0, middle):
        if fits(within, exponent, dtype):
            return exponent
    return None


def fits(within: tuple[int, int], exponent: int, dtype: np.dtype[np.floating]) -> bool:
    """Return whether products of pivots in this range do not overflow after division by 2^e."""
    room = 160 if dtype == np.float64 else 28
    return max(exponent - within[0], within[1] - exponent) <= room


def inverse_half_vectors(X: FloatArray, out: Floats, *, first: int = 0) -> None:
    """Write the half-vectors of X_i⁻¹, n(n+1)/2 numbers each, to ``out``.

    A matrix that is not positive definite is an error, which counts the matrices from ``first``.
    """
    n = X.shape[-1]
    _write_inverses(X, tile_entries(n)[0], tile_weights(n), False, out, first)


def half_vectors_with_inverses(X: FloatArray) -> FloatArray:
    """Return the half-vectors of X_i and of X_i⁻¹ side by side, shape (m, n(n+1)), in the precision of X."""
    n = X.shape[-1]
    slots, weights = tile_entries(n)[0], tile_weights(n)
    stacked = np.empty((len(X), 2 * len(slots)), X.dtype)
    for part in block_slices(len(X), max(1, _PREPARE_BYTES // (8 * n * n))):
        _write_inverses(X[part], slots, weights, True, stacked[part], part.start)
    return stacked


def inverse(X: FloatArray) -> Floats:
    """Return X_i⁻¹ of SPD matrices (m, n, n), in double precision."""
    n = X.shape[-1]
    out = np.empty(X.shape)
    _write_inverses(X, symmetric_slots(n), np.ones(n * n), False, out.reshape(-1, n * n), 0)
    return out


def _write_inverses(
    X: FloatArray, slots: Indices, weights: Floats, beside: bool, out: FloatArray, first: int
) -> None:
    """Write entries of X_i⁻¹, at these slots, with these weights, to row i of ``out``, or ``beside`` those of X_i."""
    direct = out.flags.c_contiguous and out.dtype == np.float64
    rows = out if direct else np.empty(out.shape)
    m, n = X.shape[:2]
    entries = flat(np.asarray(X, np.float64))
    bad = _inverses(n, m, entries, places_of(n), slots, weights, len(slots), beside, rows)
    if bad < m:
        raise ValueError(f"Matrix {first + bad} is not positive definite: ask check_spd about it.")
    if not direct:
        out[...] = rows


def add_weighted_inverses(
    X: Floats,
    factors: Floats,
    Y: Floats,
    chosen: Indices,
    begins: Indices,
    ends: Indices,
    weights: Floats,
    totals: Floats,
) -> None:
    """Add Σ_j w_j (factors[i]·(X_i + Y_j))⁻¹ to totals[i], in tile order.

    Lane k of all batches holds the matrix Y[chosen[k]] (see `flat`) and has the weight w_k; row i takes the batches
    ``begins[i] … ends[i] − 1``.
    """
    _add_weighted_inverses(
        X.shape[-1],
        len(X),
        pack_scalars(X * factors[:, None, None], 1.0),
        factors,
        Y,
        chosen,
        flat_order(X.shape[-1]),
        begins,
        ends,
        weights,
        totals,
    )


def pair_inverse_sums(
    X: Floats, Y: Lanes, factor: float, weights: Floats, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Return Σ_j w_ij (X_i + Y_j)⁻¹ and Σ_i w_ij (X_i + Y_j)⁻¹, where Y is packed with this factor.

    The matrices Y are cut into parts, whose number does not depend on that of threads, and each part has sums over its
    Y of its own: so the result does not depend on it, either.
    """
    m, n = X.shape[:2]
    batches, slots, lanes = Y.packed.shape
    scalars = pack_scalars(X, factor)
    padded = np.zeros((m, batches * lanes))
    padded[:, : Y.count] = weights
    totals_y = np.zeros(Y.packed.shape)
    pair_flops = n**3 + 3 * n**2
    chunk = max(8, _CHUNK_BYTES // (slots * lanes * 8))
    rows_at_once = max(1, int(_BLOCK_FLOPS / (pair_flops * chunk * lanes)))
    parts = max(
        1, min(_PARTS, batches // _PART_BATCHES, int(pair_flops * m * Y.count / _PART_FLOPS))
    )
    edges = np.linspace(0, batches, parts + 1).astype(int)

    def sums(part: int) -> Floats:
        totals_x = np.zeros((m, slots))
        for first in range(edges[part], edges[part + 1], chunk):
            last = min(first + chunk, edges[part + 1])
            for rows in block_slices(m, rows_at_once):
                own = np.ascontiguousarray(padded[rows, first * lanes : last * lanes])
                count, some = last - first, slice(first, last)
                _sum_pair_inverses(
                    *(n, len(own), count, scalars[rows], Y.packed[some], own),
                    *(totals_x[rows], totals_y[some]),
                )
        return totals_x

    totals_x = sum(map_in_threads(sums, parts, n_jobs), np.zeros((m, slots)))
    if np.isnan(totals_x).any():
        raise ValueError("A sum X_i + Y_j is not positive definite: ask check_spd about both.")
    kept, _, _ = tile_entries(n)
    half_y = np.empty((Y.count, len(kept)))
    read_lanes(totals_y, kept, np.full(len(kept), factor), half_y)
    return (
        from_half_vectors(factor * totals_x[:, kept], n, weighted=False),
        from_half_vectors(half_y, n, weighted=False),
    )


def _chunk(batch_bytes: int) -> int:
    """Return how many batches serve many rows before the next are loaded: those that a cache holds."""
    few = _FIRST_LEVEL_BYTES // (batch_bytes + 3 * VECTOR_BYTES)
    # Fewer would make the loops over them too short.
    return few if few >= 32 else max(1, _CHUNK_BYTES // batch_bytes)


def _block_size(items: int, flops: float, n_jobs: int | None) -> int:
    """Return how many items, each of this many flops, a task takes."""
    jobs, total = effective_n_jobs(n_jobs), items * flops
    # Several tasks per thread even out what disturbs one of them, if they are not too small for it.
    shares = 1 if jobs == 1 else max(1, min(4 * jobs, int(total / _LEAST_SHARED_FLOPS)))
    return max(1, min(int(_BLOCK_FLOPS / flops), -(-items // shares)))


def _not_definite(out: FloatArray, rows: slice) -> ValueError:
    bad = np.argwhere(np.isnan(out[rows]))
    where = f" (the first is {rows.start + bad[0, 0]}, {bad[0, 1]})" if len(bad) else ""
    return ValueError(f"A sum X_i + Y_j is not positive definite{where}: ask check_spd about both.")
