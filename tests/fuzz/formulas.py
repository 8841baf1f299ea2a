"""Divergences and their gradients by NumPy's eigenvalues: quick, and right for matrices of moderate condition.

How right they are is established in 50 digits, see test_reach.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz import draws

#: d(X_i, C), and a gradient of it by C in some coordinates, (m,) and (m, p).
Pull = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def function(f: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return U f(λ) Uᴴ."""
    values, U = np.linalg.eigh(X)
    return (U * f(values)[..., None, :]) @ U.conj().swapaxes(-1, -2)


def vectors(X: np.ndarray) -> np.ndarray:
    """Return the entries of matrices, real and imaginary parts, as rows."""
    flat = X.reshape(len(X), -1)
    return np.concatenate([flat.real, flat.imag], axis=1)


def flat(coordinates: Callable[[np.ndarray], np.ndarray]) -> Pull:
    """Return the pull of a distance between coordinates."""

    def pull(C: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient = 2.0 * (coordinates(C[None]) - coordinates(X))
        return 0.25 * (gradient**2).sum(axis=1), gradient

    return pull


def whitened(
    value: Callable[[np.ndarray], np.ndarray], slope: Callable[[np.ndarray], np.ndarray]
) -> Pull:
    """Return the pull of Σ v(λ) over the eigenvalues λ of C⁻¹X; its slope is that by log λ."""

    def pull(C: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        W = function(lambda x: x**-0.5, C)
        inner = draws.hermitian(W @ X @ W)
        values = value(np.linalg.eigvalsh(inner)).sum(axis=1)
        return values, -vectors(function(slope, inner))

    return pull


def log_cholesky(X: np.ndarray) -> np.ndarray:
    """Return Cholesky factors with the logarithms of their diagonals."""
    L = np.linalg.cholesky(X)
    i = np.arange(X.shape[-1])
    L[:, i, i] = np.log(L[:, i, i])
    return vectors(L)


def transport(C: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pull of the Bures–Wasserstein distance, with C^½ (I − C⁻¹#X) C^½ for the gradient."""
    root = function(np.sqrt, C)
    middle = function(lambda x: np.sqrt(np.maximum(x, 0.0)), draws.hermitian(root @ X @ root))
    values = np.trace(C).real + np.einsum("mii->m", X).real - 2.0 * np.einsum("mii->m", middle).real
    return np.maximum(values, 0.0), vectors(C - middle)


PULLS: dict[str, Pull] = {
    "stein": whitened(
        lambda x: np.log1p(x) - np.log(2.0) - 0.5 * np.log(x), lambda x: x / (1.0 + x) - 0.5
    ),
    "jeffrey": whitened(lambda x: 0.5 * (x + 1.0 / x) - 1.0, lambda x: 0.5 * (x - 1.0 / x)),
    "burg": whitened(lambda x: x - np.log(x) - 1.0, lambda x: x - 1.0),
    "riemann": whitened(lambda x: np.log(x) ** 2, lambda x: 2.0 * np.log(x)),
    "logeuclid": flat(lambda X: vectors(function(np.log, X))),
    "euclid": flat(vectors),
    "logchol": flat(log_cholesky),
    "chol": flat(lambda X: vectors(np.linalg.cholesky(X))),
    "wasserstein": transport,
    "harmonic": flat(lambda X: vectors(np.linalg.inv(X))),
    "poweuclid": flat(lambda X: 2.0 * vectors(function(np.sqrt, X))),
}


def thompson(C: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return max log² λ(C⁻¹X_i); it has no gradient everywhere."""
    W = function(lambda x: x**-0.5, C)
    return (np.log(np.linalg.eigvalsh(draws.hermitian(W @ X @ W))) ** 2).max(axis=1)


def divergences(metric: str, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return d(X_i, Y_j) in double precision."""
    X, Y = (Z.astype(np.result_type(X, Y, np.float64)) for Z in (X, Y))
    of = thompson if metric == "thompson" else lambda C, Z: PULLS[metric](C, Z)[0]
    return np.stack([of(C, X) for C in Y], axis=1)
