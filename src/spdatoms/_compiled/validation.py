"""Which matrices of a block are SPD beyond doubt, and what is in doubt about the others.

The factorisation is ``A = L D Lᵀ``. Its steps never leave the range of the entries of A, so neither
a scale of 1e-300 nor one of 1e+300 needs care, and its pivots ``d_j`` relative to the diagonal
``a_jj`` are those of the unit-diagonal matrix ``C = a_ij / √(a_ii a_jj)``.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numba import types

from spdatoms._compiled.interleave import aligned_empty, flat, lanes_of, starts_of_blocks
from spdatoms._compiled.lanes import TILE, VECTOR_BYTES, emitted, lane_count
from spdatoms._compiled.translate import address, reordered, translated

# What `inspect` finds, as bits of a number.
CHECK_SYMMETRY = 1  # the entries a_ij and a_ji may differ by too much, or may not be finite
CHECK_EIGENVALUE = 2  # C may be singular
NOT_POSITIVE = 4  # a pivot is not a positive number

# How far above e·λ a determinant must be to show that no eigenvalue is below λ: rounding may have made it.
_SAFE = 100.0

# Below this size the calls and array views of the general way cost more than its arithmetic.
_SMALL = 8

# From this size on matrices are tested side by side.
_SIDE_BY_SIDE = 8


def _surely_spd(X, index, symmetry_tolerance, safe_determinant, L, inverse_pivots):
    """Return whether a small matrix is beyond doubt, by loops so short that vectors do not pay."""
    asymmetry, least_diagonal, determinant = 0.0, math.inf, 1.0
    for i in range(X.shape[1]):
        diagonal = X[index, i, i]
        pivot = diagonal
        for j in range(i):
            entry = X[index, i, j]
            asymmetry += abs(entry - X[index, j, i])
            for k in range(j):
                entry -= L[i, k] * L[j, k]
            L[i, j] = entry
        for j in range(i):
            entry = L[i, j]
            L[i, j] = entry * inverse_pivots[j]
            pivot -= entry * L[i, j]
        if not pivot > 0.0:
            return False
        determinant *= pivot / diagonal
        inverse_pivots[i] = 1.0 / pivot
        least_diagonal = min(least_diagonal, diagonal)
    certain = determinant > safe_determinant
    return certain and asymmetry <= symmetry_tolerance * least_diagonal < math.inf


@reordered
def _sum_of_asymmetries(A):
    """Σ |a_ij − a_ji|, which is finite only if the entries off the diagonal are."""
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(i):
            total += abs(A[i, j] - A[j, i])
    return total


@reordered
def _dot(a, b, first, last):
    total = 0.0
    for k in range(first, last):
        total += a[k] * b[k]
    return total


@reordered
def _four_dots(a, b, c, d, count):
    """a·c, a·d, b·c and b·d in one pass: half the loads and a quarter of the loops."""
    ac, ad, bc, bd = 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        ac += a[k] * c[k]
        ad += a[k] * d[k]
        bc += b[k] * c[k]
        bd += b[k] * d[k]
    return ac, ad, bc, bd


@reordered
def _factorise(A, L, inverse_pivots):
    """Write L of ``A = L D Lᵀ`` and 1/d; return ``det C = Π d_j / a_jj``, or −1 if not all d > 0.

    Two rows and two columns at a time. The last row of an odd n makes a pair with itself.
    """
    n = A.shape[0]
    determinant = 1.0
    for i in range(0, n, 2):
        second = min(i + 1, n - 1)
        p, q = L[i], L[second]
        for j in range(0, i, 2):  # U = L D first: u_ij = a_ij − Σ_k u_ik l_jk
            pc, pd, qc, qd = _four_dots(p, q, L[j], L[j + 1], j)
            p[j] = A[i, j] - pc
            q[j] = A[second, j] - qc
            p[j + 1] = A[i, j + 1] - pd - p[j] * L[j + 1, j]
            q[j + 1] = A[second, j + 1] - qd - q[j] * L[j + 1, j]
        pivot, below, next_pivot = A[i, i], A[second, i], A[second, second]
        for k in range(i):
            u, v = p[k], q[k]
            p[k] = u * inverse_pivots[k]
            q[k] = v * inverse_pivots[k]
            pivot -= u * p[k]
            below -= v * p[k]
            next_pivot -= v * q[k]
        if not 0.0 < pivot < math.inf:
            return -1.0
        inverse_pivots[i] = 1.0 / pivot
        determinant *= pivot / A[i, i]
        if second > i:
            q[i] = below * inverse_pivots[i]
            next_pivot -= below * q[i]
            if not 0.0 < next_pivot < math.inf:
                return -1.0
            inverse_pivots[second] = 1.0 / next_pivot
            determinant *= next_pivot / A[second, second]
    return determinant


@reordered
def _trace_of_scaled_inverse(A, L, inverse_pivots, column):
    """tr(C⁻¹) = Σ_i a_ii (A⁻¹)_ii of the unit-diagonal C, with ``A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹``.

    It brackets the least eigenvalue of C from both sides: ``1/tr(C⁻¹) ≤ λ_min ≤ n/tr(C⁻¹)``.
    """
    n = A.shape[0]
    trace = 0.0
    for i in range(n):  # column i of L⁻¹, by forward substitution
        column[i] = 1.0
        diagonal = inverse_pivots[i]
        for k in range(i + 1, n):
            column[k] = -_dot(L[k], column, i, k)
            diagonal += column[k] * column[k] * inverse_pivots[k]
        trace += A[i, i] * diagonal
    return trace


#: The least δ of the test whether C − δI has positive pivots: rounding moves eigenvalues by up to n²·eps.
_LEAST_SHIFT = 1e-8


@emitted
def _spread(v, size, n, padded, source, chosen, out):
    """Write matrices X[chosen[lane]] side by side, rows of ``padded`` vectors, filled up by those of the identity."""
    count = n * n
    rows = [source + v.number(chosen + 8 * lane) * (count * 8) for lane in range(v.lanes)]
    blank = padded - n
    for i in v.steps(n):
        line = [row + i * n * 8 for row in rows]
        target = out + i * padded * VECTOR_BYTES
        for first in starts_of_blocks(v, n):
            entries = v.transposed([v.load(row + first * 8) for row in line])
            for offset, entry in enumerate(entries):
                v.store(entry, target + (first + offset) * VECTOR_BYTES)
    for i in v.steps(blank):
        row = n + i
        for j in v.steps(row):
            v.store(v.constant(0.0), out + (row * padded + j) * VECTOR_BYTES)
        v.store(v.constant(1.0), out + (row * padded + row) * VECTOR_BYTES)


@emitted
def _test_symmetry(v, size, n, padded, work, tolerance, out):
    """Store 1 in lanes where Σ |a_ij − a_ji| is at most this tolerance of the least diagonal entry, else 0."""
    total, least = v.variable(v.constant(0.0)), v.variable(v.constant(math.inf))
    for i in v.steps(n):
        diagonal = v.load(work + (i * padded + i) * VECTOR_BYTES)
        v.set(least, v.least(diagonal, v.get(least)))
        for j in v.steps(i):
            lower = v.load(work + (i * padded + j) * VECTOR_BYTES)
            upper = v.load(work + (j * padded + i) * VECTOR_BYTES)
            v.set(total, v.add(v.get(total), v.absolute(v.sub(lower, upper))))
    most = v.mul(v.get(least), v.broadcast(tolerance))
    small = v.not_greater(v.get(total), most)
    v.store(v.select(small, v.constant(1.0), v.constant(0.0)), out)


@emitted
def _test_pivots(v, size, blocks, work, remainder, inverse_pivots, out):
    """Leave what is stored where all pivots of A − δ diag A are positive and finite, else store 0.

    ``remainder`` is where 1 − δ is found.
    The lower triangle of ``work`` becomes U = L D, the upper one Lᵀ.
    """
    padded = blocks * TILE

    def at(row, column):
        return work + (row * padded + column) * VECTOR_BYTES

    scale = v.broadcast(remainder)
    least, finite = v.variable(v.constant(math.inf)), v.variable(v.constant(0.0))
    for block in v.steps(blocks):
        i = block * TILE
        for left in v.steps(block):
            j = left * TILE
            tile = {
                (r, c): v.variable(v.load(at(i + r, j + c)))
                for r, c in product(range(TILE), repeat=2)
            }
            for k in v.steps(j):
                ls = [v.load(at(k, j + c)) for c in range(TILE)]
                for r in range(TILE):
                    u = v.load(at(i + r, k))
                    for c in range(TILE):
                        v.set(tile[r, c], v.fnma(u, ls[c], v.get(tile[r, c])))
            A = {place: v.get(entry) for place, entry in tile.items()}
            for c in range(TILE):
                for q in range(c):
                    factor = v.load(at(j + q, j + c))
                    for r in range(TILE):
                        A[r, c] = v.fnma(A[r, q], factor, A[r, c])
                for r in range(TILE):
                    v.store(A[r, c], at(i + r, j + c))
        corner = [(r, c) for c in range(TILE) for r in range(c, TILE)]
        tile = {(r, c): v.variable(v.load(at(i + r, i + c))) for r, c in corner}
        for r in range(TILE):
            v.set(tile[r, r], v.mul(v.get(tile[r, r]), scale))
        for k in v.steps(i):
            inverse = v.load(inverse_pivots + k * VECTOR_BYTES)
            us = [v.load(at(i + r, k)) for r in range(TILE)]
            ls = [v.mul(u, inverse) for u in us]
            for c in range(TILE):
                v.store(ls[c], at(k, i + c))
            for r, c in corner:
                v.set(tile[r, c], v.fnma(us[r], ls[c], v.get(tile[r, c])))
        A = {place: v.get(entry) for place, entry in tile.items()}
        for c in range(TILE):
            pivot = A[c, c]
            v.set(least, v.least(pivot, v.get(least)))
            # NaN from here on if the pivot is not finite.
            v.set(finite, v.fma(pivot, v.constant(0.0), v.get(finite)))
            inverse = v.reciprocal(pivot)
            v.store(inverse, inverse_pivots + (i + c) * VECTOR_BYTES)
            for r in range(c + 1, TILE):
                factor = v.mul(A[r, c], inverse)
                v.store(factor, at(i + c, i + r))
                for q in range(r, TILE):
                    A[q, r] = v.fnma(A[q, c], factor, A[q, r])
    zero = v.constant(0.0)
    positive = v.select(v.greater(v.get(least), zero), v.load(out), zero)
    v.store(v.select(v.not_greater(v.get(finite), zero), positive, zero), out)


@translated(types.void)
def _find_certain(tag, scalar, X, n, chosen, tolerance, remainder, work, inverse_pivots, certain):
    lanes, blocks = work.shape[1], inverse_pivots.shape[0] // TILE
    for b in range(chosen.shape[0] // lanes):
        space, out = address(work), address(certain[b * lanes :])
        _spread(tag, scalar, n, blocks * TILE, address(X), address(chosen[b * lanes :]), space)
        _test_symmetry(tag, scalar, n, blocks * TILE, space, address(tolerance), out)
        _test_pivots(tag, scalar, blocks, space, address(remainder), address(inverse_pivots), out)


def _certain(X: np.ndarray, symmetry_tolerance: float, least_eigenvalue: float) -> np.ndarray:
    """Return which matrices are SPD beyond doubt, by the pivots of A − δ diag A, one matrix per lane.

    If they are positive, λ_min(C) > δ but for rounding, and δ is well above what is asked for. So neither a
    determinant, which is tiny for large matrices, nor a trace is needed. Where the test fails, others decide.
    """
    m, n = X.shape[:2]
    lanes, padded = lane_count(X.dtype), -(-n // TILE) * TILE
    shift = max(_LEAST_SHIFT, 2.0 * least_eigenvalue, 2.0 * n * n * float(np.finfo(X.dtype).eps))
    chosen = lanes_of(m, lanes)
    certain = np.empty(len(chosen))
    _find_certain(
        (),
        np.float64(0),
        flat(X),
        n,
        chosen,
        np.array([symmetry_tolerance]),
        np.array([1.0 - shift]),
        aligned_empty((padded * padded, lanes), np.float64),
        aligned_empty((padded, lanes), np.float64),
        certain,
    )
    return certain[:m] > 0.0


def inspect(
    X: np.ndarray, symmetry_tolerance: float, least_eigenvalue: float, findings: np.ndarray
) -> None:
    """Write the findings, 0 for a matrix beyond doubt, on the block X (m, n, n), C-contiguous.

    A matrix is beyond doubt if all ``|a_ij − a_ji|`` together are at most ``symmetry_tolerance`` of
    the least diagonal entry, if all pivots are positive, and if λ_min(C) > ``least_eigenvalue``.

    The determinant alone may tell: the eigenvalues of C sum to n, so that the product of all but the
    least is below ``(n/(n−1))^(n−1) < e``, and ``λ_min > det(C)/e``. No single pivot tells: all may be
    above 1/n where λ_min is about ``4^-n``.
    """
    n, doubtful = X.shape[1], slice(None)
    if n >= _SIDE_BY_SIDE and len(X) > 1:
        findings[:] = 0
        doubtful = np.flatnonzero(~_certain(X, symmetry_tolerance, least_eigenvalue))
        if not len(doubtful):
            return
    some = np.empty(len(X[doubtful]), np.int64)
    scratch = np.empty((n + 2, n))
    _inspect(X[doubtful], symmetry_tolerance, least_eigenvalue, scratch, some)
    findings[doubtful] = some


@translated(types.void)
@reordered
def _inspect(X, symmetry_tolerance, least_eigenvalue, scratch, findings):
    n = X.shape[1]
    safe_determinant = _SAFE * least_eigenvalue
    L, inverse_pivots, column = scratch, scratch[n], scratch[n + 1]
    for m in range(X.shape[0]):
        findings[m] = 0
        if n < _SMALL and _surely_spd(
            X, m, symmetry_tolerance, safe_determinant, L, inverse_pivots
        ):
            continue
        A = X[m]
        least_diagonal = math.inf
        for i in range(n):
            least_diagonal = min(least_diagonal, A[i, i])
        if not _sum_of_asymmetries(A) <= symmetry_tolerance * least_diagonal:
            findings[m] += CHECK_SYMMETRY
        determinant = _factorise(A, L, inverse_pivots)
        if determinant < 0.0:
            findings[m] += NOT_POSITIVE
        elif not determinant > safe_determinant:
            # The trace costs as much as the factorisation, so it is asked only here. If it
            # overflows, to infinity or NaN, that is doubt.
            trace = _trace_of_scaled_inverse(A, L, inverse_pivots, column)
            if not trace * least_eigenvalue < 1.0:
                findings[m] += CHECK_EIGENVALUE
