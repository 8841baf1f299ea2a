"""The shapes in which matrices come, and the one in which they are used, (m, n, n)."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Array

#: Kinds of numbers; that complex ones are refused is said where matrices are checked.
_NUMBERS = "fiubc"


def as_stack(array: Array) -> Array:
    """Return matrices as (m, n, n), given as (m, n, n), (n, n, m), (n, n) or a MATLAB cell of (n, n).

    If the shape allows both orders, symmetry decides.
    """
    if array.dtype == object:
        array = _stack_cells(array)
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"holds an array of the type {array.dtype}, not numbers")
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise ValueError(f"the shape {array.shape} is not one of matrices, (m, n, n)")
    first, second, last = array.shape
    turned = array.transpose(2, 0, 1)
    if first == second == last:
        return turned if _is_symmetric(turned) and not _is_symmetric(array) else array
    if first == second:
        return turned
    if second == last:
        return array
    raise ValueError(f"the shape {array.shape} is neither (m, n, n) nor MATLAB's (n, n, m)")


def may_be_matrices(array: Array) -> bool:
    """Return whether the shape and the type are those of matrices."""
    if array.dtype == object:
        return bool(array.size) and all(np.ndim(cell) == 2 for cell in array.flat)
    if array.dtype.kind not in _NUMBERS:
        return False
    if array.ndim == 3:
        return bool(array.shape[0] == array.shape[1] or array.shape[1] == array.shape[2])
    return array.ndim == 2 and bool(array.shape[0] == array.shape[1] > 1)


def may_be_signals(array: Array) -> bool:
    """Return whether the shape is that of signals, (trials, channels, times)."""
    return array.ndim == 3 and array.dtype.kind in "fiu" and not may_be_matrices(array)


def from_rows(rows: Array) -> Array:
    """Return the matrices of a table: one matrix, or in every row the n² entries of one."""
    count, width = rows.shape
    if count == width and (width > 1 or count == 1) and _is_symmetric(rows[None]):
        return rows[None]
    n = round(np.sqrt(width))
    if n * n != width:
        raise ValueError(
            f"has {count} rows of {width} numbers: expected are one symmetric matrix, or n² entries of "
            "a matrix in every row"
        )
    return rows.reshape(count, n, n)


def _stack_cells(array: Array) -> Array:
    if not array.size:
        raise ValueError("the cell array is empty")
    try:
        return np.stack([np.asarray(cell) for cell in array.flat])
    except ValueError:
        raise ValueError("the matrices of the cell array differ in size") from None


def _is_symmetric(X: Array) -> bool:
    X = np.asarray(X, dtype=np.float64)
    missing = np.isnan(X)
    if (missing != missing.swapaxes(1, 2)).any():
        return False
    X = np.where(missing, 0.0, X)
    difference = abs(X - X.conj().swapaxes(1, 2)).max(initial=0)
    return bool(difference <= np.sqrt(np.finfo(np.float32).eps) * abs(X).max(initial=0))
