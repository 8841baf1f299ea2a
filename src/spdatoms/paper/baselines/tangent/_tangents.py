"""Dictionary atoms in the tangent spaces of queries, and derivatives of their logarithms there."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.arrays import in_order
from spdatoms._utils.typing import Floats, Indices
from spdatoms.geometry.graded import jacobi_svd
from spdatoms.geometry.half_vectors import vech
from spdatoms.geometry.spectral import cholesky, congruence, log_derivative, transpose
from spdatoms.native import kernel

_tangent_vectors = kernel("tangent_vectors", "DDDqqIIDD")

#: Up to this size rotations in lanes are faster than LAPACK.
_SMALL_SIZE = 16
#: λ_min/λ_max below which half the digits of λ_min are lost if nothing is done about it.
_ILL = 1e-8
#: √(λ_min/λ_max) below which the same holds for singular values, unless they are found by Jacobi rotations.
_GRADED = 1e-8


def tangent_vectors(
    W: Floats, D: Floats, queries: Indices, atoms: Indices, V: Floats | None = None
) -> Floats:
    """Return log(W_i D_j W_iᵀ) of the pairs (i, j) as vectors with the weight √2 off the diagonal.

    With W = L⁻¹ of a query X = L Lᵀ it is log_X(D), in a frame in which the affine-invariant norm at X is the
    Frobenius norm. With V it is the gradients of ⟨V_i, log(W_i D_j W_iᵀ)⟩ with respect to D_j instead.
    """
    n = W.shape[-1]
    if n > _SMALL_SIZE:
        return _by_lapack(W, D, queries, atoms, V)
    vectors, ratios = np.empty((len(queries), n * (n + 1) // 2)), np.empty(len(queries))
    matrices = (None if Z is None else in_order(Z) for Z in (W, D, V))
    pairs = (in_order(indices, np.int64) for indices in (queries, atoms))
    _tangent_vectors(*matrices, n, len(queries), *pairs, ratios, vectors)
    # A ratio that is NaN, or not far above rounding errors, tells that the vector is wrong.
    ill = np.flatnonzero(~(ratios > _ILL))
    if len(ill):
        vectors[ill] = _by_lapack(W, D, queries[ill], atoms[ill], V)
    return vectors


def _by_lapack(W: Floats, D: Floats, queries: Indices, atoms: Indices, V: Floats | None) -> Floats:
    whitening = W[queries]
    roots, U = _factored_roots(whitening @ cholesky(D)[atoms])
    if V is None:
        return vech((U * (2.0 * np.log(roots))[:, None, :]) @ transpose(U), weighted=True)
    return vech(congruence(whitening, log_derivative(roots, U, V[queries])), weighted=True)


def _factored_roots(F: Floats) -> tuple[Floats, Floats]:
    """Return √λ and U of F Fᵀ = U λ Uᵀ: singular values of F have twice the digits of eigenvalues of F Fᵀ."""
    U, roots, _ = np.linalg.svd(F)
    graded = ~(roots[:, -1] > _GRADED * roots[:, 0])
    if graded.any():
        U[graded], roots[graded], _ = jacobi_svd(F[graded])
    return roots, U
