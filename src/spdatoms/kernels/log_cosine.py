"""`LogCosineKernel`: cosines of the logarithms of matrices, a linear kernel beside exp(−β·divergence)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences import LogEuclidean
from spdatoms.geometry.batched import log_determinant
from spdatoms.geometry.half_vectors import half_vectors
from spdatoms.kernels.base import Kernel
from spdatoms.layout import Numbers, part

#: A logarithm smaller than this, relative to that of the scale, is taken for rounding error.
_ROUNDING = 1e-13


def log_vectors(X: FloatArray) -> Floats:
    """Return half-vectors v of the logarithms, (m, n(n+1)/2), with ⟨v(X), v(Y)⟩ = tr(log X log Y)."""
    return np.asarray(LogEuclidean().prepare(X).vectors)


def mean_log_scale(X: FloatArray, rescale: bool) -> float:
    """Return τ, the mean of log det X_i / n, or zero without ``rescale``: e^τ is the scale of X."""
    return float(log_determinant(X).mean() / X.shape[-1]) if rescale else 0.0


def rescaled_logs(X: FloatArray, log_scale: float) -> Floats:
    """Return the half-vectors of log(X / e^τ) = log X − τI."""
    identity = np.empty((1, X.shape[-1] * (X.shape[-1] + 1) // 2))
    half_vectors(np.eye(X.shape[-1])[None], identity)
    return np.asarray(log_vectors(X) - log_scale * identity)


@allow.with_parameters
class LogCosineKernel(Kernel):
    """k(X, Y) = tr(AB) / ‖A‖‖B‖ with A = log(X/c), B = log(Y/c): linear in the logarithms.

    Parameters
    ----------
    rescale : bool, default=True
        Whether c is the scale of the dictionary, see `mean_log_scale`; otherwise it is 1.
    n_jobs : int, default=None
        Ignored: the kernel is one matrix product.
    """

    _stored = part("_log_scale gram_", _vectors=Numbers("N h"))
    rescale: bool = allow.parameter(allow.BOOLEAN, default=True)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)

    def fit_checked(self, D: FloatArray) -> LogCosineKernel:
        """Compute the Gram matrix of matrices D (N, n, n), which were checked."""
        self._log_scale = mean_log_scale(D, self.rescale)
        self._vectors = self._directions(D)
        if not self._vectors.any():
            raise ValueError(
                "The matrices of the dictionary are all the same multiple of the identity, whose "
                "logarithm has no direction."
            )
        self.gram_ = self._vectors @ self._vectors.T
        self.corrected_ = False
        self.n_features_in_ = D.shape[-1]
        return self

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return k(X_i, D_j), shape (m, N), for matrices X (m, n, n), which were checked."""
        return np.asarray(row_products(self._directions(X), self._vectors.T))

    def vjp(self, X: FloatArray, weights: Floats) -> Floats:
        """Return Σ_j w_ij ∂k(X_i, D_j)/∂X_i; see `Kernel.vjp`."""
        logs, directions = rescaled_logs(X, self._log_scale), self._directions(X)
        lengths = np.linalg.norm(logs, axis=1, keepdims=True)
        slopes = weights @ self._vectors
        slopes -= np.einsum("ij,ij->i", slopes, directions)[:, None] * directions
        slopes = np.where(directions.any(axis=1, keepdims=True), slopes, 0.0)
        return LogEuclidean().pulled_back(X, slopes / np.where(lengths > 0, lengths, 1.0))

    def _directions(self, X: FloatArray) -> Floats:
        """Return log(X/c) as unit vectors, or zero where it is only rounding error."""
        logs = rescaled_logs(X, self._log_scale)
        lengths = np.linalg.norm(logs, axis=1, keepdims=True)
        rounding = _ROUNDING * (1.0 + abs(self._log_scale))
        out = np.zeros_like(logs)
        np.divide(logs, lengths, out=out, where=lengths > rounding)
        return out


class WithLogCosineKernel:
    """Estimators whose kernel is `LogCosineKernel`."""

    hermitian: ClassVar[bool] = False
    rescale: bool
    n_jobs: int | None

    def _kernel(self) -> Kernel:
        return LogCosineKernel(self.rescale, self.n_jobs)
