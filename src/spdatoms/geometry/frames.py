"""The frame in which two SPD matrices are diagonal: all that the affine-invariant geometry needs of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats, Indices
from spdatoms.exceptions import OutOfRangeError
from spdatoms.geometry.graded import (
    descending,
    in_units,
    is_graded,
    jacobi_svd,
    reordered,
    rows_restored,
    unit_exponents,
)
from spdatoms.geometry.spectral import (
    as_stack,
    cholesky,
    compose,
    factored_roots,
    gram,
    solve_lower,
    transpose,
)

#: From this λ_min/λ_max on eigenvalues have nearly the digits of singular values, and are found sooner.
_WELL_CONDITIONED = 1e-4


@dataclass(frozen=True)
class CommonFrame:
    """F, σ > 0 and k with ``A = S F Fᵀ S`` and ``B = S F σ² Fᵀ S``, where ``S = diag(2^k)``.

    They are stacks, one for every pair. S brings the variances of A near one.
    """

    columns: Floats
    ratios: Floats
    units: Indices

    @classmethod
    def of(cls, A: Floats, B: Floats) -> CommonFrame:
        """Find the frames of pairs of matrices, both (m, n, n), or one of them (n, n) for all pairs."""
        A, B = (as_stack(Z).astype(np.float64, copy=False) for Z in (A, B))
        one = len(A) == 1
        B = np.broadcast_to(B, (max(len(A), len(B)), *B.shape[1:]))
        units = unit_exponents(A)
        shifts = (unit_exponents(B) - units).max(axis=-1, keepdims=True)
        A, B = in_units(A, units), in_units(B, units + shifts)
        variances = np.einsum("mii->mi", B)
        graded = is_graded(variances)
        if not graded.any():
            F, ratios = _by_lapack(A, B)
        else:
            F, ratios, plain = np.empty_like(B), np.empty_like(variances), ~graded
            F[plain], ratios[plain] = _by_lapack(A if one else A[plain], B[plain])
            order = descending(variances[graded])
            pairs = np.broadcast_to(A, B.shape)[graded], B[graded]
            ordered, ratios[graded] = _by_jacobi(*(reordered(Z, order) for Z in pairs))
            F[graded] = rows_restored(ordered, order)
        ratios = np.ldexp(ratios, shifts)
        if not ((ratios > np.finfo(np.float64).tiny) & (ratios < np.inf)).all():
            raise OutOfRangeError(
                "The ratio of two matrices is beyond the range of float64: bring them to a common scale "
                "and their variables to common units first."
            )
        return cls(F, ratios, units)

    def point(self, t: float) -> Floats:
        """Return ``A #_t B = S F σ^2t Fᵀ S``."""
        return gram_in_units(self.columns, self.ratios**t, self.units)

    def tangent(self) -> Floats:
        """Return ``log_A(B) = S F log(σ²) Fᵀ S``."""
        return in_units(compose(self.columns, 2.0 * np.log(self.ratios)), -self.units)

    def cotangent(self, values: Floats) -> Floats:
        """Return ``S⁻¹ F⁻ᵀ diag(values) F⁻¹ S⁻¹``: the form that has these values on the columns of S F."""
        inverse: Floats = np.asarray(np.linalg.inv(self.columns), np.float64)
        return in_units(compose(transpose(inverse), values), self.units)


def gram_in_units(F: Floats, factors: Floats, units: Indices) -> Floats:
    """Return ``S F diag(factors²) Fᵀ S`` with ``S = diag(2^units)``.

    The squares may be out of range where the result is not: the largest power of two goes to the units.
    """
    mantissas, exponents = np.frexp(factors)
    shifts = exponents.max(axis=-1, keepdims=True)
    scaled = np.ldexp(mantissas, exponents - shifts)
    return in_units(gram(F * scaled[:, None, :]), -(units + shifts))


def _by_lapack(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return ``F = L U`` and σ, where ``A = L Lᵀ``, ``B = M Mᵀ`` and ``L⁻¹ M = U σ Vᵀ``; one A may serve all B."""
    L, M = cholesky(A), cholesky(B)
    ratios, U = factored_roots(solve_lower(L, M), _WELL_CONDITIONED)
    return L @ U, ratios


def _by_jacobi(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return the same with all digits, if the variances of B relative to those of A descend.

    ``F = L U`` and ``F σ = M V`` are equal. The first is wrong by eps in every row, the second by eps
    times the standard deviation of the row in B: each entry is taken from where it is better.
    """
    L, M = cholesky(A), cholesky(B)
    U, ratios, V = jacobi_svd(solve_lower(L, M))
    deviations = np.sqrt(np.einsum("mii->mi", B))[:, :, None]
    sizes = ratios[:, None, :]
    return np.where(deviations < sizes, (M @ V) / sizes, L @ U), ratios
