"""Where the entries of a triangle lie, in the orders that half-vectors have."""

from __future__ import annotations

from math import isqrt

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats, Indices


def symmetric(half: FloatArray, rows: Indices, columns: Indices, weighted: bool) -> FloatArray:
    """Return the symmetric or Hermitian matrices of entries at these rows and columns of one triangle."""
    if weighted:
        half = half / entry_weights(rows, columns).astype(half.dtype)
    n = int(rows.max()) + 1
    X = np.empty((*half.shape[:-1], n, n), dtype=half.dtype)
    X[..., columns, rows] = half.conj()
    X[..., rows, columns] = half
    return X


def matrix_size(length: int) -> int:
    """Return the n ≥ 1 for which half-vectors have this length, n(n+1)/2, or 0 if there is none."""
    n = (isqrt(8 * length + 1) - 1) // 2
    return n if n * (n + 1) // 2 == length else 0


def triangle(n: int, order: str) -> tuple[Indices, Indices]:
    """Return the row and the column of every entry of the half-vector."""
    if order in ("lower", "dipy"):
        return np.tril_indices(n)
    if order in ("upper", "fsl"):
        return np.triu_indices(n)
    diagonal = np.arange(n)
    rows, columns = np.triu_indices(n, k=1)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


def entry_weights(rows: Indices, columns: Indices, weighted: bool = True) -> Floats:
    """Return √2 off the diagonal, if weighted: inner products are then those of the matrices."""
    return np.where((rows != columns) & weighted, np.sqrt(2.0), 1.0)
