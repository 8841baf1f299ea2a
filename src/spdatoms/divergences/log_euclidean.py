"""The squared log-Euclidean distance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.divergences.squared_distance import SpectralDistance, matrix_of
from spdatoms.geometry.functions import exponentials, logarithms, logm
from spdatoms.geometry.geodesics import Geodesics, LogGeodesics
from spdatoms.geometry.half_vectors import from_half_vectors, half_vectors
from spdatoms.geometry.spectral import log_derivative, spd_roots, symmetric_part


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

    def atom_sums(self) -> AtomSums:
        """Return the sums of logarithms."""
        return LogEuclideanSums(self)


class LogEuclideanSums(AtomSums):
    """M = Σ w log Z."""

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
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
