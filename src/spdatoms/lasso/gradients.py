"""dy_A = (K_AA + ρI)⁻¹ (dk_A − dK_AA y_A − dρ y_A − ½ θ_A dα): gradients of codes y, on the active set A.

A code is y_A = (K_AA + ρI)⁻¹ (k_A − αθ_A/2) on its active set A, the non-zero entries with the signs θ, and zero
elsewhere. Both change only where an entry of y, or what is left of a condition |2(Ky − k)_j| ≤ α, becomes zero.
There the code has a kink. What is zero is taken to stay so: of the slopes on both sides it is the one of the side
where the active set is A.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices

#: Sizes of active sets are rounded up to multiples of this: those of one size are solved together.
_STEP = 4
#: Bytes of their Gram matrices that are held at a time.
_BLOCK_BYTES = 4 << 20
#: A non-zero entry whose condition is violated by more than this share of max|k| belongs to no optimum.
_VIOLATION = 1e-6


def code_vjp(
    gram: Floats, cross: Floats, codes: Floats, alpha: float | Floats, ridge: float, weights: Floats
) -> Floats:
    """Return u with u_A = (K_AA + ρI)⁻¹ w_A and zeros elsewhere: the gradient of Σ w·y in the kernel values k.

    The others follow from it: −½ Σ_i (u_i y_iᵀ + y_i u_iᵀ) in K, see `gram_vjp`, −½ θᵀu in α and −uᵀy in ρ. The
    optimality conditions, which certify a code, decide what is active: an entry that is not zero, but violates its
    condition, because the search was given up, is not.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K.
    cross, codes : ndarray of shape (m, N)
        k and y.
    alpha : float or ndarray of shape (m,)
        α.
    ridge : float
        ρ.
    weights : ndarray of shape (m, N)
        w.
    """
    u = np.zeros(codes.shape)
    alphas = np.broadcast_to(np.asarray(alpha, np.float64), len(codes))
    counts = np.count_nonzero(codes, axis=1)
    sizes = -(-counts // _STEP) * _STEP
    for size in np.unique(sizes[counts > 0]):
        same = np.flatnonzero(sizes == size)
        for part in block_slices(len(same), max(1, _BLOCK_BYTES // (8 * int(size) ** 2))):
            rows = same[part]
            atoms, active = _active_sets(codes[rows], int(size))
            own = np.take_along_axis(codes[rows], atoms, 1) * active
            K = gram[atoms[:, :, None], atoms[:, None, :]]
            K[:, np.arange(size), np.arange(size)] += ridge
            k = np.take_along_axis(cross[rows], atoms, 1)
            slopes = 2.0 * (np.einsum("mij,mj->mi", K, own) - k)
            violations = np.abs(slopes + alphas[rows, None] * np.sign(own))
            allowed = _VIOLATION * np.abs(cross[rows]).max(axis=1, keepdims=True)
            active &= violations <= allowed
            solved = _solved(K, active, np.take_along_axis(weights[rows], atoms, 1))
            at = np.nonzero(active)
            u[rows[at[0]], atoms[at]] = solved[at]
    return u


def gram_vjp(codes: Floats, u: Floats) -> Floats:
    """Return −½ Σ_i (u_i y_iᵀ + y_i u_iᵀ), the gradient in K, given what `code_vjp` returns."""
    product = u.T @ codes
    return np.asarray(-0.5 * (product + product.T))


def _active_sets(codes: Floats, size: int) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the atoms (m, size) of codes, filled up by atom 0, and which of them are in the codes."""
    rows, columns = np.nonzero(codes)
    counts = np.bincount(rows, minlength=len(codes))
    active = np.arange(size) < counts[:, None]
    atoms = np.zeros((len(codes), size), np.intp)
    atoms[active] = columns
    return atoms, active


def _solved(K: Floats, active: NDArray[np.bool_], weights: Floats) -> Floats:
    """Return K_AA⁻¹ w_A, zero for what is not active; the least solution for atoms that depend on each other."""
    K = np.where(active[:, :, None] & active[:, None, :], K, 0.0)
    diagonal = np.arange(K.shape[-1])
    K[:, diagonal, diagonal] += ~active
    right = np.where(active, weights, 0.0)[:, :, None]
    try:
        found = np.linalg.solve(K, right)
    except np.linalg.LinAlgError:
        found = np.linalg.pinv(K, hermitian=True) @ right
    return np.asarray(found[:, :, 0])
