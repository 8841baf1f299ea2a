"""Make matrices positive definite that almost are: projection onto the cone, ridge and shrinkage."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.spectral import as_matrices, compose, map_blocks, symmetric_part
from spdatoms.geometry.validation import matrix_name, raise_unless_finite, raise_unless_symmetric


@same_kind
@allow.checks(floor=allow.NONE | allow.real(above=0, most=1))
def nearest_spd(X: ArrayLike, *, floor: float | None = None) -> FloatArray:
    """Return the nearest symmetric positive definite matrices.

    They are the projections onto the cone, ``U max(λ, floor·max|λ|) Uᵀ`` with ``U λ Uᵀ = (X + Xᵀ)/2``.

    Among the symmetric matrices whose eigenvalues are at least ``floor · max|λ|`` it is the nearest
    to X in the Frobenius norm [1]_.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Any square matrices, at any scale, symmetric (Hermitian) or not.
    floor : float, default=None
        The least eigenvalue of the result relative to the largest absolute eigenvalue of the
        symmetric part. The default is 1e-10, or ``4·n·eps`` where that is more (float32), so that
        the result passes `check_spd`.

    Returns
    -------
    ndarray of shape (..., n, n)
        A matrix with no eigenvalue below the floor comes back as its symmetric part, untouched.

    Raises
    ------
    ValueError
        If an entry is not finite, or if the symmetric part of a matrix is zero: then nothing sets
        the scale of the result, and any answer would be invented.

    References
    ----------
    .. [1] N. J. Higham, Computing a nearest symmetric positive semidefinite matrix, 1988.
    """
    X = as_matrices(X, "X")
    if floor is None:
        floor = max(1e-10, 4.0 * X.shape[-1] * float(np.finfo(X.dtype).eps))
    stack = X.reshape(-1, *X.shape[-2:])
    raise_unless_finite(stack, "X", X.shape[:-2])
    projected = map_blocks(lambda block: _project(block, floor), X)
    zero = ~projected.reshape(stack.shape).any(axis=(-1, -2))
    if zero.any():
        matrix = matrix_name("X", int(np.argmax(zero)), X.shape[:-2])
        raise ValueError(
            f"{matrix} has a zero symmetric part: it has no scale, so that no positive definite "
            "matrix is the nearest to it; spdatoms.geometry.is_spd gives the mask that leaves it out."
        )
    return projected


def _project(X: Floats, floor: float) -> Floats:
    out = symmetric_part(X)
    eigenvalues, U = np.linalg.eigh(out)
    least = floor * abs(eigenvalues).max(axis=-1, keepdims=True)
    below = eigenvalues[:, 0] < least[:, 0]
    out[below] = compose(U[below], np.maximum(eigenvalues, least)[below])
    return out


@same_kind
@allow.checks(ridge=allow.real(above=0))
def regularise(X: ArrayLike, ridge: float = 1e-4) -> FloatArray:
    """Add a ridge relative to the trace.

    The result is ``X + ridge · tr(X)/n · I``.

    For covariances of fewer samples than variables. The mean eigenvalue is ``tr(X)/n``, so the same
    ``ridge`` means the same at every scale; the condition number becomes at most about ``n/ridge``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric positive semidefinite matrices.
    ridge : float, default=1e-4
        Positive. Float32 matrices need at least some ``n·eps``, which is 2e-5 at n = 155.

    Returns
    -------
    ndarray of shape (..., n, n)
    """
    return _towards_identity(X, keep=1.0, add=ridge)


@same_kind
@allow.checks(shrinkage=allow.real(0, 1))
def shrink(X: ArrayLike, shrinkage: float = 0.1) -> FloatArray:
    """Shrink towards the identity, and keep the trace.

    The result is ``(1 − s)·X + s · tr(X)/n · I``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric positive semidefinite matrices.
    shrinkage : float in [0, 1], default=0.1
        The s of the formula. To estimate it one needs the samples behind each covariance: that is
        `sklearn.covariance.ledoit_wolf` and `sklearn.covariance.oas`.

    Returns
    -------
    ndarray of shape (..., n, n)
    """
    return _towards_identity(X, keep=1.0 - shrinkage, add=shrinkage)


def _towards_identity(X: ArrayLike, keep: float, add: float) -> FloatArray:
    """Return ``keep·X + add·tr(X)/n·I``, exactly symmetric."""
    X = as_matrices(X, "X")
    n = X.shape[-1]
    raise_unless_symmetric(X.reshape(-1, n, n), "X", X.shape[:-2])

    def mix(X: Floats) -> Floats:
        # Divide before adding up: the trace itself may leave the range of the type.
        mean_eigenvalue = (np.einsum("mii->mi", X) / X.shape[-1]).sum(axis=-1)
        out = keep * symmetric_part(X)
        np.einsum("mii->mi", out)[...] += add * mean_eigenvalue[:, None]
        return out

    return map_blocks(mix, X)
