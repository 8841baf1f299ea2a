"""Dictionary atoms in the tangent space of a query, and how the distance there changes with an atom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.geometry.spectral import (
    cholesky,
    compose,
    log_derivative,
    spd_spectrum,
    symmetric_part,
)


@dataclass(frozen=True)
class Tangents:
    """log(L⁻¹D_jL⁻ᵀ) = U_j log(λ_j) U_jᵀ for the atoms D_j, where X = L Lᵀ.

    In the frame of L the affine-invariant norm at X is the Frobenius norm.
    """

    whitening: Floats
    eigenvalues: Floats
    vectors: Floats

    @classmethod
    def at(cls, X: Floats, atoms: Floats) -> Tangents:
        """Return log_X(D_j) of atoms (N, n, n) at X (n, n)."""
        W = np.asarray(np.linalg.inv(cholesky(X)), np.float64)
        return cls(W, *spd_spectrum(symmetric_part(W @ atoms @ W.T)))

    @property
    def matrices(self) -> Floats:
        """The logarithms, (N, n, n)."""
        return compose(self.vectors, np.log(self.eigenvalues))

    def pull_back(self, W: Floats) -> Floats:
        """The gradients of ⟨W, log(L⁻¹D_jL⁻ᵀ)⟩ by D_j, (N, n, n)."""
        product = log_derivative(self.eigenvalues, self.vectors, W)
        return symmetric_part(self.whitening.T @ product @ self.whitening)
