"""The squared Thompson distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._factor_pairs import FactorSet, factors_of, of_pairs
from spdatoms.divergences.base import Divergence
from spdatoms.geometry.spectral import solve_lower
from spdatoms.geometry.validation import common_shape


class Thompson(Divergence):
    """The squared Thompson distance.

    d(X, Y) = max_i log² λ_i(X⁻¹Y): how much the variance of any combination of the variables differs [1]_.

    It is invariant under congruence. It has no mean: many matrices minimise a sum of its values.

    References
    ----------
    .. [1] A. Thompson, On certain contraction mappings in a partially ordered vector space, 1963.
    """

    name: ClassVar[str] = "thompson"
    congruence_invariant: ClassVar[bool] = True
    real_form_factor: ClassVar[float] = 1.0

    def prepare(self, X: FloatArray) -> FactorSet:
        """Return the Cholesky factors."""
        return factors_of(X)

    def pairwise(
        self, X: FactorSet, Y: FactorSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the squared distances of all pairs."""
        return of_pairs(_greatest_ratio, X, Y, n_jobs)

    def centre(self, Z: FactorSet, weights: Floats, current: Floats) -> Floats:
        """Refuse: there is no unique one."""
        raise ValueError(
            "The Thompson distance has no unique mean, so that it goes with neither means nor k-means nor "
            "dictionaries: use metric='riemann' for them, which has the same geodesics."
        )


def _greatest_ratio(L: Floats, M: Floats) -> Floats:
    """Return max (2 log σ)² over the singular values σ of L⁻¹M."""
    shape = common_shape(L.shape, M.shape)
    factors, others = np.broadcast_to(L, shape), np.broadcast_to(M, shape)
    sigma = np.linalg.svd(solve_lower(factors, others), compute_uv=False)
    return np.asarray(((2.0 * np.log(sigma[..., [0, -1]])) ** 2).max(axis=-1))
