"""Divergences that are one matrix product between half-vectors: blocks, threads, and the last step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spdatoms._compiled.elementwise import mirror, scale_and_shift, symmetrise
from spdatoms._utils.products import row_products
from spdatoms._utils.threads import effective_n_jobs, run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.base import PreparedSet
from spdatoms.exceptions import OutOfRangeError
from spdatoms.geometry.half_vectors import from_half_vectors

#: Flops in a block of rows: tens of milliseconds, enough for BLAS to be at its best.
_BLOCK_FLOPS = 2e9
#: BLAS packs the other factor anew for every block, which should serve at least this many rows, or these for
#: threads to share them.
_LEAST_ROWS, _LEAST_SHARED_ROWS = 512, 256
#: Flops that are worth waking another thread for: some 0.2 milliseconds.
_LEAST_SHARED_FLOPS = 1e7
#: Bytes of a block of the result that is computed apart from it.
_BLOCK_BYTES = 8 << 20
#: Matrices whose half-vectors are found at a time, in bytes of input.
PREPARE_BYTES = 4 << 20


@dataclass
class HalfVectorSet(PreparedSet):
    """Half-vectors of the matrices, or of functions of them, in double precision."""

    half: Floats

    def mean(self, weights: Floats) -> Floats:
        """Return Σ w_i Z_i / Σ w_i as a matrix."""
        mean = (weights @ self.half)[None] / weights.sum()
        return np.asarray(from_half_vectors(mean, self.n, weighted=True)[0])


def shifted_products(
    fill: Callable[[slice, FloatArray], Any],
    width: int,
    scale: float,
    shifts_x: FloatArray,
    shifts_y: FloatArray,
    n_jobs: int | None,
) -> FloatArray:
    """Return max(0, scale·P[i, j] + shifts_x[i] + shifts_y[j]).

    ``fill(rows, out)`` writes rows of the matrix P of products of vectors as long as ``width``.
    """
    dtype = shifts_x.dtype
    out = np.empty((len(shifts_x), len(shifts_y)), dtype)

    def compute(rows: slice) -> None:
        with _overflow_is_checked():
            fill(rows, out[rows])
        _shift(out[rows], scale, shifts_x[rows], shifts_y)

    run_blocks(compute, len(out), _shared_rows(len(out), width * len(shifts_y), n_jobs), n_jobs)
    return out


def shifted_products_within(
    A: FloatArray, scale: float, shifts: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Return max(0, scale·A_i·A_j + shifts[i] + shifts[j]), zero on the diagonal: half the flops."""
    out = np.empty((len(A), len(A)), A.dtype)
    shifts = shifts.astype(A.dtype)

    def compute(rows: slice) -> None:
        with _overflow_is_checked():
            block = A[rows] @ A[rows.start :].T
        _shift(block, scale, shifts[rows], shifts[rows.start :])
        out[rows, rows.start :] = block
        mirror(out, rows.start, rows.stop)

    rows_at_once = min(_rows_at_once(A.size), max(1, _BLOCK_BYTES // (8 * len(A))))
    run_blocks(compute, len(A), rows_at_once, n_jobs)
    np.fill_diagonal(out, 0)
    return out


def symmetrised_products(
    A: FloatArray, B: FloatArray, scale: float, shift: float, n_jobs: int | None
) -> FloatArray:
    """Return max(0, scale·(A_i·B_j + A_j·B_i) + shift), zero on the diagonal: half the flops."""
    out = np.empty((len(A), len(B)), A.dtype)

    def compute(rows: slice) -> None:
        with _overflow_is_checked():
            np.matmul(A[rows], B.T, out=out[rows])

    run_blocks(compute, len(A), _rows_at_once(B.size), n_jobs)
    if not symmetrise(out, float(scale), float(shift)):
        raise _overflow(A.dtype)
    return out


def squared_distances(A: Floats, B: Floats | None, n_jobs: int | None) -> Floats:
    """Return ‖A_i − B_j‖² for all pairs of rows (all pairs of rows of A without B).

    The rows are centred first: where all lie far from the origin, as logarithms of tiny matrices
    do, ‖a‖² + ‖b‖² − 2a·b would cancel what it is asked for.
    """
    with _overflow_is_checked():
        origin = (A if B is None else B).mean(axis=0)
    A = A - origin
    squares = np.einsum("ij,ij->i", A, A)
    if B is None:
        return shifted_products_within(A, -2.0, squares, n_jobs)
    B = B - origin
    other_squares = np.einsum("ij,ij->i", B, B)

    def fill(rows: slice, out: FloatArray) -> None:
        row_products(A[rows], B.T, out)

    return shifted_products(fill, A.shape[1], -2.0, squares, other_squares, n_jobs)


def rounded(values: Floats, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return the values in this precision; one that it cannot hold is an error."""
    if values.max() > np.finfo(dtype).max:
        raise _overflow(dtype)
    return values.astype(dtype, copy=False)


def _rows_at_once(multiplications: int) -> int:
    """Return how many rows, each of this many multiplications, to compute at a time."""
    return max(_LEAST_ROWS, int(_BLOCK_FLOPS / (2.0 * multiplications)))


def _shared_rows(count: int, multiplications: int, n_jobs: int | None) -> int:
    """Return how many of ``count`` rows to compute at a time, so that threads have two blocks each.

    Rows must not depend on the others of their block: the result is the same for any number of threads.
    """
    jobs = effective_n_jobs(n_jobs)
    if jobs == 1:
        return _rows_at_once(multiplications)
    least = max(_LEAST_SHARED_ROWS, int(_LEAST_SHARED_FLOPS / (2.0 * multiplications)))
    return min(_rows_at_once(multiplications), max(least, -(-count // (2 * jobs))))


def _shift(block: FloatArray, scale: float, shifts_x: FloatArray, shifts_y: FloatArray) -> None:
    if not scale_and_shift(block, float(scale), shifts_x, shifts_y):
        raise _overflow(block.dtype)


def _overflow_is_checked() -> np.errstate:
    """Silence NumPy's warnings: the last step finds what is not finite, and says so in an error."""
    return np.errstate(over="ignore", invalid="ignore")


def _overflow(dtype: np.dtype[np.floating]) -> OutOfRangeError:
    return OutOfRangeError(
        f"A divergence is beyond the range of {dtype}: the matrices differ too much in scale, or are "
        "too far from one. Bring them to a common scale near one first."
    )
