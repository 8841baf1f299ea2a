"""The squared distances of Cholesky factors, and of factors with the logarithms of their diagonals."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import Array, Floats
from spdatoms.divergences.checked_pairs import CHOLESKY, LOG_CHOLESKY
from spdatoms.divergences.squared_distance import SquaredDistance, VectorSet
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.geometry.spectral import adjoint, congruence, inverse_lower


class Cholesky(SquaredDistance):
    """The squared distance of Cholesky factors.

    d(X, Y) = ‖L_X − L_Y‖²_F for X = L_X L_Xᵀ [1]_.

    It depends on the order of the variables. The kernel exp(−β·d) is that of Gauss, positive definite at every β.

    References
    ----------
    .. [1] I. Dryden, A. Koloydenko, D. Zhou, Non-Euclidean statistics for covariance matrices, 2009.
    """

    name: ClassVar[str] = "chol"
    native_complex: ClassVar[bool] = True
    pair_kernel: ClassVar[int | None] = CHOLESKY

    def prepare(self, X: Array, n_jobs: int | None = None) -> VectorSet:
        """Return the entries of the Cholesky factors."""
        return VectorSet(X, self._vectors(np.linalg.cholesky(as_double(X))))

    def pulled_back(self, X: Array, slopes: Floats) -> Array:
        """Return the Hermitian part of L⁻ᴴ Q L⁻¹, where Q is the lower triangle of Lᴴ S and half of its diagonal.

        S are the slopes in L.
        """
        L, n = np.linalg.cholesky(as_double(X)), X.shape[-1]
        half = np.tril(np.ones((n, n))) - 0.5 * np.eye(n)
        on_diagonal = slopes[:, :n] * self._diagonal_slope(np.einsum("mii->mi", L).real)
        S = _lower(on_diagonal, slopes[:, n:], is_complex(L))
        return congruence(inverse_lower(L), half * (adjoint(L) @ S))

    def from_vector(self, vector: Floats, current: Array, definite: bool = True) -> Array:
        """Return the matrix whose factor has these entries."""
        diagonal, below = np.split(vector, [len(current)])
        (L,) = _lower(self._positive(diagonal)[None], below[None], is_complex(current))
        C = L @ L.conj().T
        return np.asarray(0.5 * (C + C.conj().T))

    def _vectors(self, L: Array) -> Floats:
        """Return factors (m, n, n) as vectors: diagonals, then what is below, real and imaginary."""
        rows, columns = np.tril_indices(L.shape[-1], -1)
        below = np.take(L.reshape(len(L), -1), rows * L.shape[-1] + columns, axis=1)
        parts = [below.real, below.imag] if is_complex(L) else [below]
        return np.concatenate([self._diagonal(np.einsum("mii->mi", L).real), *parts], axis=1)

    @staticmethod
    def _diagonal_slope(values: Floats) -> Floats:
        return np.ones_like(values)

    @staticmethod
    def _diagonal(values: Floats) -> Floats:
        return values

    @staticmethod
    def _positive(values: Floats) -> Floats:
        # Weights of both signs may leave the cone.
        return np.asarray(np.maximum(values, 1e-6 * np.abs(values).max()))


class LogCholesky(Cholesky):
    """The squared log-Cholesky distance.

    d(X, Y) = ‖⌊L_X⌋ − ⌊L_Y⌋‖²_F + ‖log diag L_X − log diag L_Y‖², for X = L_X L_Xᵀ with the part ⌊L_X⌋ below the
    diagonal [1]_.

    It is the geodesic distance of a metric on the cone, so that means never leave it, and as quick as a Cholesky
    decomposition. The kernel exp(−β·d) is that of Gauss, positive definite at every β.

    References
    ----------
    .. [1] Z. Lin, Riemannian geometry of symmetric positive definite matrices via Cholesky decomposition, 2019.
    """

    name: ClassVar[str] = "logchol"
    pair_kernel: ClassVar[int | None] = LOG_CHOLESKY

    @staticmethod
    def _diagonal_slope(values: Floats) -> Floats:
        return 1.0 / values

    @staticmethod
    def _diagonal(values: Floats) -> Floats:
        return np.log(values)

    @staticmethod
    def _positive(values: Floats) -> Floats:
        return np.exp(values)


def _lower(diagonals: Floats, below: Floats, complex_: bool) -> Array:
    """Return lower triangular matrices of their diagonals (m, n) and what is below them, real and imaginary."""
    count, n = diagonals.shape
    rows, columns = np.tril_indices(n, -1)
    real, imaginary = np.split(below, [len(rows)], axis=1)
    L: Array = np.zeros((count, n, n), np.complex128 if complex_ else np.float64)
    L[:, rows, columns] = real + 1j * imaginary if complex_ else real
    np.einsum("mii->mi", L)[...] = diagonals
    return L
