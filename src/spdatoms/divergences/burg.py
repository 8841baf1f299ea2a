"""The Burg divergence (Stein's loss), twice the Kullback–Leibler divergence of centred Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import paired_products, shifted_products, within
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.checked_pairs import BURG
from spdatoms.divergences.jeffrey import JeffreySet
from spdatoms.geometry import batched
from spdatoms.geometry.half_vectors import from_half_vectors
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import as_stack, symmetric_part


@dataclass
class BurgSet(JeffreySet):
    """Half-vectors of the matrices and of their inverses, and log-determinants."""

    logdets: FloatArray


class Burg(Divergence):
    """Burg's divergence, which is not symmetric.

    B(X, Y) = tr(XY⁻¹) − log det(XY⁻¹) − n, not symmetric.

    Parameters
    ----------
    side : {"right", "left"}, default="right"
        Which argument `centre` looks for: the second (the arithmetic mean) or the first (the
        harmonic mean).
    """

    name: ClassVar[str] = "burg"
    pair_kernel: ClassVar[int | None] = BURG
    congruence_invariant: ClassVar[bool] = True
    symmetric: ClassVar[bool] = False
    closed_form: ClassVar[bool] = True

    @allow.checks(side=allow.choice("right", "left"))
    def __init__(self, side: str = "right") -> None:
        self.side = side

    def prepare(self, X: FloatArray) -> BurgSet:
        """Return half-vectors of the matrices and their inverses, and log-determinants."""
        return BurgSet(X, batched.half_vectors_with_inverses(X), batched.log_determinant(X))

    def pairwise(
        self, X: BurgSet, Y: BurgSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return B(X_i, Y_j) for all pairs."""
        other = X if Y is None else Y
        out = _shifted_traces(X.half, other.inverse_half, -X.logdets - X.n, other.logdets, n_jobs)
        if Y is None:
            np.fill_diagonal(out, 0.0)
        return out

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return B(X_i, Y_i) of pairs."""
        one, other = (self.prepare(np.asarray(Z, np.float64)) for Z in (X, Y))
        shifts = other.logdets - one.logdets - one.n
        return within(paired_products(one.half, other.inverse_half, shifts), X.dtype)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂B(X_i, Y_i)/∂X_i = Y_i⁻¹ − X_i⁻¹."""
        return batched.inverse(Y) - batched.inverse(as_stack(X))

    def _second_gradient(self, Y: FloatArray, X: FloatArray) -> Floats:
        """Return ∂B(X_i, Y_i)/∂Y_i = Y_i⁻¹ − Y_i⁻¹ X_i Y_i⁻¹."""
        inverses = batched.inverse(as_stack(Y))
        return inverses - symmetric_part(inverses @ X @ inverses)

    def _first_sums(self, X: BurgSet, Y: BurgSet, weights: Floats, n_jobs: int | None) -> Floats:
        """Return Σ_j w_ij (Y_j⁻¹ − X_i⁻¹)."""
        total = weights.sum(axis=1)[:, None, None]
        return np.asarray(np.tensordot(weights, _inverses(Y), 1) - total * _inverses(X))

    def _second_sums(self, X: BurgSet, Y: BurgSet, weights: Floats, n_jobs: int | None) -> Floats:
        """Return Σ_i w_ij (Y_j⁻¹ − Y_j⁻¹ X_i Y_j⁻¹)."""
        sums = np.tensordot(weights.T, X.matrices.astype(np.float64), 1)
        inverses, total = _inverses(Y), weights.sum(axis=0)[:, None, None]
        return np.asarray(total * inverses - symmetric_part(inverses @ sums @ inverses))

    def centre(self, Z: BurgSet, weights: Floats, current: Floats) -> Floats:
        """Return Σ w_i Z_i / Σ w_i, or (Σ w_i Z_i⁻¹ / Σ w_i)⁻¹ for the left side."""
        half = Z.half if self.side == "right" else Z.inverse_half
        total = (weights @ half)[None] / weights.sum()
        C = from_half_vectors(total, Z.n, weighted=True)
        if (weights < 0).any():
            C = np.asarray(nearest_spd(C))
        return np.asarray((C if self.side == "right" else batched.inverse(C))[0])

    def each_to_centres(self, X: BurgSet, centres: Floats, n_jobs: int | None = None) -> FloatArray:
        """Return B(X_i, C_j), or B(C_j, X_i) for the left side, at [i, j]."""
        C = self.prepare(centres)
        if self.side == "right":
            return self.pairwise(X, C, n_jobs=n_jobs)
        return _shifted_traces(X.inverse_half, C.half, X.logdets, -C.logdets - X.n, n_jobs)

    def coordinates(self, C: Floats, current: Floats) -> Floats:
        """Return C itself, or C⁻¹ for the left side."""
        return C if self.side == "right" else np.asarray(batched.inverse(C[None])[0])

    def from_coordinates(self, V: Floats, current: Floats) -> Floats:
        """Return V itself, or V⁻¹ for the left side."""
        return self.coordinates(V, current)


def _inverses(X: BurgSet) -> Floats:
    return from_half_vectors(X.inverse_half.astype(np.float64), X.n, weighted=True)


def _shifted_traces(
    A: FloatArray, B: FloatArray, shifts_a: Floats, shifts_b: Floats, n_jobs: int | None
) -> FloatArray:
    """Return max(0, A_i·B_j + shifts_a[i] + shifts_b[j]) in the precision of A."""

    def fill(rows: slice, out: FloatArray) -> None:
        row_products(A[rows], B.T, out)

    first, second = shifts_a.astype(A.dtype), shifts_b.astype(A.dtype)
    return shifted_products(fill, A.shape[1], first, second, n_jobs)
