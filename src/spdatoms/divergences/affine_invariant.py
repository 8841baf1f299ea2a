"""The squared affine-invariant Riemannian distance, Σ log² λ(X⁻¹ Y)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh, solve_triangular

from spdatoms._utils.threads import blas_threads_for, block_slices, interruptibly, run_blocks
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.divergences._factor_pairs import of_each_pair
from spdatoms.divergences._log_poles import LARGEST_BY_POLES, LOG_LEAST, LOG_LIMIT, LOG_POLES
from spdatoms.divergences._nearest import nearest_by_bounds
from spdatoms.divergences._whitened_sums import whitened_sum
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.divergences.gradients import summed_gradients
from spdatoms.divergences.stein import Stein, SteinSet
from spdatoms.geometry.batched import inverse, pairs_fill_lanes
from spdatoms.geometry.frames import CommonFrame
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import whiten
from spdatoms.geometry.graded import is_graded
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.geometry.spectral import (
    AIRM,
    LOG,
    cholesky,
    compose,
    congruence,
    factored_roots,
    gram,
    in_lanes,
    inverse_lower,
    solve_lower,
    symmetric_part,
)
from spdatoms.geometry.triangles import symmetric
from spdatoms.native import kernel, kernels, lane_count
from spdatoms.native.elementwise import mirror
from spdatoms.native.interleave import aligned_empty, lanes_of

_pack_factors = kernel("pack_factors", "qqqDDD")
_squared_distances = kernels("squared_distances", "qqDDDDqTq")
_paired_squared_distances = kernel("paired_squared_distances", "qqDDDDqDq")
_log_sums = kernel("log_sums", "qqqqDDDDddDD")
_slot_count = kernel("airm_slots", "q")

# Memory of the dense factors that are held at a time, and work (pairs · n³) between two chances
# to interrupt.
_BLOCK_BYTES = 4 << 20
_BLOCK_WORK = 16_000_000
# The kernel computes many pairs at a time. Those of larger matrices leave the caches, so that LAPACK is quicker, and so
# it is from the second size on if fewer columns than these leave lanes idle.
_LARGEST_NATIVE, _LARGEST_UNFILLED, _FEWEST_COLUMNS = 512, 200, 3
# Batches that the kernel takes together, and those of so few pairs that threads could not share them: with one job,
# too, because the last bits depend on which batches are taken together, and may not depend on n_jobs.
_GROUP, _PART_OF_GROUP = 4, 2
# From this work on it pays to look at Stein's divergence first. No sum of two logarithms of numbers is larger.
_WORTH_BOUNDS, _LARGEST_LOG = 1_000_000, 1500.0
# Up to this size eigenvalues of a stack are found sooner than those of one pair after the other.
_LARGEST_STACKED = 100
# Up to this size the ratios of pairs are found sooner by rotations than by tridiagonal matrices.
_LARGEST_BY_ROTATIONS = 12
# From this λ_min/λ_max on eigenvalues have nearly the digits of singular values.
_WELL_CONDITIONED = 1e-4
# The largest over the least ratio of two variances from which on the kernel loses digits.
_LOG_GRADED = float(np.log(1e8))


#: L and 2k, for LAPACK.
DenseFactors = tuple[Floats, Floats]


@dataclass(frozen=True)
class PackedFactors:
    """Factors as the kernels take them."""

    #: L by blocks of columns, one matrix per lane, (batches, slots, lanes); the last is repeated, and so is its 2k.
    lanes: Floats
    #: 2k, one per lane.
    exponents: Floats
    #: L⁻¹ by blocks of rows, (m, slots).
    inverses: Floats

    @classmethod
    def of(cls, X: FloatArray) -> PackedFactors:
        """Factor matrices, a block of them at a time."""
        (m, n), lanes = X.shape[:2], lane_count(np.float64)
        batches, slots = -(-m // lanes), _slot_count(n)
        inverses = aligned_empty((m, slots), np.float64)
        factors = aligned_empty((batches, slots, lanes), np.float64)
        exponents = aligned_empty((batches * lanes,), np.float64)
        for part in block_slices(m, max(1, _BLOCK_BYTES // (8 * n * n))):
            L, exponents[part] = _scaled_factors(X[part])
            _pack_factors(n, len(L), part.start, L, inverses, factors)
        # Lanes past the last matrix repeat it: they are computed and thrown away.
        factors[-1, :, (m - 1) % lanes + 1 :] = factors[-1, :, (m - 1) % lanes, None]
        exponents[m:] = exponents[m - 1]
        return cls(factors, exponents, inverses)

    def inverses_of(self, chosen: Indices) -> Floats:
        """Return L⁻¹ of the matrices chosen for the lanes, as batches."""
        return _side_by_side(self.inverses[chosen], self.lanes.shape[2])

    def factors_of(self, chosen: Indices) -> Floats:
        """Return L of the matrices chosen for the lanes, as batches."""
        width = self.lanes.shape[2]
        return _side_by_side(self.lanes[chosen // width, :, chosen % width], width)


@dataclass
class FactoredSet(PreparedSet):
    """Matrices ``X_i = 4^{k_i} L_i L_iᵀ``, and their factors when they are first needed.

    The powers of four bring the largest diagonal entry of ``L_i L_iᵀ`` near one.
    """

    @cached_property
    def packed(self) -> PackedFactors:
        """The factors for the kernels."""
        return PackedFactors.of(self.matrices)

    @cached_property
    def dense(self) -> DenseFactors:
        """L and 2k, for LAPACK."""
        return _scaled_factors(self.matrices)

    @cached_property
    def stein(self) -> SteinSet:
        """The matrices for Stein's divergence, in double precision."""
        return SteinSet(np.asarray(self.matrices, np.float64))

    @cached_property
    def conditions(self) -> Floats:
        """Numbers not below the condition numbers of the matrices with unit diagonals: n · Σ_i a_ii (A⁻¹)_ii."""
        X, found = self.stein.matrices, np.empty(len(self))
        for part in block_slices(len(X), max(1, _BLOCK_BYTES // X[0].nbytes)):
            found[part] = self.n * np.einsum("mii,mii->m", X[part], inverse(X[part]))
        return found

    def some(self, chosen: Indices) -> FactoredSet:
        """Return some of the matrices, not to be compared with others but by their L."""
        found = FactoredSet(self.matrices[chosen])
        own, lanes = self.packed, lane_count(np.float64)
        filled = chosen[lanes_of(len(chosen), lanes)]
        found.packed = PackedFactors(
            own.factors_of(filled), own.exponents[filled], own.inverses[:0]
        )
        found.relative_variances = self.relative_variances[chosen]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is quickly computed anew."""
        return {"matrices": self.matrices}

    @cached_property
    def relative_variances(self) -> Floats:
        """The logarithms of the variances, less their mean in every matrix, (m, n)."""
        logs = np.log(np.einsum("mii->mi", self.matrices.astype(np.float64)))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))


class AffineInvariant(Divergence):
    """The squared affine-invariant Riemannian distance (AIRM).

    ``AIRM²(X, Y) = ‖log(X^-½ Y X^-½)‖²_F = Σ log² λ_i(X⁻¹ Y)``.

    With ``X = L Lᵀ`` and ``Y = M Mᵀ`` the λ are the squared singular values of ``L⁻¹ M``. The
    kernel finds them as eigenvalues of ``(L⁻¹ M)(L⁻¹ M)ᵀ`` and, for ill-conditioned pairs, of its
    inverse; a pair that it leaves open, and one of large matrices, is answered by LAPACK's singular values.
    Float32 input is computed in double precision: the small λ, which count as much as the large ones, are
    lost in single.
    """

    name: ClassVar[str] = "riemann"
    congruence_invariant: ClassVar[bool] = True
    complex_pairs_from: ClassVar[float] = 32

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> FactoredSet:
        """Return the matrices."""
        return FactoredSet(X)

    def pairwise(
        self, X: FactoredSet, Y: FactoredSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return AIRM² of all pairs; see `Divergence.pairwise`."""
        other = X if Y is None else Y
        m, n = X.matrices.shape[:2]
        out = np.empty((m, len(other)), np.result_type(X.matrices.dtype, other.matrices.dtype))
        if _lapack_is_quicker(n, len(other)):
            lane_per_pair, at_once = False, 1
            fill = partial(_large_rows, X.dense, other.dense)
        else:
            lane_per_pair = Y is None and pairs_fill_lanes(m, n, lane_count(np.float64))
            at_once = _BLOCK_WORK // (len(other) * (n + 5) ** 3)
            fill = partial(_native_rows, n, X.packed, other.packed)

        def rows(part: slice) -> None:
            first = part.start if Y is None else -1
            fill(part, first, out[part])
            _answer_open_pairs(X, other, part, first, out[part])
            if Y is None:
                mirror(out, part.start, part.stop)

        if lane_per_pair:
            i, j = np.triu_indices(m, 1)
            out[i, j] = _native_pairs(X.packed, n, i, j, n_jobs)
            _answer_open_pairs(X, X, slice(0, m), 0, out)
            mirror(out, 0, m)
        else:
            run_blocks(rows, m, at_once, n_jobs)
        if Y is None:
            np.fill_diagonal(out, 0.0)
        return out

    def nearest(
        self, X: FactoredSet, Y: FactoredSet, k: int, *, n_jobs: int | None = None
    ) -> tuple[FloatArray, Indices]:
        """Return the k least of AIRM²(X_i, Y_j) for every i, and their j, the least first.

        Stein's divergence S is found much sooner. With the logarithms x_r of the eigenvalues of X⁻¹Y it is Σ s(x_r) for
        s(x) = log cosh(x/2), and x² is a convex function f of s(x). So AIRM² = Σ f(s(x_r)) ≥ n·f(S/n) ≥ 8·S.
        """
        n = X.n
        if n > _LARGEST_UNFILLED or len(Y) * (n + 5) ** 3 < _WORTH_BOUNDS:
            return super().nearest(X, Y, k, n_jobs=n_jobs)
        if X.stein.common_exponent(Y.stein) is None:
            return super().nearest(X, Y, k, n_jobs=n_jobs)
        dtype = np.result_type(X.matrices, Y.matrices)

        def squared_distances(i: int, chosen: Indices | None) -> FloatArray:
            rows, some = slice(i, i + 1), Y if chosen is None else Y.some(chosen)
            out = np.empty((1, len(some)), dtype)
            _native_rows(n, X.packed, some.packed, rows, -1, out)
            _answer_open_pairs(X, some, rows, -1, out)
            return np.asarray(out[0])

        stein = Stein().pairwise(X.stein, Y.stein, n_jobs=n_jobs)
        # Of determinants: by rounding times the condition, and by that of the logarithm of a number of any size.
        rounding = np.add.outer(X.conditions, Y.conditions) + _LARGEST_LOG
        stein -= 4.0 * n * float(np.finfo(np.float64).eps) * rounding
        mean = np.maximum(stein, 0.0) / n
        roots = mean + np.log1p(np.sqrt(-np.expm1(-2.0 * mean)))  # f(s) = 4 arcosh² eˢ
        return nearest_by_bounds(4.0 * n * roots**2, squared_distances, k, dtype, n_jobs)

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return AIRM² of pairs."""
        if X.shape[-1] > _LARGEST_BY_ROTATIONS and not is_complex(X):
            return self._paired(X, Y).astype(X.dtype, copy=False)
        return of_each_pair(AIRM, self._paired, _by_eigenvalues, X, Y, 2.0)

    def _paired(self, X: FloatArray, Y: FloatArray) -> Floats:
        one, other, count = self.prepare(X), self.prepare(Y), len(X)
        if one.n <= _LARGEST_UNFILLED:
            L, M, out = one.packed, other.packed, np.empty(count)
            inverses = L.inverses_of(lanes_of(count, L.lanes.shape[2]))
            _paired_squared_distances(
                *(one.n, 1, inverses, M.lanes, L.exponents, M.exponents, -1, out, count)
            )
        else:
            out = _by_eigenvalues(as_double(X), as_double(Y))
        ratios = other.relative_variances - one.relative_variances
        unanswered = np.flatnonzero(np.isnan(out) | (np.ptp(ratios, axis=1) > _LOG_GRADED))
        out[unanswered] = _by_singular_values(one, other, unanswered, unanswered)
        out[(X == Y).all(axis=(-2, -1))] = 0.0
        return out

    def centre(self, Z: PreparedSet, weights: Floats, current: Floats) -> Floats:
        """Return ``exp_C(Σ w_i log_C(Z_i) / Σ w_i)``, one step of Karcher's iteration from C.

        Negative weights move the centre away from their matrices; the result is SPD in any case.
        """
        L = cholesky(current)
        return _moved(L, self.tangent(Z, weights, current, L))

    def tangent(self, Z: PreparedSet, weights: Floats, current: Floats, L: Floats) -> Floats:
        """Return Σ w_i log(L⁻¹ Z_i L⁻ᵀ) / Σ w_i."""
        logs = partial(_whitened_logs, current, L)
        total, _ = whitened_sum(LOG, logs, Z.matrices, weights, current)
        return np.asarray(total / weights.sum())

    def distances_and_centre(
        self, Z: PreparedSet, weights: Floats, current: Floats, least: float
    ) -> tuple[Floats, Floats]:
        """Return the distances to C and the step with the weights w/distance, from the same logarithms."""
        L = cholesky(current)
        logs = partial(_whitened_logs, current, L)
        step, norms = whitened_sum(LOG, logs, Z.matrices, weights, current, least=least)
        return norms, _moved(L, step / (weights / np.maximum(norms, least)).sum())

    def between(self, A: Floats, B: Floats, t: float) -> Floats:
        """Return A #_t B."""
        return points_between(A, B, t)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂AIRM²(X_i, Y_i)/∂X_i = −2 X_i⁻¹ log_{X_i}(Y_i) X_i⁻¹."""
        frame = CommonFrame.of(X, Y)
        return frame.cotangent(-4.0 * np.log(frame.ratios))

    def _first_sums(
        self, X: FactoredSet, Y: FactoredSet, weights: Floats, n_jobs: int | None
    ) -> Floats:
        if X.n <= LARGEST_BY_POLES:
            return _summed_logs(X, Y, weights, n_jobs)
        return super()._first_sums(X, Y, weights, n_jobs)

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return whether n is 1: only there it is a Gaussian kernel, that on logarithms."""
        return beta > 0 and n == 1


def _summed_logs(X: FactoredSet, Y: FactoredSet, weights: Floats, n_jobs: int | None) -> Floats:
    """Return −2 L_i⁻ᵀ (Σ_j w_ij log(L_i⁻¹ Y_j L_i⁻ᵀ)) L_i⁻¹ with X_i = L_i L_iᵀ."""
    n, own, (batches, _, lanes) = X.n, X.packed, Y.packed.lanes.shape
    # Of n z: the kernel's matrices have the trace n.
    (t, w), limit = n * LOG_POLES, LOG_LIMIT + np.log(n)
    triangles = np.empty((len(X), n * (n + 1) // 2))
    left = np.zeros((len(X), batches * lanes))  # the weights of pairs that are left to be answered

    def compute(rows: slice) -> None:
        graded = _graded_pairs(X, Y, rows)
        left[rows, : len(Y)] = np.where(graded, 0.0, weights[rows])
        parts = np.zeros((*triangles[rows].shape, lanes))
        _log_sums(
            *(n, rows.stop - rows.start, batches, len(t), own.inverses[rows], Y.packed.lanes),
            *(t, w, limit, n * LOG_LEAST, left[rows], parts),
        )
        triangles[rows] = parts.sum(axis=2)
        np.copyto(left[rows, : len(Y)], weights[rows], where=graded)

    run_blocks(compute, len(X), _BLOCK_WORK // (len(Y) * (n + 5) ** 3), n_jobs)
    left = left[:, : len(Y)]
    L, exponents = _scaled_factors(X.matrices)
    shifts = np.log(2.0) * (Y.packed.exponents[: len(Y)] - exponents[:, None])
    sums = symmetric(triangles, *np.tril_indices(n), weighted=False)
    sums += np.eye(n) * np.einsum("ij,ij->i", weights - left, shifts)[:, None, None]
    sums = np.ldexp(-2.0 * sums, -exponents[:, None, None].astype(np.intp))
    found = congruence(inverse_lower(L), sums)
    rows = left.any(axis=1)
    if rows.any():
        found[rows] += _logs_one_by_one(X.matrices[rows], Y.matrices, left[rows], n_jobs)
    return found


def _logs_one_by_one(X: FloatArray, Y: FloatArray, weights: Floats, n_jobs: int | None) -> Floats:
    """Return the same by the logarithms themselves, of the pairs that have a weight."""

    def tangents(A: Floats, B: Floats) -> Floats:
        return CommonFrame.of(A, B).tangent()

    def tangents_at_one(A: Floats, B: Floats) -> Floats:
        return in_lanes(LOG, tangents, B, A[None])

    sums = summed_gradients(tangents_at_one, X, Y, weights, n_jobs)
    inverses = inverse(X.astype(np.float64))
    return symmetric_part(inverses @ (-2.0 * sums) @ inverses)


def _moved(L: Floats, V: Floats) -> Floats:
    """Return L exp(V) Lᵀ."""
    eigenvalues, U = np.linalg.eigh(V)
    return gram(L @ (U * np.exp(0.5 * eigenvalues)))


def _whitened_logs(C: Floats, L: Floats, X: Floats) -> Floats:
    """Return log(L⁻¹ X L⁻ᵀ), where ``C = L Lᵀ``, through the factors of X: they have twice the digits."""
    graded = is_graded(np.einsum("mii->mi", X) / C.diagonal())
    logs = np.empty_like(X)
    roots, U = factored_roots(solve_lower(L[None], cholesky(X[~graded])))
    logs[~graded] = compose(U, 2.0 * np.log(roots))
    if graded.any():
        frame = CommonFrame.of(C, X[graded])
        scaled = np.ldexp(frame.columns, frame.units[:, :, None])
        logs[graded] = compose(solve_lower(L, scaled), 2.0 * np.log(frame.ratios))
    return logs


def _scaled_factors(X: FloatArray) -> tuple[Floats, Floats]:
    """Return L and 2k with ``X = 4^k L Lᵀ``."""
    X = X.astype(np.float64)
    largest = X.diagonal(axis1=1, axis2=2).max(axis=1)
    exponents = np.frexp(largest)[1] // 2 * 2
    try:
        with blas_threads_for(X.shape[-1]):
            L = np.linalg.cholesky(np.ldexp(X, -exponents[:, None, None]))
    except np.linalg.LinAlgError:  # check_spd has passed it, so a tiny entry has underflowed
        raise ValueError(
            "The entries of a matrix span more orders of magnitude than double precision has: scale "
            "its variables to comparable units first (congruence does not change the distances)."
        ) from None
    return L, exponents.astype(np.float64)


def _side_by_side(rows: Floats, lanes: int) -> Floats:
    """Return rows (k · lanes, slots) as batches (k, slots, lanes)."""
    return np.ascontiguousarray(rows.reshape(-1, lanes, rows.shape[1]).swapaxes(1, 2))


def _lapack_is_quicker(n: int, columns: int) -> bool:
    """Return whether LAPACK is quicker than the kernel, in which few columns leave lanes idle."""
    return n > _LARGEST_NATIVE or (n > _LARGEST_UNFILLED and columns < _FEWEST_COLUMNS)


def _large_rows(X: DenseFactors, Y: DenseFactors, rows: slice, first: int, out: FloatArray) -> None:
    """Fill rows of the result as `_native_rows` does, a pair at a time by LAPACK's singular values."""
    (L, exponents_x), (M, exponents_y) = X, Y
    for i in range(rows.start, rows.stop):
        for j in range(i + 1 if first >= 0 else 0, len(M)):
            shift = exponents_y[j] - exponents_x[i]
            logs = interruptibly(_log_ratios, L[i], M[j]) + np.log(2.0) * shift
            out[i - rows.start, j] = logs @ logs


def _log_ratios(L: Floats, M: Floats) -> Floats:
    """Return log σ² for the singular values σ of L⁻¹ M."""
    whitened = solve_triangular(L, M, lower=True, check_finite=False)
    return np.asarray(2.0 * np.log(np.linalg.svdvals(whitened)))  # SciPy's would stop other threads


def log_ratios_of_pairs(X: FloatArray, Y: FloatArray) -> Floats:
    """Return log λ(X_i⁻¹ Y_i) of large or complex matrices, NaN for a pair of which some would have too few digits."""
    try:
        if X.shape[-1] <= _LARGEST_STACKED:
            values = np.linalg.eigvalsh(whiten(np.linalg.cholesky(X), Y))
        else:
            values = np.array([interruptibly(eigvalsh, *pair) for pair in zip(Y, X, strict=True)])
    except np.linalg.LinAlgError:  # the range was not enough
        return np.full(X.shape[:2], np.nan)
    enough = values[:, 0] > _WELL_CONDITIONED * values[:, -1]
    return np.log(np.where(enough[:, None], values, np.nan))


def _by_eigenvalues(X: FloatArray, Y: FloatArray) -> Floats:
    """Return Σ log² λ(X_i⁻¹ Y_i), NaN where it would have too few digits."""
    logs = log_ratios_of_pairs(X, Y)
    return np.asarray(np.einsum("ij,ij->i", logs, logs))


def _native_rows(
    n: int, X: PackedFactors, Y: PackedFactors, rows: slice, first: int, out: FloatArray
) -> None:
    """Fill rows of the result, from column ``first`` (if it is not negative) plus the row on."""
    count, columns, lanes = *out.shape, Y.lanes.shape[2]
    groups = _BLOCK_WORK // (_GROUP * lanes * (n + 5) ** 3)
    at_once = columns if count > 1 else max(1, groups) * _GROUP * lanes
    for some in block_slices(columns, at_once):
        _squared_distances(out.dtype)(
            *(n, count, X.inverses[rows], Y.lanes[some.start // lanes :]),
            *(X.exponents[rows], Y.exponents[some.start :]),
            *(max(0, first - some.start) if first >= 0 else -1, out[:, some], len(out[0, some])),
        )


def _native_pairs(X: PackedFactors, n: int, i: Indices, j: Indices, n_jobs: int | None) -> Floats:
    """Return AIRM² of pairs (i, j) of one set, each in a lane of its own."""
    count, lanes = len(i), X.lanes.shape[2]
    chosen = lanes_of(count, lanes)
    i, j, values = i[chosen], j[chosen], np.empty(len(chosen))

    def compute(part: slice) -> None:
        own = slice(part.start * lanes, part.stop * lanes)
        _paired_squared_distances(
            *(n, 1, X.inverses_of(i[own]), X.factors_of(j[own])),
            *(X.exponents[i[own]], X.exponents[j[own]], -1, values[own], len(values[own])),
        )

    batches = len(chosen) // lanes
    run_blocks(compute, batches, _GROUP if batches > 2 * _GROUP else _PART_OF_GROUP, n_jobs)
    return values[:count]


def _graded_pairs(X: FactoredSet, Y: FactoredSet, rows: slice) -> NDArray[np.bool_]:
    """Return the pairs of which some variances differ so much more than others that digits would be lost."""
    a, b = X.relative_variances[rows], Y.relative_variances
    if (b.max(axis=0) - a.min(axis=0)).max() - (b.min(axis=0) - a.max(axis=0)).min() <= _LOG_GRADED:
        return np.zeros((len(a), len(b)), dtype=bool)
    differences = (b - x for x in a)
    return np.array([np.ptp(d, axis=1) > _LOG_GRADED for d in differences])


def _answer_open_pairs(
    X: FactoredSet, Y: FactoredSet, rows: slice, first: int, out: FloatArray
) -> None:
    """Replace the NaN that the kernel left, and what it would have too few digits of."""
    unanswered = np.isnan(out) | _graded_pairs(X, Y, rows)
    if first >= 0:
        unanswered &= np.arange(out.shape[1]) > np.arange(rows.start, rows.stop)[:, None]
    a, j = np.nonzero(unanswered)
    out[a, j] = _by_singular_values(X, Y, rows.start + a, j)


def _by_singular_values(X: FactoredSet, Y: FactoredSet, i: Indices, j: Indices) -> Floats:
    """Return ``Σ log² σ²`` with the singular values σ of ``L⁻¹ M``, for pairs (i, j)."""
    values = np.empty(len(i))
    for some in block_slices(len(i), max(1, _BLOCK_BYTES // (8 * X.n**2))):
        frames = CommonFrame.of(X.matrices[i[some]], Y.matrices[j[some]])
        logs = 2.0 * np.log(frames.ratios)
        values[some] = (logs * logs).sum(axis=1)
    return values
