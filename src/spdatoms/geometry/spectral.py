"""Functions of symmetric matrices through their eigenvalues: the machinery, block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.validation import as_float, check_square

_BLOCK_BYTES = 4 << 20


def as_matrices(X: ArrayLike, name: str) -> FloatArray:
    """Return X as a float array whose last two axes are those of square matrices."""
    X = as_float(X, name)
    check_square(X, name)
    return X


def as_stack(X: FloatArray) -> FloatArray:
    """Return one matrix (n, n) as a stack of one, and a stack as it is."""
    return X[None] if X.ndim == 2 else X


def transpose(X: Floats) -> Floats:
    """Return Xᵀ for every matrix of a batch."""
    return X.swapaxes(-1, -2)


def symmetric_part(X: Floats) -> Floats:
    """(X + Xᵀ)/2, halved first: the sum of two huge numbers overflows."""
    half: Floats = 0.5 * X
    return half + transpose(half)


def compose(U: Floats, eigenvalues: Floats) -> Floats:
    """U diag(λ) Uᵀ, exactly symmetric."""
    return symmetric_part((U * eigenvalues[..., None, :]) @ transpose(U))


def gram(F: Floats) -> Floats:
    """F Fᵀ, exactly symmetric and, but for rounding, never indefinite."""
    return symmetric_part(F @ transpose(F))


def cholesky(A: Floats) -> Floats:
    """Return the lower triangular L of ``A = L Lᵀ``."""
    return np.asarray(np.linalg.cholesky(A), dtype=np.float64)


def inverse_cholesky(A: Floats) -> Floats:
    """Return L⁻¹ of ``A = L Lᵀ``, which whitens A: ``L⁻¹ A L⁻ᵀ = I``."""
    return np.asarray(np.linalg.inv(cholesky(A)), dtype=np.float64)


def congruence(L: Floats, A: Floats) -> Floats:
    """Lᵀ A L, exactly symmetric."""
    return symmetric_part(transpose(L) @ A @ L)


def whitened(W: Floats, A: Floats) -> Floats:
    """W A Wᵀ, exactly symmetric: with ``W = L⁻¹`` of ``B = L Lᵀ``, A in the frame where B is the identity."""
    return congruence(transpose(W), A)


def spd_spectrum(X: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues λ > 0 of SPD matrices and their eigenvectors, the columns of U.

    A symmetric eigensolver is wrong by ``eps·λ_max`` about every eigenvalue, even about the sign of
    the small ones. Where that matters, λ = σ² with the singular values σ of the Cholesky factor has
    twice the digits.
    """
    return _spectrum(X, lambda graded: cholesky(X[graded]))


def factored_spectrum(F: Floats) -> tuple[Floats, Floats]:
    """Return what `spd_spectrum` would of F Fᵀ, but with the digits that F has."""
    return _spectrum(F @ transpose(F), lambda graded: F[graded])


def _spectrum(X: Floats, factors: Callable[[NDArray[np.bool_]], Floats]) -> tuple[Floats, Floats]:
    eigenvalues, U = np.linalg.eigh(X)
    graded = ~(eigenvalues[:, 0] > 1e-8 * eigenvalues[:, -1])
    if graded.any():
        U[graded], roots, _ = np.linalg.svd(factors(graded), full_matrices=True)
        eigenvalues[graded] = roots**2
    return eigenvalues, U


def log_derivative(eigenvalues: Floats, U: Floats, V: Floats) -> Floats:
    """Return the derivative of log along V at U λ Uᵀ, for stacks.

    In the eigenvectors it multiplies entry (a, b) by (log λ_a − log λ_b)/(λ_a − λ_b).
    """
    inner = transpose(U) @ V @ U
    return np.asarray(U @ (inner * _divided_logarithms(eigenvalues)) @ transpose(U))


def _divided_logarithms(values: Floats) -> Floats:
    """(log λ_a − log λ_b)/(λ_a − λ_b), and 1/λ_a where the two are equal; shape (N, n, n)."""
    a, b = values[:, :, None], values[:, None, :]
    # log(a/b)/(a − b) = 2 artanh(r)/(r·(a + b)) with r = (a − b)/(a + b), which has no 0/0 in its series.
    r = (a - b) / (a + b)
    near = np.abs(r) < 1e-4
    safe = np.where(near, 0.5, r)
    return np.asarray(np.where(near, 1.0 + r * r / 3.0, np.arctanh(safe) / safe) * 2.0 / (a + b))


def map_blocks(function: Callable[..., Floats], *operands: FloatArray) -> FloatArray:
    """Apply a function of double precision stacks to operands (..., n, n), which are broadcast.

    The function gets blocks (b, n, n), so its temporaries stay small. The result has the common
    precision of the operands; one that leaves its range is an error rather than an infinity.
    """
    dtype = np.result_type(*operands)
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    stacks = [np.broadcast_to(operand, shape).reshape(-1, *shape[-2:]) for operand in operands]
    out = np.empty((len(stacks[0]), *shape[-2:]), dtype=dtype)
    for part in block_slices(len(out), max(1, _BLOCK_BYTES // (8 * shape[-1] ** 2))):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            out[part] = function(*(stack[part].astype(np.float64) for stack in stacks))
        if not np.isfinite(out[part]).all():
            raise OverflowError(f"The result has entries beyond the range of {dtype}.")
    return out.reshape(shape)
