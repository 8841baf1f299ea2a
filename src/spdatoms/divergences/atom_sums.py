"""The centre of weighted matrices in two halves: sums that add up over parts of the data, then a step.

`Divergence.centre` moves one matrix to the stationary point of Σ_i w_i d(Z_i, D). A dictionary has
many atoms, and its data may be out of memory or on many machines, so here the sums over the Z_i are
apart from what follows of them, and serve many atoms at once. For every divergence with a kernel to
learn with there is one class:

=============  =======================================  ================================
Stein          P = Σ w (Z + D)⁻¹, s = Σ w               D → (s/2) P⁻¹
Jeffrey        P = Σ w Z⁻¹, Q = Σ w Z                   D → Q # P⁻¹
log-Euclidean  M = Σ w log Z, s = Σ w                   D → exp(M/s)
=============  =======================================  ================================

With weights of both signs P or Q may leave the cone, so they are projected onto it; all that is done
in the frame where D is the identity, so that the units of the variables do not matter. The gradient
of Σ w d(Z, D) follows from the same sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import Floats
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.jeffrey import Jeffrey
from spdatoms.divergences.log_euclidean import LogEuclidean
from spdatoms.divergences.sparse_pairs import (
    column_sums,
    columns_of_entries,
    stein_divergences,
    weighted_inverse_sums,
    with_values,
)
from spdatoms.divergences.stein import Stein, SteinSet
from spdatoms.geometry import batched
from spdatoms.geometry.batched import from_half_vectors
from spdatoms.geometry.functions import logm
from spdatoms.geometry.geodesics import (
    AffineGeodesics,
    Geodesics,
    LogGeodesics,
    congruence,
    well_conditioned,
)
from spdatoms.geometry.spectral import cholesky, compose, symmetric_part, transpose

#: The least eigenvalue that the projection onto the cone leaves, relative to the greatest.
_FLOOR = 1e-6
#: Weights that cancel down to this fraction have no centre to speak of.
_LEAST_TOTAL = 1e-3


class AtomSums(ABC):
    """Sums over weighted matrices, and the geodesics along which atoms move on their account.

    The sums of an atom are a row of numbers: whatever `_parts` gives, then Σ w and Σ |w|.
    """

    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence

    def prepare(self, X: Floats) -> Any:
        """Return what these methods, and those of the divergence, need to know about X (m, n, n)."""
        return self.divergence.prepare(X)

    def sums(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """Return the sums over Z (a prepared set of m) with weights (m, B) for the atoms D (B, n, n).

        Sums over parts of the data are added.
        """
        total = column_sums(weights)
        size = column_sums(with_values(weights, np.abs(weights.data)))
        return np.column_stack([self._parts(Z, weights, D), total, size])

    @abstractmethod
    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """Return the sums that are particular to the divergence, one row an atom."""

    def towards_centre(self, sums: Floats, D: Floats) -> Geodesics:
        """Return the geodesics from the atoms that lead to the centre, or as near as its step comes.

        Where the weights do not sum to a positive number there is no centre; then neither is there
        reason to expect much of these geodesics.
        """
        total = np.maximum(sums[:, -2], _LEAST_TOTAL * self._sizes(sums))
        return self._towards_centre(sums[:, :-2], total, D)

    @staticmethod
    def _sizes(sums: Floats) -> Floats:
        return np.maximum(sums[:, -1], np.finfo(np.float64).tiny)

    @abstractmethod
    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics: ...

    def downhill(self, sums: Floats, D: Floats) -> Geodesics:
        """Return the geodesics along the negative gradient of Σ w d(Z, D).

        At t = 1 the step is one over a bound (or an estimate) of the second derivative.
        """
        return self._downhill(sums[:, :-2], sums[:, -2], self._sizes(sums), D)

    @abstractmethod
    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics: ...

    def pairs(self, Z: Any, pattern: scipy.sparse.csc_array, D: Any) -> Floats:
        """Return d(Z_i, D_r) for the entries (i, r) of the pattern, in its order, both prepared."""
        values = self.divergence.pairwise(Z, D)
        return np.asarray(values[pattern.indices, columns_of_entries(pattern)])


@dataclass(frozen=True)
class SteinGeodesics(Geodesics):
    """D(½) = P⁻¹ and D(1) = P⁻¹ D⁻¹ P⁻¹, on the affine geodesic from D, for P = 2 Σ w (Z + D)⁻¹ / Σ w.

    P⁻¹ is the step of the fixed point. Where matrices lie close that is half the way to the
    stationary point, so that here t = 1 goes twice as far. These two points need no eigenvalues,
    which the others do, and all where P has to be projected onto the cone.
    """

    D: Floats
    P: Floats

    def points(self, t: float) -> Floats:
        """Return D(t)."""
        if t not in (0.5, 1.0):
            return self._by_eigenvalues(t)
        definite = well_conditioned(self.P, _FLOOR)
        out = np.empty_like(self.D)
        out[~definite] = SteinGeodesics(self.D[~definite], self.P[~definite])._by_eigenvalues(t)
        out[definite] = step = batched.inverse(self.P[definite])
        if t == 1.0:
            out[definite] = symmetric_part(step @ batched.inverse(self.D[definite]) @ step)
        return out

    def _by_eigenvalues(self, t: float) -> Floats:
        L = cholesky(self.D)
        π, U = np.linalg.eigh(congruence(L, self.P))
        return AffineGeodesics.of_spectrum(L, -2.0 * np.log(_floored(π)), U).points(t)


@dataclass
class MeasuredSteinSet(SteinSet):
    """Matrices with their log-determinants, for repeated use."""

    logdets: Floats


class SteinSums(AtomSums):
    """P = Σ w (Z + D)⁻¹."""

    def prepare(self, X: Floats) -> MeasuredSteinSet:
        """Return the matrices with their scale and their log-determinants."""
        scale = self.divergence.prepare(X).exponents
        return MeasuredSteinSet(X, scale, batched.log_determinant(X))

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        return weighted_inverse_sums(Z.matrices, weights, D)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        P = from_half_vectors(parts, D.shape[-1], weighted=True)
        return SteinGeodesics(D, P / (0.5 * total[:, None, None]))

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """P − (s/2) D⁻¹ is the gradient; no second derivative of S exceeds ¼."""
        L = cholesky(D)
        π, U = np.linalg.eigh(congruence(L, from_half_vectors(parts, D.shape[-1], weighted=True)))
        gradient = π - 0.5 * total[:, None]
        return AffineGeodesics.of_spectrum(L, -4.0 * gradient / size[:, None], U)

    def pairs(self, Z: Any, pattern: scipy.sparse.csc_array, D: Any) -> Floats:
        """Return S(Z_i, D_r) for the entries (i, r) of the pattern, in its order, both prepared."""
        exponent = Z.common_exponent(D)
        if exponent is None:
            return super().pairs(Z, pattern, D)
        return stein_divergences(Z.matrices, Z.logdets, pattern, D.matrices, D.logdets, exponent)


class JeffreySums(AtomSums):
    """Q = Σ w Z and P = Σ w Z⁻¹."""

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        return np.asarray(weights.T @ Z.stacked)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        """Q # P⁻¹ = P^-½ (P^½ Q P^½)^½ P^-½."""
        L = cholesky(D)
        Q, P = (np.linalg.eigh(A) for A in self._whitened(parts, L))
        root = compose(P[1], np.sqrt(_floored(P[0])))
        λ, U = np.linalg.eigh(congruence(root, compose(Q[1], _floored(Q[0]))))
        inverse_root = compose(P[1], 1.0 / np.sqrt(_floored(P[0])))
        centre = congruence(inverse_root, compose(U, np.sqrt(_floored(λ))))
        λ, U = np.linalg.eigh(centre)
        return AffineGeodesics.of_spectrum(L, np.log(_floored(λ)), U)

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """½ (P − D⁻¹ Q D⁻¹) is the gradient; the second derivative is about ½ (‖P‖ + ‖Q‖)."""
        L = cholesky(D)
        Q, P = self._whitened(parts, L)
        curvature = sum(np.linalg.norm(A, 2, axis=(-2, -1)) for A in (P, Q))
        curvature = np.maximum(curvature, np.finfo(np.float64).tiny)
        return AffineGeodesics.whitened(L, (Q - P) / curvature[:, None, None])

    @staticmethod
    def _whitened(parts: Floats, L: Floats) -> tuple[Floats, Floats]:
        """Return L⁻¹ Q L⁻ᵀ and Lᵀ P L."""
        n = L.shape[-1]
        Q, P = (from_half_vectors(half, n, weighted=True) for half in np.split(parts, 2, axis=1))
        inverse = np.asarray(np.linalg.inv(L))
        return congruence(transpose(inverse), Q), congruence(L, P)


