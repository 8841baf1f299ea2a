"""Tangent vectors of the affine-invariant metric: inner products, norms, parallel transport."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import blas_threads_for
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.functions import as_spd, as_tangents
from spdatoms.geometry.geodesics import whiten
from spdatoms.geometry.hermitian import as_double, is_complex, real_form, real_type
from spdatoms.geometry.spectral import (
    LARGEST_IN_LANES,
    as_matrices,
    cholesky,
    compose,
    congruent,
    inverse_lower,
    map_blocks,
    spd_roots,
    whitened,
)
from spdatoms.geometry.validation import common_shape


@same_kind
def inner_product(V: ArrayLike, W: ArrayLike, base: ArrayLike) -> Any:
    """Return the affine-invariant inner products of tangent vectors.

    It is ``tr(P⁻¹ V P⁻¹ W)``.

    Parameters
    ----------
    V, W : array-like of shape (..., n, n)
        Symmetric matrices, the tangent vectors.
    base : array-like of shape (..., n, n)
        The base point P. All three are broadcast.

    Returns
    -------
    ndarray of shape (...), or a number for single matrices
    """
    P = as_spd(base, "base")
    first, second = as_tangents(V, "V", base=P), as_tangents(W, "W", base=P)
    dtype = np.result_type(P, first, second)
    L, A, B = (real_form(Z.astype(np.result_type(dtype, np.float64))) for Z in (P, first, second))
    share = 0.5 if is_complex(np.empty(0, dtype)) else 1.0
    with blas_threads_for(L.shape[-1]):
        L = cholesky(L)
        vectors = (whiten(*np.broadcast_arrays(L, Z)) for Z in (A, B))
        products = np.einsum("...ij,...ij->...", *vectors)
    return np.asarray(share * products, real_type(dtype))[()]


@same_kind
def norm(V: ArrayLike, base: ArrayLike) -> Any:
    """Return the affine-invariant lengths of tangent vectors.

    It is ``‖L⁻¹ V L⁻ᵀ‖_F`` for the base point ``P = L Lᵀ``; that of ``log_map(X, P)`` is the distance from P to X.

    Parameters
    ----------
    V : array-like of shape (..., n, n)
        Symmetric matrices, the tangent vectors.
    base : array-like of shape (..., n, n)
        The base point P; the two are broadcast.

    Returns
    -------
    ndarray of shape (...), or a number for single matrices
    """
    return np.sqrt(inner_product(V, V, base))


@same_kind
def parallel_transport(V: ArrayLike, A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Return tangent vectors at A, moved to B along the affine-invariant geodesic.

    It is ``E V Eᵀ`` with ``E = (B A⁻¹)^½``. Inner products stay what they are.

    Parameters
    ----------
    V : array-like of shape (..., n, n)
        Symmetric matrices, the tangent vectors at A.
    A, B : array-like of shape (..., n, n)
        SPD matrices, from where and to where. All three are broadcast.

    Returns
    -------
    ndarray of shape (..., n, n)
        Symmetric matrices, tangent vectors at B.
    """

    def root_of_ratio(A: Floats, B: Floats) -> Floats:
        L = cholesky(A)
        inverse = np.array([inverse_lower(factor) for factor in L])
        roots, U = spd_roots(whitened(inverse, B))
        return np.asarray(L @ compose(U, roots) @ inverse)

    first, second = as_spd(A, "A"), as_spd(B, "B")
    vectors = as_matrices(V, "V")
    common_shape(vectors.shape, first.shape)
    check = cache(partial(as_tangents, vectors, "V", first))

    def moved(E: Floats, block: Floats, out: Floats | None = None) -> Floats:  # checked on the way
        doubtful = np.full(len(block), block.shape[-1] > LARGEST_IN_LANES, np.int64)
        found = congruent(E, block, out, doubtful)
        if doubtful.any():
            check()
        return found

    E = map_blocks(root_of_ratio, as_double(first), as_double(second))  # once for all vectors
    dtype = np.result_type(first, second, vectors)
    return map_blocks(moved, E, vectors, dtype=dtype, in_place=True)
