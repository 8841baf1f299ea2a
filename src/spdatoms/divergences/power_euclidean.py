"""The squared distances of functions of eigenvalues: powers of matrices, inverses, logarithms.

‖X^p − Y^p‖²_F / p² is the Euclidean distance for p = 1, the harmonic one for p = −1, and its limit for p → 0 is
the log-Euclidean one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.divergences._products import rounded, too_small
from spdatoms.divergences.squared_distance import HalfVectorDistance
from spdatoms.geometry.batched import inverse, inverse_half_vectors
from spdatoms.geometry.functions import exponentials, logarithms, logm, powers
from spdatoms.geometry.geodesics import Geodesics, LogGeodesics
from spdatoms.geometry.graded import is_graded
from spdatoms.geometry.half_vectors import from_half_vectors, half_vectors, matrix_of
from spdatoms.geometry.hermitian import as_double, is_complex, real_form, real_type
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import (
    LARGEST_IN_LANES,
    adjoint,
    eigh,
    log_derivative,
    power_derivative,
    spd_roots,
    symmetric_part,
)

#: Eigenvalues, relative to the greatest, and squared distances, relative to the squares that they are differences of,
#: that have enough digits.
_ILL_CONDITIONED, _CANCELLED = 1e-8, 1e-3


class SpectralDistance(HalfVectorDistance):
    """A squared distance ‖f(X) − f(Y)‖²_F of functions of the eigenvalues."""

    complex_pairs_from: ClassVar[float] = LARGEST_IN_LANES // 2 + 1

    @abstractmethod
    def of_eigenvalues(self, values: Floats) -> Floats:
        """Return f(λ).

        Parameters
        ----------
        values : ndarray of shape (m, n)
            The eigenvalues λ of matrices.

        Returns
        -------
        ndarray of shape (m, n)
        """

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return the squared distances of pairs, of large and of complex matrices by their eigenvectors."""
        if self.complex_pairs_from < np.inf and (is_complex(X) or X.shape[-1] > LARGEST_IN_LANES):
            return self._paired_by_eigenvalues(X, Y)
        return super().paired(X, Y)

    def _paired_by_eigenvalues(self, X: Array, Y: Array) -> FloatArray:
        """Return ‖f(X_i) − f(Y_i)‖²_F = Σ a_j² + Σ b_k² − 2 Σ a_j b_k |u_jᴴ v_k|², with f(X_i) = Σ a_j u_j u_jᴴ.

        It needs one product where f(X_i) and f(Y_i) need two. Where digits would be lost, vectors are subtracted.
        """
        spectra = [eigh(as_double(Z)) for Z in (X, Y)]
        fit = np.ones(len(X), bool)
        for Z, (values, _) in zip((X, Y), spectra, strict=True):
            fit &= ~is_graded(np.einsum("mii->mi", Z).real)
            fit &= values[:, 0] > _ILL_CONDITIONED * values[:, -1]
        with np.errstate(all="ignore"):
            a, b = (self.of_eigenvalues(values) for values, _ in spectra)
            middle = 0.5 * (a + b).mean(axis=1, keepdims=True)  # of both: f less a multiple of I
            a, b = a - middle, b - middle
            overlaps = np.abs(adjoint(spectra[0][1]) @ spectra[1][1]) ** 2
            traces = (a * a).sum(axis=1) + (b * b).sum(axis=1)
            squares = traces - 2.0 * (a[:, None, :] @ overlaps @ b[:, :, None])[:, 0, 0]
            rest = ~(fit & (squares > _CANCELLED * traces) & (traces < np.inf))
        if rest.any():
            A, B = (real_form(Z[rest]) for Z in (X, Y))
            squares[rest] = super().paired(A, B) / (A.shape[-1] // X.shape[-1])
        return rounded(squares, real_type(X.dtype))


class LogEuclidean(SpectralDistance):
    """The squared log-Euclidean distance.

    d(X, Y) = ‖log X − log Y‖²_F, the squared distance of the logarithms.

    The kernel exp(−β·d) is that of Gauss on the logarithms, positive definite at every β.
    """

    name: ClassVar[str] = "logeuclid"

    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of the logarithms."""
        half_vectors(logarithms(X.astype(np.float64, copy=False)), out)

    def of_eigenvalues(self, values: Floats) -> Floats:
        """Return log λ."""
        return np.log(values)

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return the derivatives of log at X_i along the slopes: the derivative is its own adjoint."""
        roots, U = spd_roots(X.astype(np.float64))
        V = from_half_vectors(slopes, X.shape[-1], weighted=True)
        return symmetric_part(log_derivative(roots, U, V))

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return exp V for the matrix V of a half-vector."""
        return exponentials(matrix_of(vector, len(current)))

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """M = Σ w log Z."""
        return np.asarray(weights.T @ Z.vectors)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        """exp(M/s)."""
        return self._geodesics(parts, total, total, D)

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """2 (s log D − M) is the gradient in log D, and 2 Σ |w| bounds the second derivative."""
        return self._geodesics(parts, total, size, D)

    @staticmethod
    def _geodesics(parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        logarithms = np.asarray(logm(D))
        M = from_half_vectors(parts, D.shape[-1], weighted=True)
        s, size = total[:, None, None], size[:, None, None]
        return LogGeodesics.bounded(logarithms, (M - s * logarithms) / size)


class PowerEuclidean(SpectralDistance):
    """The squared distance of powers of matrices.

    d(X, Y) = ‖X^p − Y^p‖²_F / p² [1]_.

    p = 1 is the Euclidean distance, and p → 0 the log-Euclidean one. With p > 0 semidefinite matrices are fine.
    The kernel exp(−β·d) is that of Gauss, positive definite at every β.

    Parameters
    ----------
    p : float, default=0.5
        The power, not zero.

    References
    ----------
    .. [1] I. Dryden, X. Pennec, J.-M. Peyrat, Power Euclidean metrics for covariance matrices, 2010.
    """

    name: ClassVar[str] = "poweuclid"

    @allow.checks(p=allow.real())
    def __init__(self, p: float = 0.5) -> None:
        if p == 0:
            raise ValueError(
                f"p must be finite and not zero, got {p}: its limit at 0 is 'logeuclid'."
            )
        self.p = float(p)
        self.semidefinite = self.p > 0  # type: ignore[misc]

    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of X^p / p."""
        Z = powers(X.astype(np.float64, copy=False), self.p)
        vanished = np.einsum("mii->mi", Z) < np.finfo(np.float64).tiny
        if vanished.any() and (vanished & (np.einsum("mii->mi", X) > 0)).any():
            raise too_small(X.dtype)
        half_vectors(Z / self.p, out)

    def of_eigenvalues(self, values: Floats) -> Floats:
        """Return λ^p / p."""
        return np.asarray(values**self.p / self.p)

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return the derivatives of X^p / p at X_i along the slopes: the derivative is its own adjoint."""
        roots, U = spd_roots(X.astype(np.float64))
        V = from_half_vectors(slopes, X.shape[-1], weighted=True)
        return symmetric_part(power_derivative(roots, U, V, self.p) / self.p)

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return (p V)^(1/p) for the matrix V of a half-vector."""
        C = self.p * matrix_of(vector, len(current))
        return powers(C if definite else np.asarray(nearest_spd(C)), 1.0 / self.p)


class Harmonic(PowerEuclidean):
    """The squared distance of inverses.

    d(X, Y) = ‖X⁻¹ − Y⁻¹‖²_F, whose mean is the harmonic one.

    The kernel exp(−β·d) is that of Gauss, positive definite at every β.
    """

    name: ClassVar[str] = "harmonic"
    complex_pairs_from: ClassVar[float] = np.inf

    def __init__(self) -> None:
        super().__init__(-1.0)

    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of X^p / p, that is −X⁻¹."""
        inverse_half_vectors(X, out, first=first)
        np.negative(out, out=out)

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return −V⁻¹ for the matrix V of a half-vector."""
        if not definite:
            return super().from_vector(vector, current, definite)
        return np.asarray(inverse(matrix_of(-vector, len(current))[None])[0])

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return X_i⁻¹ V_i X_i⁻¹, V_i being the slopes."""
        inverses = inverse(X)
        V = from_half_vectors(slopes, X.shape[-1], weighted=True)
        return symmetric_part(inverses @ V @ inverses)
