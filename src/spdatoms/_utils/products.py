"""Matrix products whose rows do not depend on how many rows there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.native import kernels

#: In double precision BLAS computes this many rows at a time, or a divisor of it, and has other code, which
#: adds in another order, for what is left over.
_ROWS = 8
#: It also has other code for products of at most this many multiplications.
_SMALL_PRODUCT = 1_000_000
#: There the order depends on the number of rows, so that is always the same.
_FIXED_ROWS = 96

_row_products = kernels("row_products", "TTqqqT")


def row_products(A: FloatArray, B: FloatArray, out: FloatArray | None = None) -> Any:
    """Return A @ B, each row bitwise independent of the other rows.

    So a query has the same result alone and among others. Where B is in C order, and in single precision, our own code
    adds in one order for all rows. Elsewhere BLAS computes the rows left over at the end in a block of their own,
    filled up with zeros. (In single precision its order depends on the place of a row, too.)

    Parameters
    ----------
    A : ndarray of shape (m, k)
        One vector per row.
    B : ndarray of shape (k, N)
        The matrix that all rows are multiplied by.
    out : ndarray of shape (m, N), default=None
        Where to write the product.

    Returns
    -------
    ndarray of shape (m, N)
    """
    dtype = A.dtype if A.dtype == B.dtype else np.result_type(A, B)
    out = np.empty((len(A), B.shape[1]), dtype) if out is None else out
    if dtype == np.float32 or (B.dtype == np.float64 and B.flags.c_contiguous):
        target = out if out.flags.c_contiguous else np.empty(out.shape, dtype)
        A, B = (np.ascontiguousarray(factor, dtype) for factor in (A, B))
        _row_products(dtype)(A, B, len(A), *B.shape, target)
        if target is not out:
            out[...] = target
        return out
    step = _ROWS * (_SMALL_PRODUCT // (_ROWS * max(1, B.size)) + 1)
    fixed = step > _FIXED_ROWS
    step = _FIXED_ROWS if fixed else step
    whole = len(A) // step * step
    # Several threads would share the columns, and those left over are again added in another order.
    with one_blas_thread():
        for rows in block_slices(whole, step if fixed else max(whole, 1)):
            np.matmul(A[rows], B, out=out[rows])
        if whole < len(A):
            last = np.zeros((step, A.shape[1]), A.dtype)
            last[: len(A) - whole] = A[whole:]
            out[whole:] = (last @ B)[: len(A) - whole]
    return out


def squared_distances(X: Floats, Y: Floats) -> Floats:
    """Return ‖x_i − y_j‖², shape (m, N)."""
    norms = np.einsum("ij,ij->i", X, X)[:, None]
    distances = norms + np.einsum("ij,ij->i", Y, Y) - 2.0 * row_products(X, Y.T)
    return np.asarray(np.maximum(distances, 0.0))
