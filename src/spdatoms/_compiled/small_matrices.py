"""Dense algebra of one small matrix at a time: Cholesky factors, their inverses, products, half-vectors.

For the sizes of SPD descriptors a call of LAPACK costs more than the arithmetic. Matrices are square and
in C order; the results are written to the last argument. Half-vectors have the weight √2 off the diagonal.
"""

from __future__ import annotations

import math

from numba import njit

from spdatoms._compiled.jit import REORDERED, WITHIN

# A sum may be taken in any order, which makes a dot product a vector operation.
compiled = njit(**WITHIN, fastmath=REORDERED)

ROOT_TWO = math.sqrt(2.0)


@compiled
def pack(A, half):
    """Write the half-vector of a symmetric matrix, of which the lower half is read."""
    k = 0
    for i in range(len(A)):
        for j in range(i):
            half[k] = ROOT_TWO * A[i, j]
            k += 1
        half[k] = A[i, i]
        k += 1


@compiled
def unpack(half, A):
    """Write the symmetric matrix of a half-vector."""
    k = 0
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = half[k] / ROOT_TWO
            A[j, i] = A[i, j]
            k += 1
        A[i, i] = half[k]
        k += 1


@compiled
def factorise_sum(A, t, B, L):
    """Write the L of A + tB = L Lᵀ; return whether that is positive definite."""
    n = len(A)
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j] + t * B[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                L[i, i] = math.sqrt(total)
            else:
                return False
        for j in range(i + 1, n):
            L[i, j] = 0.0
    return True


@compiled
def factorise(A, L):
    """Write the L of A = L Lᵀ; return whether A is positive definite."""
    return factorise_sum(A, 0.0, A, L)


@compiled
def invert_lower(L, T):
    """Write T = L⁻¹, row by row."""
    n = len(L)
    for i in range(n):
        for j in range(n):
            T[i, j] = 0.0
        for k in range(i):
            for j in range(k + 1):
                T[i, j] -= L[i, k] * T[k, j]
        T[i, i] = 1.0
        for j in range(i + 1):
            T[i, j] /= L[i, i]


@compiled
def invert(L, T, inverse):
    """Write T = L⁻¹ and TᵀT, the inverse of L Lᵀ."""
    n = len(L)
    invert_lower(L, T)
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 0.0
    for k in range(n):
        for i in range(k + 1):
            for j in range(k + 1):
                inverse[i, j] += T[k, i] * T[k, j]


@compiled
def log_determinant(L):
    """log det(L Lᵀ)."""
    total = 0.0
    for i in range(len(L)):
        total += math.log(L[i, i])
    return 2.0 * total


@compiled
def inner_product(A, B):
    """tr(AᵀB)."""
    total = 0.0
    for i in range(len(A)):
        for j in range(len(A)):
            total += A[i, j] * B[i, j]
    return total


@compiled
def add(A, t, B, C):
    """Write C = A + tB."""
    for i in range(len(A)):
        for j in range(len(A)):
            C[i, j] = A[i, j] + t * B[i, j]


@compiled
def multiply(A, B, C):
    """Write C = AB."""
    n = len(A)
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
        for k in range(n):
            for j in range(n):
                C[i, j] += A[i, k] * B[k, j]


@compiled
def multiply_symmetric(A, B, C, D, work):
    """Write D = ½(ABC + CBA) for symmetric A, B and C."""
    n = len(A)
    multiply(A, B, D)
    multiply(D, C, work)
    for i in range(n):
        for j in range(n):
            D[i, j] = 0.5 * (work[i, j] + work[j, i])
