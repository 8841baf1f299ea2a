"""What to do with an array that does not have the shape (m, n, n), by what it probably holds."""

from __future__ import annotations

from math import isqrt


def shape_advice(shape: tuple[int, ...], name: str) -> str:
    """Return the end of an error message: how to make matrices of an array, or nothing if no way is known.

    Parameters
    ----------
    shape : tuple of int
        The shape of the array.
    name : str
        What the user calls the array.
    """
    if 0 in shape:
        return ""
    if len(shape) == 1:
        return (
            f". Reshape your data: a single matrix that was flattened needs {name}.reshape(1, n, n)"
        )
    if len(shape) == 2:
        return _of_table(shape[0], shape[1], name)
    if len(shape) == 3:
        return _of_signals(shape, name)
    if len(shape) > 3 and shape[-1] == shape[-2]:
        n = shape[-1]
        return f": use {name}.reshape(-1, {n}, {n}), or {name}[mask] if some of them are background"
    if len(shape) > 3 and half_vector_size(shape[-1]):
        n = half_vector_size(shape[-1])
        return f": {_half_vectors(f'{name}.reshape(-1, {shape[-1]})', shape[-1], n)}"
    return ""


def half_vector_size(length: int) -> int:
    """Return the n ≥ 2 for which n(n+1)/2 is the length, or 0 if there is none."""
    n = (isqrt(8 * length + 1) - 1) // 2
    return n if n >= 2 and n * (n + 1) // 2 == length else 0


def _of_table(rows: int, columns: int, name: str) -> str:
    if rows == columns:
        return f": for a single matrix use {name}[None]"
    n = half_vector_size(columns)
    if n:
        return f": {_half_vectors(name, columns, n)}"
    return (
        f": if it is a signal (channels, time), np.cov({name})[None] is its covariance; "
        "matrices that were flattened need reshape(-1, n, n)"
    )


def _half_vectors(array: str, length: int, n: int) -> str:
    orders = ', with order="dipy", "fsl" or "mrtrix"' if n == 3 else ""
    return (
        f"if its rows are half-vectors, {length} numbers for a {n}×{n} matrix, "
        f"use spdatoms.geometry.unvech({array}){orders}"
    )


def _of_signals(shape: tuple[int, ...], name: str) -> str:
    if shape[0] == shape[1]:
        return f": if the matrices lie along the last axis, use {name}.transpose(2, 0, 1)"
    return (
        f": if it holds signals (trials, channels, time), make covariances of them first, "
        f"for example np.stack([np.cov(trial) for trial in {name}])"
    )
