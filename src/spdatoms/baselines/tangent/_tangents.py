"""Dictionary atoms in the tangent space of a query, and derivatives of their logarithms there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.geometry.geodesics import congruence
from spdatoms.geometry.spectral import (
    compose,
    inverse_cholesky,
    spd_spectrum,
    transpose,
    whitened,
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
        W = inverse_cholesky(X)
        return cls(W, *spd_spectrum(whitened(W, atoms)))

    @property
    def matrices(self) -> Floats:
        """The logarithms, (N, n, n)."""
        return compose(self.vectors, np.log(self.eigenvalues))

    def pull_back(self, W: Floats) -> Floats:
        """Return the gradients of ⟨W, log(L⁻¹D_jL⁻ᵀ)⟩ with respect to D_j, (N, n, n).

        In the eigenvectors of an atom the derivative of the logarithm multiplies entry (a, b) by
        (log λ_a − log λ_b)/(λ_a − λ_b).
        """
        U, values = self.vectors, self.eigenvalues
        inner = transpose(U) @ W @ U
        product = U @ (inner * divided_logarithms(values)) @ transpose(U)
        return congruence(self.whitening, product)


def divided_logarithms(values: Floats) -> Floats:
    """(log λ_a − log λ_b)/(λ_a − λ_b), and 1/λ_a where the two are equal; shape (N, n, n)."""
    a, b = values[:, :, None], values[:, None, :]
    # log(a/b)/(a − b) = 2 artanh(r)/(r·(a + b)) with r = (a − b)/(a + b), whose series has no 0/0.
    r = (a - b) / (a + b)
    near = np.abs(r) < 1e-4
    safe = np.where(near, 0.5, r)
    return np.asarray(np.where(near, 1.0 + r * r / 3.0, np.arctanh(safe) / safe) * 2.0 / (a + b))
