"""Half-vectorisation: a symmetric n×n matrix as the n(n+1)/2 numbers that determine it."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.geometry.validation import as_float, check_square

_ORDERS = ("lower", "upper", "diagonal", "dipy", "fsl", "mrtrix")


def vech(X: ArrayLike, *, order: str = "lower", weighted: bool = False) -> FloatArray:
    """Return the entries of one triangle, ``v_k = w_k · x_{i(k) j(k)}``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric matrices; one triangle is read.
    order : {"lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"}
        ``"lower"`` and ``"upper"`` go through that triangle row by row, ``"diagonal"`` takes the
        diagonal first and then the rest of the upper triangle row by row. The other names are those
        of diffusion tools, for n = 3:

        ============  ============================  ==============================
        ``"dipy"``    Dxx, Dxy, Dyy, Dxz, Dyz, Dzz  ``"lower"``; also NIfTI, AFNI
        ``"fsl"``     Dxx, Dxy, Dxz, Dyy, Dyz, Dzz  ``"upper"``
        ``"mrtrix"``  Dxx, Dyy, Dzz, Dxy, Dxz, Dyz  ``"diagonal"``; also TORTOISE
        ============  ============================  ==============================
    weighted : bool
        Multiply the off-diagonal entries by √2, so that ``vech(A) · vech(B) = tr(A B)``.

    Returns
    -------
    ndarray of shape (..., n(n+1)/2)

    Examples
    --------
    >>> from spdatoms.geometry import vech
    >>> vech([[1, 2], [2, 3]])
    array([1., 2., 3.])
    """
    X = as_float(X, "X")
    check_square(X, "X")
    rows, columns = _triangle(X.shape[-1], order)
    v = X[..., rows, columns]
    return v * _weights(rows, columns).astype(v.dtype) if weighted else v


def unvech(v: ArrayLike, *, order: str = "lower", weighted: bool = False) -> FloatArray:
    """Return the symmetric matrices of which `vech` with the same options gives ``v``.

    Parameters
    ----------
    v : array-like of shape (..., n(n+1)/2)
        Half-vectorised matrices.
    order : {"lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"}
        As in `vech`.
    weighted : bool
        As in `vech`.

    Returns
    -------
    ndarray of shape (..., n, n)
    """
    half = as_float(v, "v")
    length = half.shape[-1] if half.ndim else 0
    n = (isqrt(8 * length + 1) - 1) // 2
    if length == 0 or n * (n + 1) // 2 != length:
        raise ValueError(
            "The last axis of v must have the length n(n+1)/2 for some n ≥ 1, got the shape "
            f"{half.shape}."
        )
    rows, columns = _triangle(n, order)
    if weighted:
        half = half / _weights(rows, columns).astype(half.dtype)
    X = np.empty((*half.shape[:-1], n, n), dtype=half.dtype)
    X[..., rows, columns] = half
    X[..., columns, rows] = half
    return X


def _triangle(n: int, order: str) -> tuple[Indices, Indices]:
    """Return the row and the column of every entry of the half-vector."""
    if order in ("lower", "dipy"):
        return np.tril_indices(n)
    if order in ("upper", "fsl"):
        return np.triu_indices(n)
    if order in ("diagonal", "mrtrix"):
        diagonal = np.arange(n)
        rows, columns = np.triu_indices(n, k=1)
        return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])
    raise ValueError(f"order must be one of {', '.join(_ORDERS)}, got {order!r}.")


def _weights(rows: Indices, columns: Indices) -> Floats:
    return np.where(rows == columns, 1.0, np.sqrt(2.0))
