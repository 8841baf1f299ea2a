"""∂d/∂X by central differences, for a divergence that has no formula for its gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.half_vectors import unvech
from spdatoms.geometry.spectral import cholesky, congruence, inverse_lower, symmetric_part

#: The step, relative to X: where the errors of rounding and of the formula are about equal.
_STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)


def difference_gradient(
    pairwise: Callable[[FloatArray, FloatArray], FloatArray], X: FloatArray, Y: FloatArray
) -> Floats:
    """Return ∂d(X_i, Y_i)/∂X_i for two stacks, or ∂d(X, Y_i)/∂X for one matrix X and a stack Y.

    With X = L Lᵀ the differences are those of d(L (I ± hE) Lᵀ, Y) for an orthonormal basis of
    symmetric matrices E, so that the scale of X, and of its variables, does not matter.
    """
    if X.ndim == 3:
        pairs = zip(X, Y[:, None], strict=True)
        return np.concatenate([difference_gradient(pairwise, A, B) for A, B in pairs])
    n = X.shape[-1]
    L = cholesky(X.astype(np.float64))
    basis = unvech(np.eye(n * (n + 1) // 2), weighted=True)
    moved = symmetric_part(L @ (np.eye(n) + _STEP * np.concatenate([basis, -basis])) @ L.T)
    forward, backward = np.split(pairwise(moved, Y.astype(np.float64)), 2)
    slopes = unvech((forward - backward).T / (2.0 * _STEP), weighted=True)
    return congruence(inverse_lower(L), slopes)
