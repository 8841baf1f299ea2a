"""Qᵀ W Q = T: a batch of symmetric matrices made tridiagonal by reflections, one matrix per lane.

Step k reflects row k of the leading matrix A onto its last entry, H = I − τ u uᵀ, and

    H A H = A − u wᵀ − w uᵀ    with    p = τ A u,  w = p − (τ/2)(pᵀu) u.

The update of one step and the product A u of the next are made in one pass over A: only the next
row, which gives u, must be updated before. So every entry is loaded and stored once a step, for
four multiply-adds. Rows go from the last to the first because the lower triangle is stored row
after row: what is left to do is then always the beginning of the storage.

Only the diagonal d and the squares e² of the off-diagonal are wanted. Entry i of T, ``d[i]`` and
``e²[i]`` (between i and i + 1), is written with ``stride`` bytes between numbers.
"""

from spdatoms._compiled.lanes import VECTOR_BYTES
from spdatoms._compiled.whitening import triangle_start


class Tridiagonal:
    """Addresses of d and e²."""

    def __init__(self, base, stride):
        self.base, self.stride = base, stride

    def d(self, i):
        """Return the address of d[i]."""
        return self.base + i * (2 * self.stride)

    def e2(self, i):
        """Return the address of e²[i]."""
        return self.base + (i * 2 + 1) * self.stride


class Reflections:
    """Addresses of v and w (the pending update), u (the next reflection) and p = A u."""

    def __init__(self, v, matrix, panel):
        self.v, self.matrix, self.panel = v, matrix, panel

    def vectors(self, i, names):
        """Load entries i of the vectors that are named."""
        return [self.v.load(self.address(i, name)) for name in names]

    def address(self, i, name):
        """Return the address of an entry; those with the same index lie side by side."""
        return self.panel + (i * 4 + "vwup".index(name)) * VECTOR_BYTES

    def row(self, i):
        """Return the address of row i of A."""
        return self.matrix + triangle_start(i) * VECTOR_BYTES


def reflection(v, squares, last):
    """Return the last entry of u, τ and ‖row‖², of a row with this last entry and Σ a² of the others."""
    norm2 = v.fma(last, last, squares)
    norm = v.sqrt(norm2)
    half = v.fma(v.absolute(last), norm, norm2)  # ‖u‖²/2
    # A row of zeros needs no reflection: u = 0, and τ is any finite number.
    tau = v.reciprocal(v.greatest(half, v.constant(tiny(v))))
    return v.add(last, v.copysign(norm, last)), tau, norm2


def tiny(v) -> float:
    """Return a number whose reciprocal is finite."""
    return 1e-300 if v.bits == 64 else 1e-37


def emit_tridiagonal(v, n, matrix, panel, out: Tridiagonal):
    """Reduce the n×n matrices (n ≥ 3) at ``matrix``, which are overwritten."""
    work = Reflections(v, matrix, panel)
    zero = v.constant(0.0)
    for i in v.steps(n):
        v.store(zero, work.address(i, "v"))
        v.store(zero, work.address(i, "w"))
    for step in v.steps(n - 2):
        k = n - 1 - step
        tau = _next_reflection(work, k, out)
        _update_and_multiply(work, k)
        _pending_update(work, k, tau)
    (v0, w0), (v1, w1) = (work.vectors(v.integer(i), "vw") for i in range(2))
    a00, a10, a11 = (v.load(matrix + slot * VECTOR_BYTES) for slot in range(3))
    e = v.fnma(v1, w0, v.fnma(w1, v0, a10))
    v.store(_updated_diagonal(v, a00, v0, w0), out.d(v.integer(0)))
    v.store(_updated_diagonal(v, a11, v1, w1), out.d(v.integer(1)))
    v.store(v.mul(e, e), out.e2(v.integer(0)))


def _updated_diagonal(v, a, v_i, w_i):
    return v.fnma(v.add(v_i, v_i), w_i, a)


def _next_reflection(work, k, out):
    """Update row k, find u and return τ; d[k] and e²[k − 1] are then known."""
    v = work.v
    v_k, w_k = work.vectors(k, "vw")
    row = work.row(k)

    def updated(j):
        v_j, w_j = work.vectors(j, "vw")
        return v.fnma(v_k, w_j, v.fnma(w_k, v_j, v.load(row + j * VECTOR_BYTES)))

    squares = v.variable(v.constant(0.0))
    for j in v.steps(k - 1):
        u = updated(j)
        v.store(u, work.address(j, "u"))
        v.set(squares, v.fma(u, u, v.get(squares)))
    u, tau, norm2 = reflection(v, v.get(squares), updated(k - 1))
    v.store(u, work.address(k - 1, "u"))
    v.store(norm2, out.e2(k - 1))
    diagonal = v.load(row + k * VECTOR_BYTES)
    v.store(_updated_diagonal(v, diagonal, v_k, w_k), out.d(k))
    return tau


