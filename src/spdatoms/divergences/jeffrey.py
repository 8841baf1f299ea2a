"""The Kullback–Leibler divergences of centred Gaussians: Burg's (Stein's loss), and Jeffrey's, its symmetric form.

J(X, Y) = ½ (B(X, Y) + B(Y, X)). Both are products of half-vectors of matrices and of inverses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils import parameters as allow
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
from spdatoms.divergences.checked_pairs import BURG, JEFFREY
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

    @property
    def inverses(self) -> Floats:
        """X⁻¹, in double precision."""
        half = self.inverse_half.astype(np.float64, copy=False)
        return from_half_vectors(half, self.n, weighted=True)


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

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> JeffreySet:
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
        inverse = X.inverses
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

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> BurgSet:
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
        return np.asarray(np.tensordot(weights, Y.inverses, 1) - total * X.inverses)

    def _second_sums(self, X: BurgSet, Y: BurgSet, weights: Floats, n_jobs: int | None) -> Floats:
        """Return Σ_i w_ij (Y_j⁻¹ − Y_j⁻¹ X_i Y_j⁻¹)."""
        sums = np.tensordot(weights.T, X.matrices.astype(np.float64), 1)
        inverses, total = Y.inverses, weights.sum(axis=0)[:, None, None]
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


def _shifted_traces(
    A: FloatArray, B: FloatArray, shifts_a: Floats, shifts_b: Floats, n_jobs: int | None
) -> FloatArray:
    """Return max(0, A_i·B_j + shifts_a[i] + shifts_b[j]) in the precision of A."""

    def fill(rows: slice, out: FloatArray) -> None:
        row_products(A[rows], B.T, out)

    first, second = shifts_a.astype(A.dtype), shifts_b.astype(A.dtype)
    return shifted_products(fill, A.shape[1], first, second, n_jobs)
