"""The Jeffrey divergence, the symmetrised Kullback–Leibler divergence of centred Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import (
    paired_products,
    shifted_products,
    symmetrised_products,
    within,
)
from spdatoms.divergences.atom_sums import floored
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.divergences.checked_pairs import JEFFREY
from spdatoms.geometry import batched
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import AffineGeodesics, Geodesics
from spdatoms.geometry.half_vectors import from_half_vectors
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import (
    as_stack,
    cholesky,
    compose,
    congruence,
    inverse_lower,
    symmetric_part,
    whitened,
)

#: Up to this size tr(X⁻¹Y) + tr(Y⁻¹X) is one product of stacked half-vectors. Beyond it a block of
#: those would take more memory than a second product takes time.
_STACKED_SIZE = 48


@dataclass
class JeffreySet(PreparedSet):
    """Half-vectors of the matrices and of their inverses, side by side: [X, X⁻¹]."""

    stacked: FloatArray

    @property
    def size(self) -> int:
        """Return the length n(n+1)/2 of a half-vector."""
        return int(self.stacked.shape[1] // 2)

    @property
    def half(self) -> FloatArray:
        """The half-vectors of X."""
        return self.stacked[:, : self.size]

    @property
    def inverse_half(self) -> FloatArray:
        """The half-vectors of X⁻¹."""
        return self.stacked[:, self.size :]


class Jeffrey(Divergence):
    """Jeffrey's divergence, the symmetrised Kullback–Leibler divergence.

    J(X, Y) = ½ tr(X⁻¹Y) + ½ tr(Y⁻¹X) − n.

    With λ the eigenvalues of X⁻¹Y it is Σ (cosh log λ − 1): symmetric, invariant under congruence
    and under inversion. All pairs are one matrix product of half-vectors. The kernel exp(−β·J) is
    not positive definite, at any β.
    """

    name: ClassVar[str] = "jeffrey"
    pair_kernel: ClassVar[int | None] = JEFFREY
    congruence_invariant: ClassVar[bool] = True
    closed_form: ClassVar[bool] = True

    def prepare(self, X: FloatArray) -> JeffreySet:
        """Return the half-vectors of the matrices and of their inverses."""
        return JeffreySet(X, batched.half_vectors_with_inverses(X))

    def pairwise(
        self, X: JeffreySet, Y: JeffreySet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return J(X_i, Y_j) for all pairs."""
        # Factors are halved, not their products, which may be beyond the range.
        if Y is None:
            return symmetrised_products(0.5 * X.half, X.inverse_half, -X.n, n_jobs)

        def fill(rows: slice, out: FloatArray) -> None:
            if X.n <= _STACKED_SIZE:
                swapped = np.concatenate([X.inverse_half[rows], X.half[rows]], axis=1)
                swapped *= 0.5
                row_products(swapped, Y.stacked.T, out)
            else:
                row_products(0.5 * X.inverse_half[rows], Y.half.T, out)
                out += row_products(0.5 * X.half[rows], Y.inverse_half.T)

        dtype = X.stacked.dtype
        shifts_x = np.full(len(X), -X.n, dtype)
        shifts_y = np.zeros(len(Y), dtype)
        return shifted_products(fill, 2 * X.size, shifts_x, shifts_y, n_jobs)

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return J(X_i, Y_i) of pairs."""
        one, other = (self.prepare(np.asarray(Z, np.float64)) for Z in (X, Y))
        swapped = 0.5 * np.concatenate([one.inverse_half, one.half], axis=1)
        return within(paired_products(swapped, other.stacked, -one.n), X.dtype)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂J(X_i, Y_i)/∂X_i = ½ (Y_i⁻¹ − X_i⁻¹ Y_i X_i⁻¹)."""
        inverse = batched.inverse(as_stack(X))
        gradient: Floats = 0.5 * (batched.inverse(Y) - inverse @ Y @ inverse)
        return gradient

    def _first_sums(
        self, X: JeffreySet, Y: JeffreySet, weights: Floats, n_jobs: int | None
    ) -> Floats:
        """Return ½ (P_i − X_i⁻¹ Q_i X_i⁻¹) with P_i = Σ_j w_ij Y_j⁻¹ and Q_i = Σ_j w_ij Y_j."""
        sums = weights @ Y.stacked.astype(np.float64, copy=False)
        inverse = from_half_vectors(
            X.inverse_half.astype(np.float64, copy=False), X.n, weighted=True
        )
        Q, P = (from_half_vectors(half, X.n, weighted=True) for half in np.split(sums, 2, axis=1))
        return np.asarray(0.5 * P - symmetric_part(inverse @ (0.5 * Q) @ inverse))

    def centre(self, Z: JeffreySet, weights: Floats, current: Floats) -> Floats:
        """Return Q # P⁻¹ with P = Σ w_i Z_i⁻¹ and Q = Σ w_i Z_i, the stationary point."""
        return _centre(weights @ Z.stacked, Z.n, definite=not (weights < 0).any())

    def centre_term(self, Z: JeffreySet, weights: Floats, current: Floats) -> Floats:
        """Return the half-vectors of Q and P over a part of the data."""
        return np.asarray(weights @ Z.stacked)

    def centre_from_terms(self, terms: Floats, total: float, current: Floats) -> Floats:
        """Return Q # P⁻¹."""
        return _centre(terms, current.shape[-1], definite=True)

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """Q = Σ w Z and P = Σ w Z⁻¹."""
        return np.asarray(weights.T @ Z.stacked)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        """Q # P⁻¹ = P^-½ (P^½ Q P^½)^½ P^-½."""
        L = cholesky(D)
        Q, P = (np.linalg.eigh(A) for A in _whitened(parts, L))
        root = compose(P[1], np.sqrt(floored(P[0])))
        λ, U = np.linalg.eigh(congruence(root, compose(Q[1], floored(Q[0]))))
        inverse_root = compose(P[1], 1.0 / np.sqrt(floored(P[0])))
        centre = congruence(inverse_root, compose(U, np.sqrt(floored(λ))))
        λ, U = np.linalg.eigh(centre)
        return AffineGeodesics.of_spectrum(L, np.log(floored(λ)), U)

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """½ (P − D⁻¹ Q D⁻¹) is the gradient; the second derivative is about ½ (‖P‖ + ‖Q‖)."""
        L = cholesky(D)
        Q, P = _whitened(parts, L)
        curvature = sum(np.linalg.norm(A, 2, axis=(-2, -1)) for A in (P, Q))
        curvature = np.maximum(curvature, np.finfo(np.float64).tiny)
        return AffineGeodesics.whitened(L, (Q - P) / curvature[:, None, None])


def _centre(sums: Floats, n: int, *, definite: bool) -> Floats:
    """Return Q # P⁻¹ of half-vectors [Q, P], projected onto the cone unless they are in it."""
    Q, P = from_half_vectors(sums.reshape(2, -1), n, weighted=True)
    if not definite:
        Q, P = nearest_spd(Q), nearest_spd(P)
    return np.asarray(points_between(Q, batched.inverse(P[None])[0], 0.5))


def _whitened(parts: Floats, L: Floats) -> tuple[Floats, Floats]:
    """Return L⁻¹ Q L⁻ᵀ and Lᵀ P L."""
    n = L.shape[-1]
    Q, P = (from_half_vectors(half, n, weighted=True) for half in np.split(parts, 2, axis=1))
    return whitened(inverse_lower(L), Q), congruence(L, P)
