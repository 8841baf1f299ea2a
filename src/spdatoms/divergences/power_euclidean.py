"""The squared distance of powers of matrices."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import too_small
from spdatoms.divergences.squared_distance import SpectralDistance, matrix_of
from spdatoms.geometry.functions import powers
from spdatoms.geometry.half_vectors import from_half_vectors, half_vectors
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import power_derivative, spd_roots, symmetric_part


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
