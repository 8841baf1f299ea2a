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
from spdatoms._utils.typing import Floats

#: Sizes of active sets are rounded up to multiples of this: those of one size are solved together.
_STEP = 4
#: Bytes of their Gram matrices that are held at a time.
_BLOCK_BYTES = 1 << 20
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
    count = len(gram)
    active = _active_sets(gram, cross, codes, alpha, ridge)
    # One more atom, which has nothing to do with the others, fills active sets up to a common size.
    K = np.pad(gram + ridge * np.eye(count), (0, 1))
    padded = np.column_stack([weights, np.zeros(len(weights))])
    u = np.zeros(padded.shape)
    counts = active.sum(axis=1)
    sizes = -(-counts // _STEP) * _STEP
    for size in np.unique(sizes[counts > 0]):
        same = np.flatnonzero(sizes == size)
        for part in block_slices(len(same), max(1, _BLOCK_BYTES // (8 * int(size) ** 2))):
            rows = same[part]
            atoms = np.full((len(rows), size), count)
            atoms[np.arange(size) < counts[rows, None]] = np.nonzero(active[rows])[1]
            places = atoms[:, :, None] * (count + 1) + atoms[:, None, :]
            own = np.take(K, places, mode="clip")  # which is quicker; none is outside
            np.einsum("mii->mi", own)[...] += atoms == count
            u[rows[:, None], atoms] = _solved(own, padded[rows[:, None], atoms])
    return np.ascontiguousarray(u[:, :count])


def gram_vjp(codes: Floats, u: Floats) -> Floats:
    """Return −½ Σ_i (u_i y_iᵀ + y_i u_iᵀ), the gradient in K, given what `code_vjp` returns."""
    product = u.T @ codes
    return np.asarray(-0.5 * (product + product.T))


def _active_sets(
    gram: Floats, cross: Floats, codes: Floats, alpha: float | Floats, ridge: float
) -> NDArray[np.bool_]:
    """Return which entries (m, N) of codes are not zero and meet their condition 2((K + ρI)y − k)_j = −αθ_j."""
    slopes = 2.0 * (codes @ gram + ridge * codes - cross)
    alphas = np.broadcast_to(np.asarray(alpha, np.float64), len(codes))
    violations = np.abs(slopes + alphas[:, None] * np.sign(codes))
    allowed = _VIOLATION * np.abs(cross).max(axis=1, keepdims=True)
    return np.asarray((codes != 0.0) & (violations <= allowed))


def _solved(K: Floats, weights: Floats) -> Floats:
    """Return K⁻¹ w of stacks; the least solution for atoms that depend on each other."""
    try:
        found = np.linalg.solve(K, weights[:, :, None])
    except np.linalg.LinAlgError:
        found = np.linalg.pinv(K, hermitian=True) @ weights[:, :, None]
    return np.asarray(found[:, :, 0])
