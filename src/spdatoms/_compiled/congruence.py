"""T A Tᵀ and T A Uᵀ for eight matrices A at a time, with triangular T and U: one matrix per lane."""

from __future__ import annotations

import numpy as np

from spdatoms._compiled.lanes import VECTOR_BYTES, emitted
from spdatoms._compiled.small_matrices import ROOT_TWO, compiled

#: Matrices in a stack, and the bytes of an entry of all of them.
LANES, _WIDTH = 8, 64


@emitted
def _weighted_sum(v, doubled, count, factors, vectors, out):
    """Store Σ_k factors[k] · vectors[k] over 0 ≤ k < count, √2 times as much if ``doubled``.

    All but count are addresses.
    """
    v = v.wide(_WIDTH // VECTOR_BYTES)
    total = v.variable(v.constant(0.0))
    for k in v.steps(count):
        term = v.fma(v.broadcast(factors + k * 8), v.load(vectors + k * _WIDTH), v.get(total))
        v.set(total, term)
    v.store(v.mul(v.get(total), v.constant(ROOT_TWO if doubled else 1.0)), out)


@compiled
def gather(atoms, factors, chosen, count):
    """Return stack[g, a, b, i] = D_j[a, b] / factors[j] with j = chosen[8g + i]: eight matrices side by side.

    The last eight are filled up with zeros.
    """
    n = atoms.shape[1]
    stack = np.zeros((-(-count // LANES), n, n, LANES))
    for i in range(count):
        j = chosen[i]
        for a in range(n):
            for b in range(n):
                stack[i // LANES, a, b, i % LANES] = atoms[j, a, b] / factors[j]
    return stack


@compiled
def _row_of_product(T, i, matrices, columns, rows):
    """Write (TA)_ij for 0 ≤ j < columns to rows[j], where A is symmetric and at an address."""
    n = len(T)
    factors, out = T.ctypes.data + i * n * 8, rows.ctypes.data
    for j in range(columns):
        # Row j of A is its column j.
        _weighted_sum((), 1.0, i + 1, factors, matrices + j * n * _WIDTH, out + j * _WIDTH)


# Of arrays that are known by their address alone numba would free the memory too early: an argument lives
# until the function ends.


@compiled
def transform_halves(T, stack, rows, V):
    """Write the half-vectors of T A Tᵀ to the columns of V, where T is lower triangular, A symmetric.

    ``rows`` (n, LANES) is for intermediate results, here and below.
    """
    n = len(T)
    for g in range(len(stack)):
        matrices, out = stack.ctypes.data + g * n * n * _WIDTH, V.ctypes.data + g * _WIDTH
        for i in range(n):
            _row_of_product(T, i, matrices, i + 1, rows)
            for j in range(i):
                factors = T.ctypes.data + j * n * 8
                _weighted_sum((0,), 1.0, j + 1, factors, rows.ctypes.data, out)
                out += V.shape[1] * 8
            _weighted_sum((), 1.0, i + 1, T.ctypes.data + i * n * 8, rows.ctypes.data, out)
            out += V.shape[1] * 8


@compiled
def transform_fully(T, stack, U, rows, V):
    """Write the entries of T A Uᵀ to the columns of V, T lower and U upper triangular, A symmetric."""
    n = len(T)
    for g in range(len(stack)):
        matrices, out = stack.ctypes.data + g * n * n * _WIDTH, V.ctypes.data + g * _WIDTH
        for i in range(n):
            _row_of_product(T, i, matrices, n, rows)
            for j in range(n):
                factors = U.ctypes.data + j * (n + 1) * 8
                _weighted_sum((), 1.0, n - j, factors, rows.ctypes.data + j * _WIDTH, out)
                out += V.shape[1] * 8
