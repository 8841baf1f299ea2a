"""Dictionary atoms in the tangent spaces of queries, and derivatives of their logarithms there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.geometry.spectral import (
    compose,
    congruence,
    inverse_cholesky,
    log_derivative,
    spd_spectrum,
    whitened,
)


@dataclass(frozen=True)
class Tangents:
    """log(L⁻¹D_jL⁻ᵀ) = U_j log(λ_j) U_jᵀ for the atoms D_j, where X = L Lᵀ.

    In the frame of L the affine-invariant norm at X is the Frobenius norm. Queries and atoms are broadcast
    against each other.
    """

    whitening: Floats
    eigenvalues: Floats
    vectors: Floats

    @classmethod
    def at(cls, X: Floats, atoms: Floats) -> Tangents:
        """Return log_X(D) of atoms D (..., n, n) at X (..., n, n)."""
        W = inverse_cholesky(X)
        return cls(W, *spd_spectrum(whitened(W, atoms)))

    @property
    def matrices(self) -> Floats:
        """The logarithms, (..., n, n)."""
        return compose(self.vectors, np.log(self.eigenvalues))

    def pull_back(self, W: Floats) -> Floats:
        """Return the gradients of ⟨W, log(L⁻¹D_jL⁻ᵀ)⟩ with respect to D_j, for stacks (m, n, n)."""
        return congruence(self.whitening, log_derivative(self.eigenvalues, self.vectors, W))
