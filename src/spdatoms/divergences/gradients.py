"""Gradients for any divergence: ∂d/∂X by central differences, and Σ_j w_ij G(X_i, Y_j) over all pairs by blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.threads import block_slices, run_blocks
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.geometry.half_vectors import unvech
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.geometry.spectral import adjoint, cholesky, congruence, inverse_lower

#: The step, relative to X: where the errors of rounding and of the formula are about equal.
_STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)
#: Bytes of gradients that a thread holds at a time.
_BLOCK_BYTES = 4 << 20


def difference_gradient(
    pairwise: Callable[[FloatArray, FloatArray], FloatArray], X: FloatArray, Y: FloatArray
) -> Floats:
    """Return ∂d(X_i, Y_i)/∂X_i for two stacks, or ∂d(X, Y_i)/∂X for one matrix X and a stack Y.

    With X = L Lᴴ the differences are those of d(L (I ± hE) Lᴴ, Y) for an orthonormal basis of
    symmetric or Hermitian matrices E, so that the scale of X, and of its variables, does not matter.
    """
    if X.ndim == 3:
        pairs = zip(X, Y[:, None], strict=True)
        return np.concatenate([difference_gradient(pairwise, A, B) for A, B in pairs])
    L = cholesky(as_double(X))
    basis = _basis(X)
    steps = np.eye(X.shape[-1]) + _STEP * np.concatenate([basis, -basis])
    forward, backward = np.split(pairwise(congruence(adjoint(L), steps), as_double(Y)), 2)
    slopes = np.tensordot((forward - backward).T / (2.0 * _STEP), basis, 1)
    return congruence(inverse_lower(L), slopes)


def _basis(X: Array) -> Array:
    """Return an orthonormal basis of the symmetric matrices of this size, or of the Hermitian ones if X is complex."""
    n = X.shape[-1]
    real = unvech(np.eye(n * (n + 1) // 2), weighted=True)
    if not is_complex(X):
        return real
    imaginary = 1j * (np.tril(real) - np.triu(real))
    return np.concatenate([real, imaginary[imaginary.any(axis=(1, 2))]])


def summed_gradients(
    gradient: Callable[[Array, Array], Array],
    X: Array,
    Y: Array,
    weights: Floats,
    n_jobs: int | None = None,
) -> Array:
    """Return Σ_j w_ij gradient(X_i, Y_j), (m, n, n); pairs without a weight are not touched.

    The gradient takes one matrix X_i and a stack Y, and returns a stack.
    """
    X, Y = as_double(X), as_double(Y)
    sums = np.zeros(X.shape, np.result_type(X, Y))
    at_once = max(1, _BLOCK_BYTES // max(1, Y[:1].nbytes))

    def of_rows(rows: slice) -> None:
        for i in range(rows.start, rows.stop):
            used = np.flatnonzero(weights[i])
            for part in block_slices(len(used), at_once):
                j = used[part]
                sums[i] += np.tensordot(weights[i, j], gradient(X[i], Y[j]), 1)

    run_blocks(of_rows, len(X), max(1, at_once // max(1, len(Y))), n_jobs)
    return sums
