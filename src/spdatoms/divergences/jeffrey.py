"""The Jeffrey divergence, the symmetrised Kullback–Leibler divergence of centred Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import PREPARE_BYTES, shifted_products, symmetrised_products
from spdatoms.divergences.base import Divergence
from spdatoms.geometry import batched
from spdatoms.geometry.functions import geometric_mean
from spdatoms.geometry.repair import nearest_spd

#: Up to this size tr(X⁻¹Y) + tr(Y⁻¹X) is one product of stacked half-vectors. Beyond it a block of
#: those would take more memory than a second product takes time.
_STACKED_SIZE = 48


@dataclass
class JeffreySet:
    """Half-vectors of the matrices and of their inverses, side by side: [X, X⁻¹]."""

    n: int
    stacked: FloatArray

    @property
    def size(self) -> int:
        """Return the length n(n+1)/2 of a half-vector."""
        return int(self.stacked.shape[1] // 2)

    @property
    def matrices(self) -> FloatArray:
        """The half-vectors of X."""
        return self.stacked[:, : self.size]

    @property
    def inverses(self) -> FloatArray:
        """The half-vectors of X⁻¹."""
        return self.stacked[:, self.size :]


class Jeffrey(Divergence):
    """J(X, Y) = ½ tr(X⁻¹Y) + ½ tr(Y⁻¹X) − n.

    With λ the eigenvalues of X⁻¹Y it is Σ (cosh log λ − 1): symmetric, invariant under congruence
    and under inversion. All pairs are one matrix product of half-vectors.
    """

    name: ClassVar[str] = "jeffrey"
    closed_form: ClassVar[bool] = True

    def prepare(self, X: FloatArray) -> JeffreySet:
        """Return the half-vectors of the matrices and of their inverses."""
        n = X.shape[-1]
        size = n * (n + 1) // 2
        stacked = np.empty((len(X), 2 * size), X.dtype)
        for part in block_slices(len(X), max(1, PREPARE_BYTES // (8 * n * n))):
            batched.half_vectors(X[part], stacked[part, :size])
            batched.inverse_half_vectors(X[part], stacked[part, size:])
        return JeffreySet(n, stacked)

    def pairwise(
        self, X: JeffreySet, Y: JeffreySet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return J(X_i, Y_j) for all pairs."""
        if Y is None:
            return symmetrised_products(X.matrices, X.inverses, 0.5, -X.n, n_jobs)

        def fill(rows: slice, out: FloatArray) -> None:
            if X.n <= _STACKED_SIZE:
                swapped = np.concatenate([X.inverses[rows], X.matrices[rows]], axis=1)
                np.matmul(swapped, Y.stacked.T, out=out)
            else:
                np.matmul(X.inverses[rows], Y.matrices.T, out=out)
                out += X.matrices[rows] @ Y.inverses.T

        dtype = X.stacked.dtype
        shifts_x = np.full(len(X.stacked), -X.n, dtype)
        shifts_y = np.zeros(len(Y.stacked), dtype)
        return shifted_products(fill, 2 * X.size, 0.5, shifts_x, shifts_y, n_jobs)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂J(X_i, Y_i)/∂X_i = ½ (Y_i⁻¹ − X_i⁻¹ Y_i X_i⁻¹)."""
        inverse = batched.inverse(X)
        gradient: Floats = 0.5 * (batched.inverse(Y) - inverse @ Y @ inverse)
        return gradient

    def centre(self, Z: JeffreySet, weights: Floats, current: Floats) -> Floats:
        """Return Q # P⁻¹ with P = Σ w_i Z_i⁻¹ and Q = Σ w_i Z_i, the stationary point."""
        sums = (weights @ Z.stacked).reshape(2, -1)
        Q, P = batched.from_half_vectors(sums, Z.n, weighted=True)
        if (weights < 0).any():
            Q, P = nearest_spd(Q), nearest_spd(P)
        return np.asarray(geometric_mean(Q, batched.inverse(P[None])[0]))
