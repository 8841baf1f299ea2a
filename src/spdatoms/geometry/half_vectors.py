"""Half-vectorisation: a symmetric n×n matrix as the n(n+1)/2 numbers that determine it.

`vech` and `unvech` are for users, in the orders that other tools have. Inside, half-vectors have the
order in which the kernels hold a matrix, tile by tile.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.geometry.triangles import entry_weights, matrix_size, symmetric, triangle
from spdatoms.geometry.validation import as_float, check_square, raise_unless_finite
from spdatoms.native.interleave import tile_order

_OPTIONS = allow.declare(
    order=allow.choice("lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"),
    weighted=allow.BOOLEAN,
)


@same_kind
@allow.checks(**_OPTIONS)
def vech(X: ArrayLike, *, order: str = "lower", weighted: bool = False) -> FloatArray:
    """Return half-vectors: the entries of one triangle of symmetric matrices.

    The entries are ``v_k = w_k · x_{i(k) j(k)}``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric or Hermitian matrices; one triangle is read.
    order : {"lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"}, default="lower"
        ``"lower"`` and ``"upper"`` go through that triangle row by row, ``"diagonal"`` takes the
        diagonal first and then the rest of the upper triangle row by row. The other names are those
        of diffusion tools, for n = 3:

        ============  ============================  ==============================
        ``"dipy"``    Dxx, Dxy, Dyy, Dxz, Dyz, Dzz  ``"lower"``; also NIfTI, AFNI
        ``"fsl"``     Dxx, Dxy, Dxz, Dyy, Dyz, Dzz  ``"upper"``
        ``"mrtrix"``  Dxx, Dyy, Dzz, Dxy, Dxz, Dyz  ``"diagonal"``; also TORTOISE
        ============  ============================  ==============================
    weighted : bool, default=False
        Multiply the off-diagonal entries by √2, so that ``vech(A) · vech(B) = tr(A B)``. Of
        Hermitian matrices it is the real part of ``np.vdot(vech(A), vech(B))``.

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
    raise_unless_finite(X.reshape(-1, *X.shape[-2:]), "X", X.shape[:-2])
    rows, columns = triangle(X.shape[-1], order)
    v = X[..., rows, columns]
    return v * entry_weights(rows, columns).astype(v.dtype) if weighted else v


@same_kind
@allow.checks(**_OPTIONS)
def unvech(v: ArrayLike, *, order: str = "lower", weighted: bool = False) -> FloatArray:
    """Return the symmetric matrices of half-vectors.

    They are those of which `vech` with the same options gives ``v``.

    Parameters
    ----------
    v : array-like of shape (..., n(n+1)/2)
        Half-vectorised matrices.
    order : {"lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"}, default="lower"
        As in `vech`.
    weighted : bool, default=False
        As in `vech`.

    Returns
    -------
    ndarray of shape (..., n, n)
    """
    half = as_float(v, "v")
    length = half.shape[-1] if half.ndim else 0
    n = matrix_size(length)
    if not n:
        raise ValueError(
            "The last axis of v must have the length n(n+1)/2 for some n ≥ 1, got the shape "
            f"{half.shape}."
        )
    if not np.isfinite(half).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(half))[0])
        raise ValueError(f"v is not finite: its entry {where} is {half[where]}.")
    return symmetric(half, *triangle(n, order), weighted)


@cache
def tile_entries(n: int) -> tuple[Indices, Indices, Indices]:
    """Return where a half-vector finds its entries in tile order, and their rows and columns.

    They are the entries on and below the diagonal, in tile order.
    """
    rows, columns = tile_order(n)
    slots = np.flatnonzero(rows >= columns)
    return slots, rows[slots], columns[slots]


@cache
def tile_weights(n: int) -> Floats:
    """Return the weights of a half-vector in tile order."""
    return entry_weights(*tile_entries(n)[1:])


@cache
def _places(n: int) -> tuple[Indices, Indices]:
    """Return where entries of half-vectors are in a matrix (n, n), row by row, and where its entries are in those."""
    _, rows, columns = tile_entries(n)
    return rows * n + columns, symmetric(np.arange(len(rows)), rows, columns, weighted=False)


@cache
def symmetric_slots(n: int) -> Indices:
    """Return where every entry of a symmetric matrix, row by row, is in tile order: on or below the diagonal."""
    return np.ascontiguousarray(tile_entries(n)[0][_places(n)[1]].ravel())


def half_vectors(X: FloatArray, out: Floats) -> None:
    """Write the weighted half-vectors of X (m, n, n), n(n+1)/2 numbers each, to ``out``."""
    m, n = X.shape[:2]
    np.multiply(X.reshape(m, -1).take(_places(n)[0], axis=1), tile_weights(n), out=out)


def from_half_vectors(half: Floats, n: int, *, weighted: bool) -> Floats:
    """Return the symmetric matrices (m, n, n) of half-vectors."""
    return (half / tile_weights(n) if weighted else half).take(_places(n)[1], axis=-1)


def matrix_of(half: Floats, n: int) -> Floats:
    """Return the matrix of a weighted half-vector."""
    return np.asarray(from_half_vectors(half[None], n, weighted=True)[0])
