"""The squared Bures–Wasserstein distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.threads import interruptibly
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._factor_pairs import FactoredDistance, near_one
from spdatoms.divergences._whitened_sums import whitened_sum
from spdatoms.divergences.base import PreparedSet
from spdatoms.geometry import batched
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.spectral import (
    POWER,
    WASSERSTEIN,
    adjoint,
    cholesky,
    congruent,
    gram,
    inverse_lower,
    spd_roots,
    symmetric_part,
    transpose,
)

#: What is left of the traces from which on it has enough digits, and the least trace whose products are numbers.
_CANCELLED, _LEAST = 1e-3, 1e-100


class Wasserstein(FactoredDistance):
    """The squared Bures–Wasserstein distance.

    d(X, Y) = tr X + tr Y − 2 tr (X^½ Y X^½)^½: that of two Gaussian distributions in optimal transport [1]_.

    It is min_U ‖L_X − L_Y U‖²_F over orthogonal U, for X = L_X L_Xᵀ. That is how it is computed: nothing cancels
    where X and Y are close.

    References
    ----------
    .. [1] R. Bhatia, T. Jain, Y. Lim, On the Bures–Wasserstein distance between positive definite matrices, 2019.
    """

    name: ClassVar[str] = "wasserstein"
    _kind: ClassVar[int] = WASSERSTEIN

    def prepare_for_centre(self, X: FloatArray) -> PreparedSet:
        """Return the matrices alone."""
        return PreparedSet(X)

    def _of_factors(self, L: Floats, M: Floats) -> Floats:
        """Return min_U ‖L − M U‖²_F."""
        difference = _difference(L, M)
        return np.asarray(np.einsum("...ij,...ij->...", difference, difference))

    def _by_values(self, A: Floats, B: Floats) -> Floats:
        """Return tr A + tr B − 2 Σ σ(MᴴL) of pairs, NaN where too much cancels, or the range is not enough."""
        traces = np.einsum("mii->m", A).real + np.einsum("mii->m", B).real
        products = adjoint(cholesky(B)) @ cholesky(A)
        values = traces - 2.0 * interruptibly(np.linalg.svdvals, products).sum(axis=-1)
        fit = (traces > _LEAST) & (traces < 1.0 / _LEAST) & (values > _CANCELLED * traces)
        return np.where(fit, values, np.nan)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂X_i = I − X_i⁻¹ # Y_i = (L_X − L_Y U) L_X⁻¹."""
        L, M = (cholesky(Z.astype(np.float64)) for Z in (X, Y))
        difference = _difference(L, M)
        # Of a triangular matrix LU is the matrix itself, without exchanges of rows.
        columns = np.broadcast_to(transpose(L), difference.shape)
        gradient = np.linalg.solve(columns, transpose(difference))
        return symmetric_part(np.asarray(gradient, np.float64))

    def between(self, A: Floats, B: Floats, t: float) -> Floats:
        """Return S A S with S = (1 − t) I + t (A⁻¹ # B)."""
        S = t * points_between(batched.inverse(A[None])[0], B, 0.5)
        S.flat[:: len(S) + 1] += 1.0 - t
        return symmetric_part(S @ A @ S)

    def centre(self, Z: PreparedSet, weights: Floats, current: Floats) -> Floats:
        """Return T C T with the mean T = Σ w_i (C⁻¹ # Z_i) / Σ w_i of the maps that transport C to the Z_i.

        With ``C⁻¹ = L Lᵀ`` it is L S² Lᵀ for the mean S of (L⁻¹ Z_i L⁻ᵀ)^½.
        """
        inverse = batched.inverse(current[None])[0]
        L = cholesky(inverse)

        def roots(X: Floats) -> Floats:
            values, U = spd_roots(congruent(inverse_lower(L)[None], X))
            return gram(U * np.sqrt(values)[:, None, :])

        S, _ = whitened_sum(POWER, roots, Z.matrices, weights, inverse, 0.5)
        return gram(L @ S / weights.sum())


def _difference(L: Floats, M: Floats) -> Floats:
    """Return the least L − M U: U = PQᵀ for MᵀL = P S Qᵀ."""
    P, _, Q = np.linalg.svd(transpose(near_one(M)[0]) @ near_one(L)[0])
    return np.asarray(L - M @ (P @ Q))
