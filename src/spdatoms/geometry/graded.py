"""Graded matrices: variables in very different units, and all the digits of their small singular values.

A congruence by powers of two is exact, and brings every variable of a matrix to a size near one. What
is then left of the grading is that of one matrix relative to another, or of the eigenvalues themselves.
LAPACK's usual singular values are wrong by ``eps·σ_max``. One-sided Jacobi rotations find every σ of
``F = C D`` to a relative error of about ``eps·κ(C)``, whatever the diagonal D [1]_.

.. [1] Z. Drmač and K. Veselić, New fast and accurate Jacobi SVD algorithm, 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from spdatoms._utils.typing import Floats, Indices

#: The largest over the least variance from which on the usual singular values would lose digits.
_GRADED = 1e4


def unit_exponents(A: Floats) -> Indices:
    """Return the integers k with ``1/2 ≤ a_ii / 4^k_i < 2``, shape (..., n)."""
    return np.asarray(np.frexp(np.einsum("...ii->...i", A))[1] // 2, dtype=np.intp)


def in_units(A: Floats, exponents: Indices) -> Floats:
    """Return ``2^-k_i a_ij 2^-k_j``, which is exact: A in other units of its variables."""
    scales = np.ldexp(1.0, -exponents)  # one after the other: their product may be out of range
    return np.asarray(A * scales[..., :, None] * scales[..., None, :])


def is_graded(variances: Floats, axis: int = -1) -> NDArray[np.bool_]:
    """Return which of the rows of positive numbers span so much that digits would be lost."""
    return np.asarray(~(variances.max(axis=axis) <= _GRADED * variances.min(axis=axis)))


def descending(variances: Floats) -> Indices:
    """Return the order of the variables, largest first: with it Cholesky factors have the form C D."""
    return np.argsort(-variances, axis=-1, kind="stable")


def reordered(A: Floats, order: Indices) -> Floats:
    """Return the matrices (m, n, n) with rows and columns in another order."""
    rows = np.take_along_axis(A, order[:, :, None], axis=1)
    return np.take_along_axis(rows, order[:, None, :], axis=2)


def rows_restored(F: Floats, order: Indices) -> Floats:
    """Return the matrices (m, n, n) whose rows, in this order, are those of F."""
    restored = np.empty_like(F)
    np.put_along_axis(restored, order[:, :, None], F, axis=1)
    return restored


def jacobi_svd(F: Floats) -> tuple[Floats, Floats, Floats]:
    """Return U, σ and V of ``F = U diag(σ) Vᵀ`` for a stack (m, n, n), by Jacobi rotations."""
    U, ratios, V = np.empty_like(F), np.empty(F.shape[:2]), np.empty_like(F)
    for i, A in enumerate(F):
        # joba=0 promises the accuracy, jobr=0 and jobp=0 keep values that are tiny next to the largest.
        values, U[i], V[i], work, _, info = lapack.dgejsv(A, joba=0, jobr=0, jobp=0)
        if info:
            raise np.linalg.LinAlgError("The Jacobi rotations of a graded matrix did not converge.")
        ratios[i] = values * (work[0] / work[1])
    return U, ratios, V
