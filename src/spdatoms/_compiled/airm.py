"""Σ log² λ(X_i⁻¹ Y_j) for all pairs, one pair per lane.

The λ are the eigenvalues of W = B Bᵀ (see `whitening`), computed with errors of a few eps·λ_max: good
where κ = λ_max/λ_min is moderate. Where it is not, the 1/λ are found in the same way, as eigenvalues
of (Bᵀ B)⁻¹, with errors of a few eps/λ_min. With the upper half of the λ taken from W and the lower
half from there, every one has the relative error eps·√κ: that of the singular values of B.

The halves overlap, because an eigenvalue between them must not be counted twice or never: around
the middle t = √(λ_max λ_min) weights φ and 1 − φ, φ(λ) = log(λ/t) + ½ cut off at 0 and 1, are given
to the two.
"""

import numpy as np

from spdatoms._compiled.eigenvalues import emit_eigenvalues, emit_last_two
from spdatoms._compiled.jit import compiled, kept
from spdatoms._compiled.lanes import VECTOR_BYTES, emitted
from spdatoms._compiled.tridiagonal import (
    Tridiagonal,
    emit_tridiagonal,
    emit_tridiagonal_in_registers,
    tiny,
)
from spdatoms._compiled.whitening import (
    emit_gram,
    emit_gram_in_registers,
    emit_inverse,
    emit_product,
)

#: Up to this size matrices are kept in registers.
SMALL_SIZE = 6
#: Batches whose eigenvalues are found together.
GROUP = 4
#: The greatest κ for which W suffices, and the greatest for which W and its inverse do.
_MODERATE, _EXTREME = 1e4, 1e24


def program(n: int) -> int:
    """Return the number that selects the program for n×n matrices."""
    return min(n, SMALL_SIZE + 1)


def scratch_size(n: int, slots: int, lanes: int) -> int:
    """Return how many numbers of scratch a group of pairs needs."""
    return (2 * slots + 4 * n + GROUP * (4 * n + 1)) * lanes


@emitted
def _tridiagonalise(v, selected, n, tiles, inverted, x, y, b, w, panel, out):
    """Write T of W, or of the inverse if ``inverted`` is 1 and not 0."""
    T = Tridiagonal(out, GROUP * VECTOR_BYTES)
    if selected <= SMALL_SIZE:
        W = emit_gram_in_registers(v, selected, inverted, x, y)
        emit_tridiagonal_in_registers(v, selected, W, T)
        return
    emit_product(v, tiles, x, y, b)
    for _ in v.steps(inverted):
        emit_inverse(v, tiles, b)
    emit_gram(v, tiles, b, w)
    emit_tridiagonal(v, n, w, panel, T)


@emitted
def _diagonalise(v, selected, n, tridiagonal):
    """Replace d by the eigenvalues, by NaN in lanes where the iteration did not end."""
    v = v.wide(GROUP)
    T = Tridiagonal(tridiagonal, v.bytes)
    if selected == 2:
        emit_last_two(v, n, T)
    elif selected > 2:
        residue = emit_eigenvalues(v, n, T)
        first = T.d(v.integer(0))
        ended = v.greater(v.constant(tiny(v)), residue)
        v.store(v.select(ended, v.load(first), v.constant(float("nan"))), first)


@emitted
def _sum_squares(v, selected, n, upper, shift_x, shift_y, out):
    """Store Σ (log λ + log 2·(shift_y − shift_x))², NaN where κ is not moderate."""
    v = v.wide(GROUP)
    T = Tridiagonal(upper, v.bytes)
    shift = v.sub(v.load(shift_y), v.broadcast(shift_x))
    total, least = v.variable(v.constant(0.0)), v.variable(v.load(T.d(v.integer(0))))
    for i in v.steps(n):
        eigenvalue = v.load(T.d(i))
        v.set(least, v.least(eigenvalue, v.get(least)))
        logarithm = _logarithm(v, eigenvalue, shift)
        v.set(total, v.fma(logarithm, logarithm, v.get(total)))
    moderate = v.mul(v.get(least), v.constant(_MODERATE))
    accurate = v.greater(moderate, _greatest_eigenvalue(v, n, T))
    v.store(v.select(accurate, v.get(total), v.constant(float("nan"))), out)


@emitted
def _sum_both_halves(v, selected, n, upper, lower, shift_x, shift_y, out):
    """As `_sum_squares`, with the eigenvalues λ at ``upper`` and 1/λ at ``lower``."""
    v = v.wide(GROUP)
    T, R = Tridiagonal(upper, v.bytes), Tridiagonal(lower, v.bytes)
    shift = v.sub(v.load(shift_y), v.broadcast(shift_x))
    top, bottom = _greatest_eigenvalue(v, n, T), _greatest_eigenvalue(v, n, R)
    zero = v.constant(0.0)
    middle = v.sub(_logarithm(v, top, zero), _logarithm(v, bottom, zero))
    middle = v.mul(middle, v.constant(0.5))
    total = _half_sum(v, n, T, top, middle, shift)
    total = v.add(total, _half_sum(v, n, R, bottom, v.b.fneg(middle), v.b.fneg(shift)))
    accurate = v.greater(v.constant(_EXTREME), v.mul(top, bottom))
    v.store(v.select(accurate, total, v.constant(float("nan"))), out)


