"""Divergences that are one matrix product between half-vectors: blocks, threads, and the last step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spdatoms._utils.threads import effective_n_jobs, run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.exceptions import OutOfRangeError
from spdatoms.native.elementwise import scale_and_shift, symmetrise

#: Flops in a block of rows: tens of milliseconds, enough for BLAS to be at its best.
_BLOCK_FLOPS = 2e9
#: BLAS packs the other factor anew for every block, which should serve at least this many rows, or these for
#: threads to share them.
_LEAST_ROWS, _LEAST_SHARED_ROWS = 512, 256
#: Flops that are worth waking another thread for: some 0.2 milliseconds.
_LEAST_SHARED_FLOPS = 1e7


def shifted_products(
    fill: Callable[[slice, FloatArray], Any],
    width: int,
    shifts_x: FloatArray,
    shifts_y: FloatArray,
    n_jobs: int | None,
) -> FloatArray:
    """Return max(0, P[i, j] + shifts_x[i] + shifts_y[j]).

    ``fill(rows, out)`` writes rows of the matrix P of products of vectors as long as ``width``.
    """
    dtype = shifts_x.dtype
    out = np.empty((len(shifts_x), len(shifts_y)), dtype)

    def compute(rows: slice) -> None:
        with overflow_is_checked():
            fill(rows, out[rows])
        if not scale_and_shift(out[rows], 1.0, shifts_x[rows], shifts_y):
            raise _overflow(dtype)

    run_blocks(compute, len(out), shared_rows(len(out), width * len(shifts_y), n_jobs), n_jobs)
    return out


def symmetrised_products(
    A: FloatArray, B: FloatArray, shift: float, n_jobs: int | None
) -> FloatArray:
    """Return max(0, A_i·B_j + A_j·B_i + shift), zero on the diagonal: half the flops."""
    out = np.empty((len(A), len(B)), A.dtype)

    def compute(rows: slice) -> None:
        with overflow_is_checked():
            np.matmul(A[rows], B.T, out=out[rows])

    run_blocks(compute, len(A), rows_at_once(B.size), n_jobs)
    if not symmetrise(out, 1.0, float(shift)):
        raise _overflow(A.dtype)
    return out


def paired_products(A: Floats, B: Floats, shifts: Floats | float) -> Floats:
    """Return max(0, A_i·B_i + shifts_i) for rows that belong together."""
    with overflow_is_checked():
        return np.asarray(np.maximum(np.einsum("ij,ij->i", A, B) + shifts, 0.0))


def within(values: Floats, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return values in this precision; one that it cannot hold is an error."""
    with overflow_is_checked():
        out = values.astype(dtype, copy=False)
    if not np.isfinite(out).all():
        raise _overflow(dtype)
    return out


def rounded(values: Floats, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return squared distances in this precision; one that it cannot hold is an error.

    Zero is fine for equal matrices only. In single precision a number that has lost digits to being too small is
    fine, too: it may be that of matrices which are equal up to rounding, at the scale of volt².
    """
    limits = np.finfo(dtype)
    if not values.max(initial=0.0) <= limits.max:
        raise _overflow(dtype)
    least = limits.tiny if dtype == np.float64 else limits.smallest_subnormal
    small = values[values < least]
    if (small[small > -least] != 0.0).any():
        raise too_small(dtype)
    return values.astype(dtype, copy=False)


def too_small(dtype: np.dtype[np.floating]) -> OutOfRangeError:
    """Return the error about a divergence that would lose digits, or be zero, for being too small."""
    return OutOfRangeError(
        f"A divergence of different matrices is too small for {dtype}: they are too small, or differ too "
        "little. Bring them to a common scale near one first."
    )


def rows_at_once(multiplications: int) -> int:
    """Return how many rows, each of this many multiplications, to compute at a time."""
    return max(_LEAST_ROWS, int(_BLOCK_FLOPS / (2.0 * multiplications)))


def shared_rows(count: int, multiplications: int, n_jobs: int | None) -> int:
    """Return how many of ``count`` rows to compute at a time, so that threads have two blocks each.

    Rows must not depend on the others of their block: the result is the same for any number of threads.
    """
    jobs = effective_n_jobs(n_jobs)
    if jobs == 1:
        return rows_at_once(multiplications)
    least = max(_LEAST_SHARED_ROWS, int(_LEAST_SHARED_FLOPS / (2.0 * multiplications)))
    return min(rows_at_once(multiplications), max(least, -(-count // (2 * jobs))))


def overflow_is_checked() -> np.errstate:
    """Silence NumPy's warnings: the last step finds what is not finite, and says so in an error."""
    return np.errstate(over="ignore", invalid="ignore")


def _overflow(dtype: np.dtype[np.floating]) -> OutOfRangeError:
    return OutOfRangeError(
        f"A divergence is beyond the range of {dtype}: the matrices differ too much in scale, or are "
        "too far from one. Bring them to a common scale near one first."
    )
