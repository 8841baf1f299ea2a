"""U λ Uᵀ = A: eigenvalues and eigenvectors of a batch of small SPD matrices by Jacobi rotations, one matrix per lane.

A rotation in the plane of p and q makes the entry a_pq zero; sweeps over all planes go on until every entry is
negligible next to √(a_pp a_qq), in all lanes. The eigenvalues are in no order.
"""

from itertools import chain

from spdatoms._compiled.lanes import INT

#: Sweeps after which the iteration is given up. Six are usual.
_SWEEPS = 30
_EPS = 2.0**-52


class Square:
    """Addresses of the entries of a batch of n×n matrices, row by row, vectors of ``v`` each."""

    def __init__(self, v, n, base, transposed=False):
        self.v, self.n, self.base, self.transposed = v, n, base, transposed

    def at(self, r, c):
        """Return the address of an entry."""
        r, c = (c, r) if self.transposed else (r, c)
        return self.base + (self.n * r + c) * self.v.bytes

    @property
    def turned(self):
        """The transposed matrices."""
        return Square(self.v, self.n, self.base, not self.transposed)


def emit_rotations(v, n, A, U):
    """Make A, of which the lower triangle is used, diagonal, and write the eigenvectors to the columns of U."""
    for r in v.steps(n):
        for c in v.steps(n):
            v.store(v.constant(0.0), U.at(r, c))
        v.store(v.constant(1.0), U.at(r, r))
    budget, found = v.variable(v.integer(_SWEEPS).emitted), v.variable(v.constant(1.0))

    def unfinished():
        rotated = v.anywhere(v.greater(v.get(found), v.constant(0.0)))
        allowed = v.b.icmp_signed(">", v.get(budget), v.integer(0).emitted)
        return v.b.and_(rotated, allowed)

    for _ in v.whilst(unfinished):
        v.set(found, v.constant(0.0))
        for q in v.steps(n):
            for p in v.steps(q):
                _rotate(v, n, A, U, p, q, found)
        v.set(budget, (v.integer(v.get(budget)) - 1).emitted)


def _rotate(v, n, A, U, p, q, found):
    """Make a_qp zero, if it is not negligible in all lanes; ``found`` becomes one where it was not."""
    a_pp, a_qq, a_qp = (v.load(A.at(r, c)) for r, c in ((p, p), (q, q), (q, p)))
    one, zero = v.constant(1.0), v.constant(0.0)
    limit = v.mul(v.constant(_EPS * _EPS), v.mul(a_pp, a_qq))
    large = v.greater(v.mul(a_qp, a_qp), limit)
    v.set(found, v.select(large, one, v.get(found)))
    for _ in v.steps(v.integer(v.b.zext(v.anywhere(large), INT))):
        ratio = v.div(v.mul(v.constant(0.5), v.sub(a_qq, a_pp)), v.select(large, a_qp, one))
        tangent = v.reciprocal(v.add(v.absolute(ratio), v.sqrt(v.fma(ratio, ratio, one))))
        tangent = v.select(large, v.copysign(tangent, ratio), zero)
        cosine = v.reciprocal(v.sqrt(v.fma(tangent, tangent, one)))
        sine = v.mul(tangent, cosine)
        for pair in chain(_columns(v, n, U, p, q), _rows_and_columns(v, n, A, p, q)):
            x, y = (v.load(place) for place in pair)
            v.store(v.fnma(sine, y, v.mul(cosine, x)), pair[0])
            v.store(v.fma(sine, x, v.mul(cosine, y)), pair[1])
        v.store(v.fnma(tangent, a_qp, a_pp), A.at(p, p))
        v.store(v.fma(tangent, a_qp, a_qq), A.at(q, q))
        v.store(v.select(large, zero, a_qp), A.at(q, p))


def _columns(v, n, U, p, q):
    """Iterate over the addresses of u_kp and u_kq."""
    for k in v.steps(n):
        yield U.at(k, p), U.at(k, q)


def _rows_and_columns(v, n, A, p, q):
    """Iterate over the addresses of a_kp and a_kq in the lower triangle, for all other k."""
    for k in v.steps(p):
        yield A.at(p, k), A.at(q, k)
    for k in v.steps(q - p - 1):
        yield A.at(p + 1 + k, p), A.at(q, p + 1 + k)
    for k in v.steps(n - 1 - q):
        yield A.at(q + 1 + k, p), A.at(q + 1 + k, q)
