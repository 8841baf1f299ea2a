"""Dictionary atoms in the tangent space of a query, and how the distance there changes with an atom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.geometry.spectral import cholesky, compose, spd_spectrum, symmetric_part, transpose


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
        """The gradients of ⟨W, log(L⁻¹D_jL⁻ᵀ)⟩ by D_j, (N, n, n).

        In the eigenvectors of an atom the derivative of the logarithm multiplies entry (a, b) by
        (log λ_a − log λ_b)/(λ_a − λ_b).
        """
        U, values = self.vectors, self.eigenvalues
        inner = transpose(U) @ W @ U
        product = U @ (inner * divided_logarithms(values)) @ transpose(U)
        return symmetric_part(self.whitening.T @ product @ self.whitening)


def divided_logarithms(values: Floats) -> Floats:
    """(log λ_a − log λ_b)/(λ_a − λ_b), and 1/λ_a where the two are equal; shape (N, n, n)."""
    a, b = values[:, :, None], values[:, None, :]
    # log(a/b)/(a − b) = 2 artanh(r)/(r·(a + b)) with r = (a − b)/(a + b), which has no 0/0 in its series.
    r = (a - b) / (a + b)
    near = np.abs(r) < 1e-4
    safe = np.where(near, 0.5, r)
    return np.asarray(np.where(near, 1.0 + r * r / 3.0, np.arctanh(safe) / safe) * 2.0 / (a + b))
