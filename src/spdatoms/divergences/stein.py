"""The Stein divergence, also known as Jensen–Bregman LogDet divergence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.atom_sums import (
    FLOOR,
    columns_of_entries,
    floored,
    in_batches,
    scaled_inverse_sum,
    scaled_inverse_sums,
    weighted_inverse_sums,
)
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.divergences.checked_pairs import STEIN
from spdatoms.geometry import batched
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import AffineGeodesics, Geodesics, well_conditioned
from spdatoms.geometry.half_vectors import from_half_vectors
from spdatoms.geometry.repair import nearest_spd
from spdatoms.geometry.spectral import as_stack, cholesky, congruence, symmetric_part
from spdatoms.native import lane_count
from spdatoms.native.interleave import flat, pack_scalars

#: If fewer pairs than this share have a weight, they are gathered; else all pairs are computed.
_SPARSE = 0.3


@dataclass
class SteinSet(PreparedSet):
    """Matrices with their scale, and copies that are packed for the lane kernels."""

    _lanes: tuple[int, batched.Lanes] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """The binary exponents between which the pivots of their sums lie."""
        return batched.exponent_range(self.matrices)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed copy, which is quickly made anew."""
        return self.__dict__ | {"_lanes": None}

    @cached_property
    def logdets(self) -> Floats:
        """The log-determinants, computed when they are first needed."""
        if self.matrices.dtype == np.float64 and batched.fits(
            self.exponents, 0, self.matrices.dtype
        ):
            return batched.packed_log_determinant(self._packed(0))
        return batched.log_determinant(self.matrices)

    def scaled_logdets(self, exponent: int) -> FloatArray:
        """Return log det(2^-e·X_i), where e is one of `common_exponent`; those for e = 0 are kept."""
        if exponent == 0 and self.matrices.dtype == np.float64:
            return self.logdets
        return batched.packed_log_determinant(self._packed(exponent))

    def lanes(self, exponent: int) -> batched.Lanes:
        """Return 2^-e·X packed for the lane kernels; it is kept, as one set often meets many others."""
        packed = self._packed(exponent)
        self._lanes = exponent, packed
        return packed

    def _packed(self, exponent: int) -> batched.Lanes:
        kept = self._lanes  # another thread may replace it
        if kept is not None and kept[0] == exponent:
            return kept[1]
        return batched.Lanes(self.matrices, float(np.ldexp(1.0, -exponent)))

    def common_exponent(self, other: SteinSet) -> int | None:
        """Return an e such that 2^-e brings both sets to where products of pivots do not overflow."""
        joint = (
            min(self.exponents[0], other.exponents[0]),
            max(self.exponents[1], other.exponents[1]),
        )
        return batched.common_exponent(joint, self.matrices.dtype)

    def as_double(self) -> SteinSet:
        """Return the set in double precision."""
        return SteinSet(self.matrices.astype(np.float64))