def _update_and_multiply(work, k):
    """A ← A − v wᵀ − w vᵀ and p = A u, for the leading k×k matrix, two rows at a time."""
    v = work.v
    odd = k.parity()
    for _ in v.steps(odd):
        zero = v.integer(0)
        v_0, w_0, u_0 = work.vectors(zero, "vwu")
        a = _updated_diagonal(v, v.load(work.matrix), v_0, w_0)
        v.store(a, work.matrix)
        v.store(v.mul(a, u_0), work.address(zero, "p"))
    for pair in v.steps((k - odd).halved()):
        _two_rows(work, pair * 2 + odd)


def _two_rows(work, i):
    v = work.v
    upper, lower = work.row(i), work.row(i + 1)
    v_0, w_0, u_0 = work.vectors(i, "vwu")
    v_1, w_1, u_1 = work.vectors(i + 1, "vwu")
    p_0, p_1 = (v.variable(v.constant(0.0)) for _ in range(2))
    for j in v.steps(i):
        v_j, w_j, u_j, p_j = work.vectors(j, "vwup")
        a_0 = v.fnma(v_0, w_j, v.fnma(w_0, v_j, v.load(upper + j * VECTOR_BYTES)))
        a_1 = v.fnma(v_1, w_j, v.fnma(w_1, v_j, v.load(lower + j * VECTOR_BYTES)))
        v.store(a_0, upper + j * VECTOR_BYTES)
        v.store(a_1, lower + j * VECTOR_BYTES)
        v.set(p_0, v.fma(a_0, u_j, v.get(p_0)))
        v.set(p_1, v.fma(a_1, u_j, v.get(p_1)))
        v.store(v.fma(a_1, u_1, v.fma(a_0, u_0, p_j)), work.address(j, "p"))
    at_00, at_10 = upper + i * VECTOR_BYTES, lower + i * VECTOR_BYTES
    at_11 = at_10 + VECTOR_BYTES
    a_00 = _updated_diagonal(v, v.load(at_00), v_0, w_0)
    a_10 = v.fnma(v_1, w_0, v.fnma(w_1, v_0, v.load(at_10)))
    a_11 = _updated_diagonal(v, v.load(at_11), v_1, w_1)
    v.store(a_00, at_00)
    v.store(a_10, at_10)
    v.store(a_11, at_11)
    p_0 = v.fma(a_10, u_1, v.fma(a_00, u_0, v.get(p_0)))
    p_1 = v.fma(a_11, u_1, v.fma(a_10, u_0, v.get(p_1)))
    v.store(p_0, work.address(i, "p"))
    v.store(p_1, work.address(i + 1, "p"))


def _pending_update(work, k, tau):
    """v ← u and w ← τ p − (τ²/2)(pᵀu) u."""
    v = work.v
    product = v.variable(v.constant(0.0))
    for j in v.steps(k):
        u, p = work.vectors(j, "up")
        v.set(product, v.fma(u, p, v.get(product)))
    factor = _half_square(v, tau, v.get(product))
    for j in v.steps(k):
        u, p = work.vectors(j, "up")
        v.store(u, work.address(j, "v"))
        v.store(v.fnma(factor, u, v.mul(tau, p)), work.address(j, "w"))


def _half_square(v, tau, product):
    return v.mul(v.mul(tau, v.constant(0.5)), v.mul(tau, product))


def emit_tridiagonal_in_registers(v, n, A, out: Tridiagonal):
    """Reduce small matrices, given as a dictionary of entries that is overwritten."""
    for k in range(n - 1, 1, -1):
        squares = v.constant(0.0)
        for j in range(k - 1):
            squares = v.fma(A[k, j], A[k, j], squares)
        last, tau, norm2 = reflection(v, squares, A[k, k - 1])
        u = [A[k, j] for j in range(k - 1)] + [last]
        v.store(A[k, k], out.d(v.integer(k)))
        v.store(norm2, out.e2(v.integer(k - 1)))
        p, product = [], v.constant(0.0)
        for i in range(k):
            total = v.constant(0.0)
            for j in range(k):
                total = v.fma(A[max(i, j), min(i, j)], u[j], total)
            p.append(total)
            product = v.fma(u[i], total, product)
        factor = _half_square(v, tau, product)
        w = [v.fnma(factor, u[j], v.mul(tau, p[j])) for j in range(k)]
        for i in range(k):
            for j in range(i + 1):
                A[i, j] = v.fnma(u[i], w[j], v.fnma(w[i], u[j], A[i, j]))
    for i in range(min(n, 2)):
        v.store(A[i, i], out.d(v.integer(i)))
    if n > 1:
        v.store(v.mul(A[1, 0], A[1, 0]), out.e2(v.integer(0)))
