"""Half-vectors in files: the n(n+1)/2 different entries of a matrix, in one of the orders that tools write.

What is heavy is imported when it is used, because the options of all commands know the orders.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spdatoms._utils.typing import Array

#: The greatest number of half-vectors that are tried in every order.
_TRIED = 2000


#: The order of the different entries of a matrix.
Components = Literal["fsl", "mrtrix", "dipy", "nilearn"]
#: What each order is, for any n and for n = 3.
_WORDS: dict[Components, tuple[str, str]] = {
    "fsl": ("upper triangle", "xx, xy, xz, yy, yz, zz"),
    "mrtrix": ("diagonal first", "xx, yy, zz, xy, xz, yz"),
    "dipy": ("lower triangle", "xx, xy, yy, xz, yz, zz"),
    "nilearn": ("lower triangle, diagonal over √2", ""),
}


def from_half_vectors(rows: Array, order: Components) -> Array:
    """Return the matrices (m, n, n) of half-vectors, unless another order is clearly right."""
    from spdatoms.geometry.recognition import NEARLY_ALL, TENSOR_ORDERS, half_vector_size
    from spdatoms.geometry.triangles import symmetric, triangle

    n = half_vector_size(rows.shape[1])
    if not n:
        raise ValueError(
            f"--components is for the n(n+1)/2 different entries of matrices, but rows have {rows.shape[1]}"
        )
    shares = _shares(rows)
    right = [other for other in shares if shares[other] >= NEARLY_ALL]
    if right and order not in right:
        raise ValueError(
            f"only {shares[order]:.0%} of the matrices are positive definite in the order of {order}: "
            f"{which_order(rows)}"
        )
    values = np.asarray(rows, dtype=np.result_type(rows.dtype, np.float32))
    of_nilearn = order == "nilearn"
    X = symmetric(values, *triangle(n, TENSOR_ORDERS.get(order, "lower")), of_nilearn)
    return np.asarray(X * np.sqrt(2).astype(X.dtype) if of_nilearn else X)


def which_order(rows: Array) -> str:
    """Return the options there are for half-vectors, with the share of positive definite matrices in each order."""
    from spdatoms.geometry.recognition import NEARLY_ALL, half_vector_size

    n, shares = half_vector_size(rows.shape[1]), _shares(rows)
    told = {
        order: f"{order} ({_WORDS[order][n == 3] or _WORDS[order][0]}: {share:.0%} positive definite)"
        for order, share in shares.items()
    }
    if max(shares.values()) < NEARLY_ALL:
        return (
            f"as half-vectors of {n}×{n} matrices they are not positive definite in any order, but look like tangent "
            "vectors, which are not covariances. If they are half-vectors, give --components "
            + " or ".join(shares)
        )
    return f"half-vectors of {n}×{n} matrices: give --components " + ", ".join(told.values())


def _shares(rows: Array) -> dict[Components, float]:
    from spdatoms.geometry.recognition import TENSOR_ORDERS, readings

    some = np.asarray(rows[:: -(-len(rows) // _TRIED)], dtype=np.float64)
    found = readings(some)
    return {order: found.get(TENSOR_ORDERS.get(order, order), 0.0) for order in _WORDS}
