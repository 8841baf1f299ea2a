"""The squared distance of powers of matrices."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import HalfVectorSet, rounded, squared_distances
from spdatoms.divergences.base import Divergence
from spdatoms.geometry.functions import powm
from spdatoms.geometry.half_vectors import half_vectors
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import as_stack, compose, spd_roots, symmetric_part, transpose


class PowerEuclidean(Divergence):
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
    closed_form: ClassVar[bool] = True

    @allow.checks(p=allow.real())
    def __init__(self, p: float = 0.5) -> None:
        if p == 0:
            raise ValueError(
                f"p must be finite and not zero, got {p}: its limit at 0 is 'logeuclid'."
            )
        self.p = float(p)
        self.semidefinite = self.p > 0  # type: ignore[misc]

    def prepare(self, X: FloatArray) -> HalfVectorSet:
        """Return the half-vectors of X^p / p."""
        n = X.shape[-1]
        half = np.empty((len(X), n * (n + 1) // 2))
        half_vectors(np.asarray(powm(X.astype(np.float64), self.p)) / self.p, half)
        return HalfVectorSet(X, half)

    def pairwise(
        self, X: HalfVectorSet, Y: HalfVectorSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the squared distances of all pairs."""
        out = squared_distances(X.half, None if Y is None else Y.half, n_jobs)
        return rounded(out, X.matrices.dtype)

    def centre(self, Z: HalfVectorSet, weights: Floats, current: Floats) -> Floats:
        """Return (Σ w_i Z_i^p / Σ w_i)^(1/p), the stationary point."""
        C = self.p * Z.mean(weights)
        if (weights < 0).any():
            C = np.asarray(nearest_spd(C))
        return np.asarray(powm(C, 1.0 / self.p))

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂X_i, twice the derivative of X^p/p along (X_i^p − Y_i^p)/p."""
        roots, U = spd_roots(as_stack(np.asarray(X, np.float64)))
        powers = compose(U, roots ** (2.0 * self.p))
        apart = (powers - powm(Y.astype(np.float64), self.p)) / self.p
        inner = transpose(U) @ apart @ U
        return symmetric_part(2.0 * U @ (inner * _divided_powers(roots, self.p)) @ transpose(U))

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return True: it is a Gaussian kernel."""
        return beta > 0


def _divided_powers(roots: Floats, p: float) -> Floats:
    """(λ_a^p − λ_b^p)/(p·(λ_a − λ_b)) of eigenvalues λ given by their roots, λ_a^(p−1) where the two are equal."""
    a, b = roots[:, :, None], roots[:, None, :]
    # With g² = λ_a λ_b and λ_a/λ_b = exp(2u) it is g^(p−1)·sinh(pu)/(p·sinh(u)), which has no 0/0 in its series.
    u = np.log(a) - np.log(b)
    near = np.abs(u) < 1e-4
    safe = np.where(near, 1.0, u)
    ratio = np.sinh(p * safe) / (p * np.sinh(safe))
    series = 1.0 + (p * p - 1.0) * u * u / 6.0
    return np.asarray(np.where(near, series, ratio) * (a * b) ** (p - 1.0))
