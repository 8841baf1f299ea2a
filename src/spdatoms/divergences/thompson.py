"""The squared Thompson distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._factor_pairs import FactoredDistance, FactorSet, near_one
from spdatoms.divergences.affine_invariant import log_ratios_of_pairs
from spdatoms.geometry.frames import CommonFrame
from spdatoms.geometry.spectral import THOMPSON, solve_lower


class Thompson(FactoredDistance):
    """The squared Thompson distance.

    d(X, Y) = max_i log² λ_i(X⁻¹Y): how much the variance of any combination of the variables differs [1]_.

    It is invariant under congruence. It has no mean: many matrices minimise a sum of its values.

    References
    ----------
    .. [1] A. Thompson, On certain contraction mappings in a partially ordered vector space, 1963.
    """

    name: ClassVar[str] = "thompson"
    _kind: ClassVar[int] = THOMPSON
    congruence_invariant: ClassVar[bool] = True
    real_form_factor: ClassVar[float] = 1.0

    def _of_factors(self, L: Floats, M: Floats) -> Floats:
        """Return (2 log σ)² for the greatest singular value σ of L⁻¹M and of M⁻¹L, whichever is greater.

        The least one of L⁻¹M is one over the greatest of M⁻¹L, but would have fewer digits.
        """
        (L, k), (M, m) = near_one(L), near_one(M)
        shift = np.log(2.0) * (m - k)[..., 0, 0]
        logs = np.maximum(_log_norm(L, M) + shift, _log_norm(M, L) - shift)
        return np.asarray((2.0 * logs) ** 2)

    def _by_values(self, A: Floats, B: Floats) -> Floats:
        """Return max log² λ(A⁻¹B) of pairs, NaN where it would have too few digits."""
        return np.asarray(np.max(log_ratios_of_pairs(A, B) ** 2, axis=1))

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂X_i = −2 log(λ) v vᵀ for the λ of the distance, Y_i v = λ X_i v and vᵀ X_i v = 1."""
        frame = CommonFrame.of(X, Y)
        logs = 2.0 * np.log(frame.ratios)
        greatest = np.abs(logs).argmax(axis=-1)[:, None] == np.arange(X.shape[-1])
        return frame.cotangent(np.where(greatest, -2.0 * logs, 0.0))

    def centre(self, Z: FactorSet, weights: Floats, current: Floats) -> Floats:
        """Refuse: there is no unique one."""
        raise ValueError(
            "The Thompson distance has no unique mean, so that it goes with neither means nor k-means nor "
            "dictionaries: use metric='riemann' for them, which has the same geodesics."
        )


def _log_norm(L: Floats, M: Floats) -> Floats:
    """Return the logarithm of the greatest singular value of L⁻¹M."""
    factors, others = np.broadcast_arrays(L, M)
    sigma = np.linalg.svd(solve_lower(factors, others), compute_uv=False)
    return np.asarray(np.log(sigma[..., 0]))