class Stein(Divergence):
    """Stein's divergence, also called the S- or logdet divergence.

    S(X, Y) = log det((X+Y)/2) − ½ log det X − ½ log det Y.

    With λ the eigenvalues of X⁻¹Y it is Σ log cosh(½ log λ): symmetric, invariant under congruence
    X → AXAᵀ and under inversion. √S is a metric.
    """

    name: ClassVar[str] = "stein"
    pair_kernel: ClassVar[int | None] = STEIN
    congruence_invariant: ClassVar[bool] = True
    # Each of the sums Z_i + C holds half of C, so a step only halves the error.
    relaxation: ClassVar[float] = 2.0

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> SteinSet:
        """Return the matrices with their scale."""
        return SteinSet(X)

    def pairwise(
        self, X: SteinSet, Y: SteinSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return S(X_i, Y_j) for all pairs."""
        exponent = batched.common_exponent((X if Y is None else Y).exponents, X.matrices.dtype)
        if exponent is not None:
            if Y is not None and not batched.fits(X.exponents, exponent, X.matrices.dtype):
                return self._pairwise_apart(X, Y, exponent, n_jobs)
            return _pairwise_by_lanes(X, Y, exponent, n_jobs)
        if X.matrices.dtype != np.float64:
            double = self.pairwise(
                X.as_double(), None if Y is None else Y.as_double(), n_jobs=n_jobs
            )
            return double.astype(X.matrices.dtype)
        return _pairwise_one_by_one(X.matrices, (X if Y is None else Y).matrices)

    def _pairwise_apart(
        self, X: SteinSet, Y: SteinSet, exponent: int, n_jobs: int | None
    ) -> FloatArray:
        """S where the scale of some X_i is far from that of Y: these apart, so that the others do not notice."""
        ranges = [batched.exponent_range(A[None]) for A in X.matrices]
        near = np.array([batched.fits(within, exponent, X.matrices.dtype) for within in ranges])
        out = np.empty((len(X), len(Y)), X.matrices.dtype)
        if near.any():
            some = self.prepare(X.matrices[near])
            out[near] = _pairwise_by_lanes(some, Y, exponent, n_jobs)
        if X.matrices.dtype != np.float64:
            far = self.prepare(X.matrices[~near]).as_double()
            out[~near] = self.pairwise(far, Y.as_double(), n_jobs=n_jobs)
            return out
        for i in np.flatnonzero(~near):
            row = self.prepare(X.matrices[i : i + 1])
            joint = row.common_exponent(Y)
            out[i] = (
                _pairwise_one_by_one(row.matrices, Y.matrices)
                if joint is None
                else _pairwise_by_lanes(row, Y, joint, n_jobs)
            )[0]
        return out

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return S(X_i, Y_i) of pairs."""
        A, B = (np.asarray(Z, np.float64) for Z in (X, Y))
        logdets = [batched.log_determinant(Z) for Z in (0.5 * A + 0.5 * B, A, B)]
        values = np.maximum(logdets[0] - 0.5 * (logdets[1] + logdets[2]), 0.0)
        return values.astype(X.dtype, copy=False)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂S(X_i, Y_i)/∂X_i = (X_i + Y_i)⁻¹ − ½ X_i⁻¹."""
        return batched.inverse(X + Y) - 0.5 * batched.inverse(as_stack(X))

    def vjp(
        self,
        X: SteinSet,
        Y: SteinSet,
        weights: Floats,
        *,
        both: bool = True,
        n_jobs: int | None = None,
    ) -> tuple[Floats, Floats | None]:
        """Return P_i − ½ s_i X_i⁻¹ with P_i = Σ_j w_ij (X_i + Y_j)⁻¹ and s_i = Σ_j w_ij, and the same for Y."""
        one, other = (Z if Z.matrices.dtype == np.float64 else Z.as_double() for Z in (X, Y))
        exponent = one.common_exponent(other)
        if exponent is None:
            return super().vjp(one, other, weights, both=both, n_jobs=n_jobs)
        sets = (one.matrices, other.matrices)
        sums: Sequence[Floats]
        if np.count_nonzero(weights) < _SPARSE * weights.size:
            sums = _sparse_inverse_sums(*sets, weights, both)
        else:
            factor = float(np.ldexp(1.0, -exponent))
            once = X is Y and not both and np.array_equal(weights, weights.T)
            own = np.triu(weights) - 0.5 * np.diag(weights.diagonal()) if once else weights
            sums = batched.pair_inverse_sums(sets[0], other.lanes(exponent), factor, own, n_jobs)
            if once:  # every pair in both sums
                sums = [sums[0] + sums[1]]
        gradients = [
            P - (0.5 * weights.sum(axis=1 - axis))[:, None, None] * batched.inverse(Z)
            for axis, (P, Z) in enumerate(zip(sums, sets, strict=False))
        ]
        return gradients[0], gradients[1] if both else None

    def centre(self, Z: SteinSet, weights: Floats, current: Floats) -> Floats:
        """Return (s/2)·P⁻¹ with P = Σ w_i (Z_i + current)⁻¹ and s = Σ w_i.

        It is one step of a fixed point iteration, and the stationary point is its fixed point.
        """
        sums, factors = scaled_inverse_sum(np.asarray(Z.matrices, np.float64), weights, current)
        P = from_half_vectors(sums, Z.n, weighted=False)
        if (weights < 0).any():
            P = np.asarray(nearest_spd(P))
        return np.asarray(batched.inverse(P)[0] * (0.5 * weights.sum() / factors[0]))

    def between(self, A: Floats, B: Floats, t: float) -> Floats | None:
        """Return A # B if both weigh the same."""
        return points_between(A, B, 0.5) if t == 0.5 else None

    def centres(self, Z: SteinSet, weights: scipy.sparse.csc_array, current: Floats) -> Floats:
        """Return `centre` for every column of weights."""
        matrices = np.asarray(Z.matrices, np.float64)
        sums, factors = scaled_inverse_sums(matrices, weights, current)
        P = from_half_vectors(sums, Z.n, weighted=False)
        for r in np.unique(columns_of_entries(weights)[weights.data < 0]):
            P[r] = nearest_spd(P[r])
        totals = np.array([weights.data[a:b].sum() for a, b in pairwise(weights.indptr)])
        # P holds the inverse of the scaled sums: P⁻¹ is f times what is asked for.
        return np.asarray(batched.inverse(P) * (0.5 * totals / factors)[:, None, None])

    def coordinates(self, C: Floats, current: Floats) -> Floats:
        """Return C⁻¹."""
        return np.asarray(batched.inverse(C[None])[0])

    def from_coordinates(self, V: Floats, current: Floats) -> Floats:
        """Return V⁻¹."""
        return self.coordinates(V, current)

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return whether β is one of ½, 1, 3/2, …, (n−1)/2, or at least (n−1)/2 [1]_.

        For these β, and no others, exp(−β·S) is positive definite on every set of n×n matrices. At
        another β the Gram matrix of a particular set may well be positive definite, too:
        `DivergenceKernel` looks.

        References
        ----------
        .. [1] S. Sra, Positive definite matrices and the S-divergence, 2016.

        Examples
        --------
        >>> from spdatoms.divergences import Stein
        >>> [Stein().kernel_is_guaranteed(beta, n=4) for beta in (0.1, 0.5, 1.2, 1.5, 7.3)]
        [False, True, False, True, True]
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        return beta > 0 and (2 * beta >= n - 1 or float(2 * beta).is_integer())

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """P = Σ w (Z + D)⁻¹."""
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
        half = float(np.ldexp(1.0, -exponent - 1))
        entries, used, begins, ends = in_batches(pattern)
        chosen = pattern.indices[entries].astype(np.int64)
        values = np.empty((1, len(chosen)))
        if not batched.write_logdets(
            pack_scalars(D.matrices, half),
            flat(Z.matrices),
            chosen,
            0.5 * D.logdets,
            (0.5 * Z.logdets - Z.n * exponent * np.log(2.0))[chosen],
            begins,
            ends,
            values,
            n=Z.n,
            floor=0.0,
            chunk=max(1, len(chosen) // lane_count(Z.matrices.dtype)),
            factor=half,
        ):
            raise ValueError("A sum X_i + D_r is not positive definite: ask check_spd about both.")
        return np.asarray(values[0, used])


def _sparse_inverse_sums(X: Floats, Y: Floats, weights: Floats, both: bool) -> list[Floats]:
    """Return Σ_j w_ij (X_i + Y_j)⁻¹, and the sums over i if both are wanted, of the pairs that have a weight."""
    sides = [(Y, weights.T, X), (X, weights, Y)]
    return [
        from_half_vectors(
            weighted_inverse_sums(Z, scipy.sparse.csc_array(w), C), C.shape[-1], weighted=True
        )
        for Z, w, C in (sides if both else sides[:1])
    ]


def _pairwise_by_lanes(
    X: SteinSet, Y: SteinSet | None, exponent: int, n_jobs: int | None
) -> FloatArray:
    """S of all pairs. S(X, X) is exactly 0: both logarithms are found by the same operations."""
    lanes = (X if Y is None else Y).lanes(exponent)
    halves_x = 0.5 * X.scaled_logdets(exponent)
    halves_y = halves_x if Y is None else 0.5 * Y.scaled_logdets(exponent)
    return batched.log_determinants(
        X.matrices,
        lanes,
        float(np.ldexp(1.0, -exponent)),
        halves_x,
        halves_y,
        floor=0.0,
        power=-1,
        triangle=Y is None,
        n_jobs=n_jobs,
    )


def _pairwise_one_by_one(X: FloatArray, Y: FloatArray) -> FloatArray:
    """S of all pairs where one set of exponents cannot hold them all: slow, but for any scales."""
    logdet = batched.careful_log_determinant
    halves_x, halves_y = ([0.5 * logdet(A, A) for A in stack] for stack in (X, Y))
    S = np.array([[logdet(A, B) for B in Y] for A in X])
    S -= np.add.outer(halves_x, halves_y)
    return np.asarray(np.maximum(S, 0.0))


@dataclass(frozen=True)
class SteinGeodesics(Geodesics):
    """D(½) = P⁻¹ and D(1) = P⁻¹ D⁻¹ P⁻¹, on the affine geodesic from D, for P = 2 Σ w (Z + D)⁻¹ / Σ w.

    P⁻¹ is the step of the fixed point. Where matrices lie close that is half the way to the
    stationary point, so that here t = 1 goes twice as far. These two points need eigenvalues only
    where P has to be projected onto the cone; all other points need them.
    """

    D: Floats
    P: Floats

    def points(self, t: float | Floats) -> Floats:
        """Return D(t)."""
        if np.ndim(t) or t not in (0.5, 1.0):
            return self._by_eigenvalues.points(t)
        definite = well_conditioned(self.P, FLOOR)
        out = np.empty_like(self.D)
        projected = SteinGeodesics(self.D[~definite], self.P[~definite])
        out[~definite] = projected._by_eigenvalues.points(t)
        out[definite] = step = batched.inverse(self.P[definite])
        if t == 1.0:
            out[definite] = symmetric_part(step @ batched.inverse(self.D[definite]) @ step)
        return out

    @cached_property
    def _by_eigenvalues(self) -> AffineGeodesics:
        L = cholesky(self.D)
        π, U = np.linalg.eigh(congruence(L, self.P))
        return AffineGeodesics.of_spectrum(L, -2.0 * np.log(floored(π)), U)
