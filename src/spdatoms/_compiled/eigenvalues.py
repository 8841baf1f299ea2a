"""Σ log² λ(X_i⁻¹ Y_j) for all pairs: whiten, make tridiagonal, find the eigenvalues, one pair a lane.

The eigenvalues come from the root-free QL iteration of Pal, Walker and Kahan with Wilkinson's
shift, the squares e² of the off-diagonal going to zero from the top. All lanes make the same
sweeps: the iteration goes on to the next eigenvalue when every lane has found this one, and a lane
that is ahead already shifts towards its next. A sweep is a chain of dependent divisions, so that
several batches are swept together, as vectors of more than one register.

An eigenvalue is wrong by a few eps·λ_max. A pair with λ_max/λ_min so large that this may be
felt, or whose iteration did not end, is answered by NaN: it has to be done by other means.
"""

from numba import njit

from spdatoms._compiled.lanes import VECTOR_BYTES, emitted
from spdatoms._compiled.tridiagonal import (
    Tridiagonal,
    emit_tridiagonal,
    emit_tridiagonal_in_registers,
    tiny,
)
from spdatoms._compiled.whitening import emit_whitened, emit_whitened_in_registers

#: Up to this size matrices are kept in registers.
SMALL_SIZE = 6
#: Batches that are swept together.
GROUP = 4
#: QL sweeps per eigenvalue, on average, after which the iteration is given up.
_SWEEPS = 30


def program(n: int) -> int:
    """Return the number that selects the program for n×n matrices."""
    return min(n, SMALL_SIZE + 1)


def scratch_size(n: int, slots: int, lanes: int) -> int:
    """Return how many numbers of scratch a group of pairs needs."""
    factors = 2 * slots + 4 * n
    return (factors + 2 * GROUP * (n + 1)) * lanes


@emitted
def _tridiagonalise(v, selected, n, tiles, x, y, b, w, panel, out):
    target = Tridiagonal(out, GROUP * VECTOR_BYTES)
    if selected <= SMALL_SIZE:
        A = emit_whitened_in_registers(v, selected, x, y)
        emit_tridiagonal_in_registers(v, selected, A, target)
    else:
        emit_whitened(v, tiles, x, y, b, w)
        emit_tridiagonal(v, n, w, panel, target)


@emitted
def _squared_distances(v, selected, n, tridiagonal, shift_x, shift_y, limit_x, limit_y, out):
    """Store Σ (log λ + log 2·(shift_y − shift_x))², NaN where λ_max/λ_min is above both limits."""
    n = v.integer(selected) if selected <= SMALL_SIZE else n
    v = v.wide(GROUP)
    T = Tridiagonal(tridiagonal, v.bytes)
    residue = _iterate(v, n, T) if selected > 2 else v.constant(0.0)
    if selected > 1:
        _last_two(v, n, T)
    shift = v.sub(v.load(shift_y), v.broadcast(shift_x))
    first = v.load(T.d(v.integer(0)))
    total, least, greatest = (v.variable(x) for x in (v.constant(0.0), first, first))
    for i in v.steps(n):
        eigenvalue = v.load(T.d(i))
        v.set(least, v.least(eigenvalue, v.get(least)))
        v.set(greatest, v.greatest(eigenvalue, v.get(greatest)))
        mantissa, exponent = v.split(eigenvalue)
        logarithm = v.log_of_split(mantissa, v.add(exponent, shift))
        v.set(total, v.fma(logarithm, logarithm, v.get(total)))
    limit = v.greatest(v.load(limit_y), v.broadcast(limit_x))
    accurate = v.greater(v.mul(v.get(least), limit), v.get(greatest))
    finished = v.greater(v.constant(tiny(v)), residue)
    nan = v.constant(float("nan"))
    v.store(v.select(finished, v.select(accurate, v.get(total), nan), nan), out)


def _iterate(v, n, T):
    """Make e²[0] … e²[n − 3] vanish; return the sum of what is left of them."""
    budget = v.variable((n * _SWEEPS).emitted)
    residue = v.variable(v.constant(0.0))

    for first in v.steps(n - 2):

        def unfinished(first=first):
            e2 = v.load(T.e2(first))
            large = _not_negligible(v, e2, v.load(T.d(first)), v.load(T.d(first + 1)))
            v.store(v.select(large, e2, v.constant(0.0)), T.e2(first))
            allowed = v.b.icmp_signed(">", v.get(budget), v.integer(0).emitted)
            return v.b.and_(v.anywhere(large), allowed)

        for _ in v.whilst(unfinished):
            _sweep(v, n, first, T)
            v.set(budget, (v.integer(v.get(budget)) - 1).emitted)
        v.set(residue, v.add(v.get(residue), v.load(T.e2(first))))
    return v.get(residue)


def _not_negligible(v, e2, d, next_d):
    eps = 2.0**-52 if v.bits == 64 else 2.0**-23
    return v.greater(e2, v.mul(v.absolute(v.mul(d, next_d)), v.constant(eps * eps)))


def _shift(v, first, T):
    """Return the eigenvalue nearest to d[i] of the leading 2×2 matrix at i: ``first``, or the next."""
    d, e2 = ([v.load(at(first + i)) for i in range(k)] for at, k in ((T.d, 3), (T.e2, 2)))
    here = v.greater(e2[0], v.constant(0.0))
    a, b = v.select(here, d[0], d[1]), v.select(here, d[1], d[2])
    square = v.select(here, e2[0], e2[1])
    half = v.mul(v.sub(b, a), v.constant(0.5))
    root = v.sqrt(v.fma(half, half, square))
    size = v.greatest(v.add(v.absolute(half), root), v.constant(tiny(v)))
    return v.sub(a, v.copysign(v.div(square, size), half))


