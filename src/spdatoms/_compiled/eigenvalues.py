"""The eigenvalues of symmetric tridiagonal matrices, one matrix per lane, by the root-free QL iteration.

It is that of Pal, Walker and Kahan, with Wilkinson's shift: the squares e² of the off-diagonal go to
zero from the top. All lanes make the same sweeps: the iteration goes on to the next eigenvalue when
every lane has found this one, and a lane that is ahead already shifts towards its next. A sweep is a
chain of dependent divisions, so several batches should be swept together, as vectors of more than
one register. An eigenvalue is wrong by a few eps·λ_max.
"""

from spdatoms._compiled.tridiagonal import tiny

#: QL sweeps per eigenvalue, on average, after which the iteration is given up.
_SWEEPS = 30


def emit_eigenvalues(v, n, T):
    """Replace d by the eigenvalues, for n ≥ 3; return the sum of the e² that did not vanish."""
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
    emit_last_two(v, n, T)
    return v.get(residue)


def _not_negligible(v, e2, d, next_d):
    eps = 2.0**-52 if v.bits == 64 else 2.0**-23
    return v.greater(e2, v.mul(v.absolute(v.mul(d, next_d)), v.constant(eps * eps)))


def _shift(v, first, T):
    """Return the eigenvalue nearest to d[i] of the 2×2 matrix at i: ``first``, or the next row."""
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

    It is the inner loop of LAPACK's sterf: c and s are squares of cosine and sine. Where c
    vanishes, γ²/c is replaced by its limit; γ² is kept from vanishing, so that c = 1 where e² = 0.
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


def emit_last_two(v, n, T):
    """Replace the last two d by the eigenvalues of their 2×2 matrix."""
    a, b = v.load(T.d(n - 2)), v.load(T.d(n - 1))
    e2 = v.load(T.e2(n - 2))
    half = v.constant(0.5)
    difference = v.mul(v.sub(a, b), half)
    root = v.sqrt(v.fma(difference, difference, e2))
    greater = v.add(v.mul(v.add(a, b), half), root)
    v.store(greater, T.d(n - 2))
    v.store(v.div(v.sub(v.mul(a, b), e2), greater), T.d(n - 1))
