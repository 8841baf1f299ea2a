"""The squared affine-invariant Riemannian distance, Σ log² λ(X⁻¹ Y)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spdatoms._blocks import block_slices, run_blocks
from spdatoms._compiled.eigenvalues import (
    GROUP,
    invert_lower,
    program,
    scratch_size,
    squared_distances,
)
from spdatoms._compiled.finish import mirror
from spdatoms._compiled.interleave import aligned_empty
from spdatoms._compiled.lanes import lane_count, size_tag
from spdatoms._compiled.whitening import factor_orders, slot_count, tile_count
from spdatoms.divergences._base import Divergence
from spdatoms.geometry import exp_map, log_map
from spdatoms.validation import FloatArray

# Memory of the dense factors that are held at a time, and work (pairs · n³) between two chances
# to interrupt.
_BLOCK_BYTES = 4 << 20
_BLOCK_WORK = 50_000_000
# Up to this ratio λ_max/λ_min the eigenvalues' error of a few eps·λ_max costs no digit that counts.
_HARMLESS_RATIO = 1e4


@dataclass(frozen=True)
class FactoredSet:
    """Matrices ``X_i = 4^{k_i} L_i L_iᵀ``: their factors, as the compiled kernels take them.

    The powers of four bring the largest diagonal entry of ``L_i L_iᵀ`` near one.
    """

    matrices: FloatArray
    #: L⁻¹ by blocks of rows, (m, slots).
    inverses: NDArray[np.float64]
    #: L by blocks of columns, one matrix a lane, (batches, slots, lanes); the last is repeated.
    factors: NDArray[np.float64]
    #: 2k, one a lane.
    exponents: NDArray[np.float64]
    #: A lower bound of the condition number of the unit-diagonal scaling of X, one a lane.
    conditions: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The n of n×n."""
        return int(self.matrices.shape[1])

    def __len__(self) -> int:
        return len(self.matrices)

    def dense_inverses(self, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return L⁻¹ of some matrices as an array (·, n, n)."""
        return _dense(self.inverses[index], factor_orders(self.size)[0], self.size)

    def dense_factors(self, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return L of some matrices as an array (·, n, n)."""
        batch, lane = np.divmod(index, self.factors.shape[2])
        return _dense(self.factors[batch, :, lane], factor_orders(self.size)[1], self.size)


class AffineInvariant(Divergence):
    """``AIRM²(X, Y) = ‖log(X^-½ Y X^-½)‖²_F = Σ log² λ_i(X⁻¹ Y)``.

    With ``X = L Lᵀ`` and ``Y = M Mᵀ`` the λ are the squared singular values of ``L⁻¹ M``. Most pairs
    are answered by compiled code, which takes them for eigenvalues of ``(L⁻¹ M)(L⁻¹ M)ᵀ``. Those
    where that costs digits beyond what the conditions of X and Y cost anyway are done again with
    singular values.
    """

    name: ClassVar[str] = "riemann"

    def prepare(self, X: FloatArray) -> FactoredSet:
        """Factor the matrices and store the factors in the kernels' order."""
        m, n = X.shape[:2]
        lanes = lane_count(np.float64)
        batches = GROUP * -(-m // (GROUP * lanes))
        inverses = aligned_empty((m, slot_count(n)), np.float64)
        factors = aligned_empty((batches, slot_count(n), lanes), np.float64)
        exponents, conditions = aligned_empty((2, batches * lanes), np.float64)
        by_rows, by_columns = factor_orders(n)
        padded = tile_count(n) * (by_rows[0].max() + 1) // tile_count(n)
        block = max(lanes, _BLOCK_BYTES // (8 * padded**2) // lanes * lanes)
        for part in block_slices(batches * lanes, block):
            chosen = np.minimum(np.arange(part.start, part.stop), m - 1)
            L = np.zeros((len(chosen), padded, padded))
            L[:, :n, :n], exponents[part] = _scaled_factors(X[chosen])
            inverse = np.zeros_like(L)
            invert_lower(L[:, :n, :n], inverse[:, :n, :n])
            kept = inverses[part]
            kept[:] = inverse[: len(kept), by_rows[0], by_rows[1]]
            rows = L[:, by_columns[0], by_columns[1]].reshape(-1, lanes, slot_count(n))
            factors[part.start // lanes : part.stop // lanes] = rows.swapaxes(1, 2)
            conditions[part] = ((L**2).sum(axis=2) * (inverse**2).sum(axis=1)).sum(axis=1) / n
        return FactoredSet(X, inverses, factors, exponents, np.maximum(conditions, _HARMLESS_RATIO))

    def pairwise(
        self, X: FactoredSet, Y: FactoredSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return AIRM² of all pairs; see `Divergence.pairwise`."""
        other = X if Y is None else Y
        dtype = np.result_type(X.matrices.dtype, other.matrices.dtype)
        out = np.empty((len(X), len(other)), dtype=np.float64)

        def rows(part: slice) -> None:
            first = part.start if Y is None else -1
            _compiled_rows(X, other, part, first, out[part])
            _repair_rows(X, other, part, first, out[part])
            if Y is None:
                mirror(out, part.start, part.stop)

        run_blocks(rows, len(X), _BLOCK_WORK // (len(other) * (X.size + 5) ** 3), n_jobs)
        if Y is None:
            np.fill_diagonal(out, 0.0)
        return out.astype(dtype, copy=False)

    def centre(
        self, Z: FactoredSet, weights: NDArray[np.float64], current: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return ``exp_C(Σ w_i log_C(Z_i) / Σ w_i)``, one step of Karcher's iteration from C.

        Negative weights move the centre away from their matrices; the result is SPD in any case.
        """
        shares = weights / weights.sum()
        used = np.flatnonzero(shares)
        step = np.zeros(current.shape)
        for part in block_slices(len(used), max(1, _BLOCK_BYTES // current.nbytes)):
            tangents = log_map(Z.matrices[used[part]], current)
            step += np.tensordot(shares[used[part]], tangents, axes=1)
        return np.asarray(exp_map(step, current), dtype=np.float64)


def _scaled_factors(X: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L and 2k with ``X = 4^k L Lᵀ``."""
    X = X.astype(np.float64)
    largest = X.diagonal(axis1=1, axis2=2).max(axis=1)
    exponents = np.frexp(largest)[1] // 2 * 2
    L = np.linalg.cholesky(np.ldexp(X, -exponents[:, None, None]))
    return L, exponents.astype(np.float64)


def _dense(
    packed: NDArray[np.float64], order: tuple[NDArray[np.intp], NDArray[np.intp]], n: int
) -> NDArray[np.float64]:
    rows, columns = order
    inside = (rows < n) & (columns < n)
    dense = np.zeros((len(packed), n, n))
    dense[:, rows[inside], columns[inside]] = packed[:, inside]
    return dense


def _compiled_rows(
    X: FactoredSet, Y: FactoredSet, part: slice, first: int, out: NDArray[np.float64]
) -> None:
    n, (slots, lanes) = X.size, Y.factors.shape[1:]
    scratch = aligned_empty((scratch_size(n, slots, lanes),), np.float64)
    shifts = X.exponents[part], Y.exponents
    limits = X.conditions[part], Y.conditions
    tag = size_tag(program(n))
    inverses = X.inverses[part]
    squared_distances(
        tag, 0.0, n, tile_count(n), inverses, Y.factors, shifts, limits, first, scratch, out
    )


def _repair_rows(
    X: FactoredSet, Y: FactoredSet, part: slice, first: int, out: NDArray[np.float64]
) -> None:
    """Answer the pairs that the compiled code left open by the singular values of L⁻¹ M."""
    unanswered = np.isnan(out)
    if first >= 0:
        unanswered &= np.arange(out.shape[1]) > np.arange(part.start, part.stop)[:, None]
    if not unanswered.any():
        return
    rows, columns = np.nonzero(unanswered)
    for some in block_slices(len(rows), max(1, _BLOCK_BYTES // (8 * X.size**2))):
        i, j = part.start + rows[some], columns[some]
        values = np.linalg.svd(X.dense_inverses(i) @ Y.dense_factors(j), compute_uv=False)
        logs = 2.0 * np.log(values) + np.log(2.0) * (Y.exponents[j] - X.exponents[i])[:, None]
        out[rows[some], columns[some]] = (logs**2).sum(axis=1)
        failed = np.flatnonzero(~np.isfinite(out[rows[some], columns[some]]))
        if len(failed):
            pair = f"X[{i[failed[0]]}] and Y[{j[failed[0]]}]"
            raise ValueError(
                f"The affine-invariant distance of {pair} is not a number: one of them is singular "
                "to working precision; spdatoms.geometry.regularise or shrink makes it definite."
            )