def _sweep(v, n, first, T):
    """One QL sweep, from the last row up to ``first``.

    It is the inner loop of LAPACK's sterf: c and s are squares of cosine and sine. Where c vanishes,
    γ²/c is replaced by its limit; γ² is kept from vanishing, so that c = 1 where e² = 0.
    """
    shift = _shift(v, first, T)
    one, floor = v.constant(1.0), v.constant(tiny(v))
    smallest_c = v.constant(1e-200 if v.bits == 64 else 1e-25)
    gamma_0 = v.sub(v.load(T.d(n - 1)), shift)
    cosine, sine, gamma = (v.variable(x) for x in (one, v.constant(0.0), gamma_0))
    p = v.variable(v.greatest(v.mul(gamma_0, gamma_0), floor))
    for step in v.steps(n - 1 - first):
        i = n - 2 - step
        e2, d = v.load(T.e2(i)), v.load(T.d(i))
        r = v.add(v.get(p), e2)
        v.store(v.mul(v.get(sine), r), T.e2(i + 1))
        inverse = v.reciprocal(r)
        limit = v.mul(v.get(cosine), e2)
        c, s = v.mul(v.get(p), inverse), v.mul(e2, inverse)
        ratio = v.div(r, v.get(p))
        old = v.get(gamma)
        new = v.fma(c, v.sub(d, shift), v.b.fneg(v.mul(s, old)))
        v.store(v.add(old, v.sub(d, new)), T.d(i + 1))
        new_p = v.select(v.greater(c, smallest_c), v.mul(v.mul(new, new), ratio), limit)
        for slot, value in ((cosine, c), (sine, s), (gamma, new)):
            v.set(slot, value)
        v.set(p, v.greatest(new_p, floor))
    v.store(v.mul(v.get(sine), v.get(p)), T.e2(first))
    v.store(v.add(shift, v.get(gamma)), T.d(first))


def _last_two(v, n, T):
    """Replace the last two d by the eigenvalues of their 2×2 matrix."""
    a, b = v.load(T.d(n - 2)), v.load(T.d(n - 1))
    e2 = v.load(T.e2(n - 2))
    half = v.constant(0.5)
    difference = v.mul(v.sub(a, b), half)
    root = v.sqrt(v.fma(difference, difference, e2))
    greater = v.add(v.mul(v.add(a, b), half), root)
    v.store(greater, T.d(n - 2))
    v.store(v.div(v.sub(v.mul(a, b), e2), greater), T.d(n - 1))


@njit(cache=True, nogil=True)
def squared_distances(tag, scalar, n, tiles, X, Y, shifts, limits, first, scratch, out):
    """out[i, j] = Σ log² λ(X_i⁻¹ Y_j), or NaN; see `_squared_distances`.

    ``X`` holds the factors L⁻¹ as scalars (m, slots), ``Y`` the factors M as batches of lanes
    (batches, slots, lanes), a whole number of groups of them; ``shifts`` and ``limits`` are pairs of
    arrays for X and Y, the latter as long as there are lanes. Row i is computed from the group of
    column ``first + i`` on (``first < 0``: from the beginning).
    """
    slots, lanes = Y.shape[1], Y.shape[2]
    width = GROUP * lanes
    slot_bytes = slots * VECTOR_BYTES
    b = scratch.ctypes.data
    w = b + slot_bytes
    panel = w + slot_bytes
    tridiagonal = panel + 4 * n * VECTOR_BYTES
    distances = tridiagonal + 2 * n * GROUP * VECTOR_BYTES
    result = scratch[(distances - b) // scratch.itemsize :]
    shift_x, shift_y, limit_x, limit_y = (
        shifts[0].ctypes.data,
        shifts[1].ctypes.data,
        limits[0].ctypes.data,
        limits[1].ctypes.data,
    )
    for i in range(X.shape[0]):
        x = X.ctypes.data + i * slots * X.itemsize
        x_shift, x_limit = shift_x + i * X.itemsize, limit_x + i * X.itemsize
        start = max(0, first + i) // width if first >= 0 else 0
        for group in range(start, Y.shape[0] // GROUP):
            y = Y.ctypes.data + group * GROUP * slot_bytes
            for k in range(GROUP):
                target = tridiagonal + k * VECTOR_BYTES
                source = y + k * slot_bytes
                _tridiagonalise(tag, scalar, n, tiles, x, source, b, w, panel, target)
            at = group * GROUP * VECTOR_BYTES
            y_shift, y_limit = shift_y + at, limit_y + at
            _squared_distances(
                tag, scalar, n, tridiagonal, x_shift, y_shift, x_limit, y_limit, distances
            )
            for j in range(group * width, min((group + 1) * width, out.shape[1])):
                out[i, j] = result[j - group * width]


@njit(cache=True, nogil=True)
def invert_lower(L, inverse):
    """Write L⁻¹ of lower triangular matrices L (m, n, n) to ``inverse``, which is zero before."""
    for a in range(L.shape[0]):
        for i in range(L.shape[1]):
            row = inverse[a, i]
            row[i] = 1.0
            for k in range(i):
                factor, other = L[a, i, k], inverse[a, k]
                for j in range(k + 1):
                    row[j] -= factor * other[j]
            for j in range(i + 1):
                row[j] /= L[a, i, i]
