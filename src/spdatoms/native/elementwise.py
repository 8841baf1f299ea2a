"""Last steps of pairwise divergences, in place and in one pass (elementwise.cpp)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms.native import kernel, kernels

_scale_and_shift = kernels("scale_and_shift", "TqqdTT")
_symmetrise = kernels("symmetrise", "Tqdd")
_mirror = kernels("mirror", "Tqqqq")
_settle_squares = kernel("settle_squares", "DqqqDDDD")


def scale_and_shift(
    out: NDArray[Any], scale: float, shifts_x: NDArray[Any], shifts_y: NDArray[Any]
) -> bool:
    """out[i, j] ← max(0, scale·out[i, j] + shifts_x[i] + shifts_y[j]); return whether all are finite."""
    return bool(_scale_and_shift(out.dtype)(out, *out.shape, scale, shifts_x, shifts_y))


def symmetrise(out: NDArray[Any], scale: float, shift: float) -> bool:
    """out ← max(0, scale·(out + outᵀ) + shift) with a zero diagonal; return whether all are finite."""
    return bool(_symmetrise(out.dtype)(out, len(out), scale, shift))


def mirror(out: NDArray[Any], start: int, stop: int) -> None:
    """Copy rows ``start … stop`` right of the diagonal to the columns below it, of a matrix or of a stack."""
    count = len(out) if out.ndim == 3 else 1
    _mirror(out.dtype)(out, count, out.shape[-1], start, stop)


def settle_squares(
    out: NDArray[np.float64],
    squares_x: NDArray[np.float64],
    squares_y: NDArray[np.float64],
    X: NDArray[np.float64],
    Y: NDArray[np.float64],
) -> None:
    """out[i, j] ← ‖X_i − Y_j‖², given the products of rows that have these squares once both sets are shifted alike.

    Where ‖x‖² + ‖y‖² − 2 x·y cancels or is near the ends of the range, the rows are subtracted.
    """
    X, Y = np.ascontiguousarray(X), np.ascontiguousarray(Y)
    _settle_squares(out, *out.shape, X.shape[1], squares_x, squares_y, X, Y)