def _half_sum(v, n, T, top, middle, shift):
    """Σ φ (log λ + log 2·shift)², with φ = log λ − middle + ½ cut off at 0 and 1."""
    total = v.variable(v.constant(0.0))
    # Far below the middle there is only rounding, of either sign.
    floor = v.mul(top, v.constant(1e-18))
    for i in v.steps(n):
        eigenvalue = v.greatest(v.load(T.d(i)), floor)
        offset = v.sub(v.constant(0.5), middle)
        weight = v.add(_logarithm(v, eigenvalue, v.constant(0.0)), offset)
        weight = v.least(v.greatest(weight, v.constant(0.0)), v.constant(1.0))
        logarithm = _logarithm(v, eigenvalue, shift)
        v.set(total, v.fma(weight, v.mul(logarithm, logarithm), v.get(total)))
    return v.get(total)


def _logarithm(v, x, shift):
    """log x + log 2·shift."""
    mantissa, exponent = v.split(x)
    return v.log_of_split(mantissa, v.add(exponent, shift))


def _greatest_eigenvalue(v, n, T):
    """Return the greatest eigenvalue, NaN if any is not finite."""
    zero = v.constant(0.0)
    greatest, check = v.variable(v.load(T.d(v.integer(0)))), v.variable(zero)
    for i in v.steps(n):
        eigenvalue = v.load(T.d(i))
        v.set(greatest, v.greatest(eigenvalue, v.get(greatest)))
        v.set(check, v.fma(eigenvalue, zero, v.get(check)))
    return v.add(v.get(greatest), v.get(check))


@compiled
def _spectrum(tag, scalar, n, tiles, inverted, x, y, slot_bytes, scratch, out):
    """Write the eigenvalues of a group of W, or of their inverses, to a `Tridiagonal`."""
    w = scratch + slot_bytes
    panel = w + slot_bytes
    for k in range(GROUP):
        target = out + k * VECTOR_BYTES
        source = y + k * slot_bytes
        _tridiagonalise(tag, scalar, n, tiles, inverted, x, source, scratch, w, panel, target)
    _diagonalise(tag, scalar, n, out)


@kept
def squared_distances(tag, scalar, n, tiles, X, Y, shifts_x, shifts_y, first, scratch, out):
    """out[i, j] = Σ (log λ(X_i⁻¹ Y_j) + log 2·(shifts_y[j] − shifts_x[i]))², NaN where that failed.

    ``X`` holds the factors L⁻¹ as scalars (m, slots), ``Y`` the factors M as batches of lanes
    (batches, slots, lanes), a whole number of groups of them, and ``shifts_y`` has an entry for
    every lane. Row i is written from column ``first + i`` on (``first < 0``: from the beginning).
    """
    slots, lanes = Y.shape[1], Y.shape[2]
    width, slot_bytes = GROUP * lanes, slots * VECTOR_BYTES
    space = scratch.ctypes.data
    upper = space + 2 * slot_bytes + 4 * n * VECTOR_BYTES
    lower = upper + 2 * n * GROUP * VECTOR_BYTES
    sums = lower + 2 * n * GROUP * VECTOR_BYTES
    values = scratch[(sums - space) // scratch.itemsize :]
    for i in range(X.shape[0]):
        x = X.ctypes.data + i * slots * X.itemsize
        shift_x = shifts_x.ctypes.data + i * X.itemsize
        left = first + i if first >= 0 else 0
        for group in range(left // width, Y.shape[0] // GROUP):
            y = Y.ctypes.data + group * GROUP * slot_bytes
            shift_y = shifts_y.ctypes.data + group * GROUP * VECTOR_BYTES
            columns = range(max(group * width, left), min((group + 1) * width, out.shape[1]))
            _spectrum(tag, scalar, n, tiles, 0, x, y, slot_bytes, space, upper)
            _sum_squares(tag, scalar, n, upper, shift_x, shift_y, sums)
            unanswered = False
            for j in columns:
                out[i, j] = values[j - group * width]
                unanswered |= np.isnan(out[i, j])
            if unanswered:
                _spectrum(tag, scalar, n, tiles, 1, x, y, slot_bytes, space, lower)
                _sum_both_halves(tag, scalar, n, upper, lower, shift_x, shift_y, sums)
                for j in columns:
                    if np.isnan(out[i, j]):
                        out[i, j] = values[j - group * width]
