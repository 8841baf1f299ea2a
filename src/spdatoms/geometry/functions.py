"""The cone of SPD matrices: functions of a matrix and the affine-invariant (AIRM) geometry.

Everything takes one matrix or any batch of them, ``(..., n, n)``, works in blocks of a few
megabytes and returns exactly symmetric matrices. Float32 in, float32 out; in between it is double
precision, because single precision loses the small eigenvalues, which matter most for a logarithm or
an inverse root.

The maps whiten by Cholesky factors, ``A = L Lᵀ`` and ``B = M Mᵀ``, and take the singular values σ
of ``L⁻¹ M`` rather than the eigenvalues σ² of ``L⁻¹ B L⁻ᵀ``: that halves the digits that an
ill-conditioned pair costs, and no step of it leaves the range of the numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.spectral import (
    as_matrices,
    cholesky,
    compose,
    gram,
    map_blocks,
    spd_spectrum,
    symmetric_part,
    transpose,
)
from spdatoms.geometry.validation import raise_unless_spd, raise_unless_symmetric


def logm(X: ArrayLike) -> FloatArray:
    """Return the logarithm ``U log(λ) Uᵀ`` of SPD matrices ``X = U λ Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        Symmetric matrices.
    """

    def log_block(X: Floats) -> Floats:
        eigenvalues, U = spd_spectrum(X)
        return compose(U, np.log(eigenvalues))

    return map_blocks(log_block, _spd(X, "X"))


def expm(X: ArrayLike) -> FloatArray:
    """Return the exponential ``U exp(λ) Uᵀ`` of symmetric matrices ``X = U λ Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric matrices, definite or not.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """

    def exp_block(X: Floats) -> Floats:
        eigenvalues, U = np.linalg.eigh(X)
        return gram(U * np.exp(0.5 * eigenvalues)[:, None, :])

    return map_blocks(exp_block, _symmetric(X, "X"))


def sqrtm(X: ArrayLike) -> FloatArray:
    """Return the SPD root ``X^½ = U √λ Uᵀ`` of SPD matrices.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    return powm(X, 0.5)


def invsqrtm(X: ArrayLike) -> FloatArray:
    """Return the inverse root ``X^-½ = U λ^-½ Uᵀ`` of SPD matrices.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    return powm(X, -0.5)


def powm(X: ArrayLike, exponent: float) -> FloatArray:
    """Return the power ``X^p = U λ^p Uᵀ`` of SPD matrices.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.
    exponent : float
        The p of the formula, of either sign.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """

    def power_block(X: Floats) -> Floats:
        eigenvalues, U = spd_spectrum(X)
        return gram(U * (eigenvalues ** (0.5 * exponent))[:, None, :])

    return map_blocks(power_block, _spd(X, "X"))


def log_map(X: ArrayLike, base: ArrayLike) -> FloatArray:
    """Return the tangent vector at P that points to X: ``P^½ log(P^-½ X P^-½) P^½``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.
    base : array-like of shape (..., n, n)
        The base point P, or one for every X; the two are broadcast.

    Returns
    -------
    ndarray of shape (..., n, n)
        Symmetric matrices; their AIRM norm at P, ``‖L⁻¹ V L⁻ᵀ‖_F``, is the distance from P to X.
    """

    def log_block(P: Floats, X: Floats) -> Floats:
        frame, ratios = _common_frame(P, X)
        return compose(frame, 2.0 * np.log(ratios))

    return map_blocks(log_block, _spd(base, "base"), _spd(X, "X"))


def exp_map(V: ArrayLike, base: ArrayLike) -> FloatArray:
    """Return ``P^½ exp(P^-½ V P^-½) P^½``, where the geodesic with velocity V at P is at time 1.

    Parameters
    ----------
    V : array-like of shape (..., n, n)
        Symmetric matrices, the tangent vectors.
    base : array-like of shape (..., n, n)
        The base point P, or one for every V; the two are broadcast.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """

    def exp_block(P: Floats, V: Floats) -> Floats:
        L = cholesky(P)
        whitened = _solve_lower(L, transpose(_solve_lower(L, V)))
        eigenvalues, U = np.linalg.eigh(symmetric_part(whitened))
        return gram(L @ (U * np.exp(0.5 * eigenvalues)[:, None, :]))

    return map_blocks(exp_block, _spd(base, "base"), _symmetric(V, "V"))


def geodesic(A: ArrayLike, B: ArrayLike, t: float) -> FloatArray:
    """Return the point ``A #_t B = A^½ (A^-½ B A^-½)^t A^½`` of the AIRM geodesic from A to B.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, broadcast against each other.
    t : float
        0 gives A and 1 gives B; outside [0, 1] the geodesic is continued.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """

    def point_block(A: Floats, B: Floats) -> Floats:
        frame, ratios = _common_frame(A, B)
        return gram(frame * (ratios**t)[:, None, :])

    return map_blocks(point_block, _spd(A, "A"), _spd(B, "B"))


def geometric_mean(A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Return ``A # B = A^½ (A^-½ B A^-½)^½ A^½``, the SPD solution G of ``G A⁻¹ G = B``.

    It is the midpoint of the geodesic from A to B.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, broadcast against each other.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices; ``A # B = B # A``.
    """
    return geodesic(A, B, 0.5)


def _spd(X: ArrayLike, name: str) -> FloatArray:
    """Return the SPD matrices X (..., n, n) as an array, or raise what `check_spd` would."""
    X = as_matrices(X, name)
    raise_unless_spd(X.reshape(-1, *X.shape[-2:]), name, X.shape[:-2])
    return X


def _symmetric(X: ArrayLike, name: str) -> FloatArray:
    """Return the symmetric matrices X (..., n, n) as an array, or raise."""
    X = as_matrices(X, name)
    raise_unless_symmetric(X.reshape(-1, *X.shape[-2:]), name, X.shape[:-2])
    return X


def _common_frame(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return F and σ > 0 with ``A = F Fᵀ`` and ``B = F σ² Fᵀ``.

    With ``A = L Lᵀ``, ``B = M Mᵀ`` and ``L⁻¹ M = U σ Vᵀ`` it is ``F = L U``.
    """
    L = cholesky(A)
    U, ratios, _ = np.linalg.svd(_solve_lower(L, cholesky(B)), full_matrices=True)
    return L @ U, ratios


def _solve_lower(L: Floats, B: Floats) -> Floats:
    """L⁻¹ B by forward substitution, one row of all the matrices at a time.

    NumPy solves stacks by LU only, whose row exchanges mix rows of very different scale.
    """
    Z = np.empty_like(B)
    for i in range(L.shape[-1]):
        known = (L[:, i, None, :i] @ Z[:, :i])[:, 0]
        Z[:, i] = (B[:, i] - known) / L[:, i, i, None]
    return Z