class LogEuclideanSums(AtomSums):
    """M = Σ w log Z."""

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        return np.asarray(weights.T @ Z.half)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        """exp(M/s)."""
        return self._geodesics(parts, total, total, D)

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """2 (s log D − M) is the gradient in log D, and 2 Σ |w| bounds the second derivative."""
        return self._geodesics(parts, total, size, D)

    @staticmethod
    def _geodesics(parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        logarithms = np.asarray(logm(D))
        M = from_half_vectors(parts, D.shape[-1], weighted=True)
        s, size = total[:, None, None], size[:, None, None]
        return LogGeodesics.bounded(logarithms, (M - s * logarithms) / size)


_SUMS: dict[type[Divergence], type[AtomSums]] = {
    Stein: SteinSums,
    Jeffrey: JeffreySums,
    LogEuclidean: LogEuclideanSums,
}


def atom_sums(divergence: Divergence) -> AtomSums:
    """Return the sums of this divergence, or say that no dictionary is learned with it."""
    for cls, sums in _SUMS.items():
        if isinstance(divergence, cls):
            return sums(divergence)
    names = ", ".join(cls.name for cls in _SUMS)
    raise ValueError(
        f"A dictionary is learned with one of the metrics {names}; got {divergence.name!r}."
    )


def _floored(eigenvalues: Floats) -> Floats:
    """Return max(λ, floor·max|λ|): the projection onto the cone."""
    greatest = np.abs(eigenvalues).max(axis=-1, keepdims=True)
    floor = _FLOOR * np.maximum(greatest, np.finfo(np.float64).tiny)
    return np.asarray(np.maximum(eigenvalues, floor))
