"""All registered divergences, and their derivatives, by their definitions in as many digits as asked for.

The matrices are arrays of mpmath's numbers here: nothing overflows, and no digits are lost that matter. One case takes
some milliseconds. `DEFINITIONS` must have an entry for every divergence of the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np


def value(name: str, A: np.ndarray, B: np.ndarray, digits: int = 50, **parameters: Any) -> float:
    """Return d(A, B) of positive definite matrices, real or complex, rounded to double precision.

    ``parameters`` are those of the divergence, such as the p of ``"poweuclid"``.
    """
    return float(exact_value(name, A, B, digits, **parameters))


def exact_value(
    name: str, A: np.ndarray, B: np.ndarray, digits: int = 50, **parameters: Any
) -> Any:
    """Return what `value` does as a number of mpmath, which has any magnitude."""
    with mpmath.workdps(digits + _spare_digits(A, B)):
        return DEFINITIONS[name](_exact(A), _exact(B), **parameters)


def directional_derivative(
    name: str, A: np.ndarray, B: np.ndarray, H: np.ndarray, digits: int = 50, **parameters: Any
) -> float:
    """Return the derivative of d(A + tH, B) by t at t = 0, for a symmetric or Hermitian H.

    It is a central difference, whose error is that of the square of the step: of 50 digits some 30 are right.
    """
    return float(exact_derivative(name, A, B, H, digits, **parameters))


def exact_derivative(
    name: str,
    A: np.ndarray,
    B: np.ndarray,
    H: np.ndarray,
    digits: int = 50,
    *,
    argument: int = 0,
    **parameters: Any,
) -> Any:
    """Return what `directional_derivative` does as a number of mpmath; the argument 1 moves B instead of A."""
    with mpmath.workdps(digits + _spare_digits(A, B)):
        points, along = [_exact(A), _exact(B)], _exact(H)
        W = _inverse_lower(_cholesky(points[argument]))
        # The distance, along H, to where the matrix may be singular.
        reach = 1 / mpmath.sqrt(_squared_norm(W @ along @ W.conj().T))
        step = reach * mpmath.mpf(10) ** (-digits // 3)
        sides = []
        for t in (step, -step):
            moved = points.copy()
            moved[argument] = moved[argument] + t * along
            sides.append(DEFINITIONS[name](*moved, **parameters))
        return (sides[0] - sides[1]) / (2 * step)


def relative_error(actual: float, exact: Any) -> float:
    """Return |actual − exact| / |exact|, and zero where both are zero."""
    difference = abs(mpmath.mpf(float(actual)) - exact)
    return float(difference / abs(exact)) if exact else float(difference)


# --- definitions ---------------------------------------------------------------------------------------


def _stein(A, B):
    halves = (_log_determinant(A) + _log_determinant(B)) / 2
    return _log_determinant((A + B) / 2) - halves


def _jeffrey(A, B):
    return (_trace(_inverse(A) @ B) + _trace(_inverse(B) @ A)) / 2 - len(A)


def _burg(A, B):
    return _trace(A @ _inverse(B)) - _log_determinant(A) + _log_determinant(B) - len(A)


def _riemann(A, B):
    return sum(mpmath.log(x) ** 2 for x in _ratios(A, B))


def _thompson(A, B):
    return max(mpmath.log(x) ** 2 for x in _ratios(A, B))


def _logeuclid(A, B):
    return _squared_norm(_function(mpmath.log, A) - _function(mpmath.log, B))


def _euclid(A, B):
    return _squared_norm(A - B)


def _chol(A, B):
    return _squared_norm(_cholesky(A) - _cholesky(B))


def _logchol(A, B):
    L, M = _cholesky(A), _cholesky(B)
    logs = (mpmath.log((L[i, i] / M[i, i]).real) for i in range(len(L)))
    return _squared_norm(np.tril(L, -1) - np.tril(M, -1)) + sum(x * x for x in logs)


def _wasserstein(A, B):
    L = _cholesky(A)
    roots = (mpmath.sqrt(x) for x in _eigenvalues(L.conj().T @ B @ L))
    return _trace(A) + _trace(B) - 2 * sum(roots)


def _harmonic(A, B):
    return _squared_norm(_inverse(A) - _inverse(B))


def _poweuclid(A, B, p=0.5):
    def power(x):
        return x ** mpmath.mpf(p)

    return _squared_norm(_function(power, A) - _function(power, B)) / mpmath.mpf(p) ** 2


#: d(A, B) for every name in the registry.
DEFINITIONS: dict[str, Callable[..., Any]] = {
    "stein": _stein,
    "jeffrey": _jeffrey,
    "burg": _burg,
    "riemann": _riemann,
    "logeuclid": _logeuclid,
    "euclid": _euclid,
    "logchol": _logchol,
    "chol": _chol,
    "wasserstein": _wasserstein,
    "harmonic": _harmonic,
    "poweuclid": _poweuclid,
    "thompson": _thompson,
}

# --- matrices of exact numbers -------------------------------------------------------------------------


def _spare_digits(A: np.ndarray, B: np.ndarray) -> int:
    """Return the digits that units of variables, scales and condition numbers may cost, and some more."""
    logs = np.log10([np.diagonal(Z).real for Z in (A, B)])
    return 50 + 2 * int(np.ptp(logs) + np.ptp(logs, axis=1).sum())


def _exact(A: np.ndarray) -> np.ndarray:
    number = mpmath.mpc if np.iscomplexobj(A) else mpmath.mpf
    out = np.empty(A.shape, object)
    out.flat = [number(x) for x in A.ravel().tolist()]
    return out


def _cholesky(A):
    """Return the lower triangular L with A = L Lᴴ."""
    L = np.full(A.shape, mpmath.mpf(0), object)
    for j in range(len(A)):
        known = L[j:, :j] @ L[j, :j].conj() if j else 0
        column = A[j:, j] - known
        L[j:, j] = column / mpmath.sqrt(column[0].real)
    return L


def _inverse_lower(L):
    W = np.full(L.shape, mpmath.mpf(0), object)
    for i in range(len(L)):
        W[i, i] = 1 / L[i, i]
        if i:
            W[i, :i] = -(L[i, :i] @ W[:i, :i]) / L[i, i]
    return W


def _inverse(A):
    W = _inverse_lower(_cholesky(A))
    return W.conj().T @ W


def _log_determinant(A):
    return 2 * sum(mpmath.log(x.real) for x in np.diagonal(_cholesky(A)))


def _trace(A):
    return sum(x.real for x in np.diagonal(A))


def _squared_norm(A):
    return sum(x.real**2 + x.imag**2 for x in A.flat)


def _ratios(A, B):
    """Return the eigenvalues of A⁻¹B."""
    W = _inverse_lower(_cholesky(A))
    return _eigenvalues(W @ B @ W.conj().T)


def _is_complex(A):
    return any(isinstance(x, mpmath.mpc) for x in A.flat)


def _eigenvalues(A):
    solve = mpmath.eighe if _is_complex(A) else mpmath.eigsy
    return list(solve(_symmetrised(A), eigvals_only=True))


def _function(function, A):
    """Return U f(λ) Uᴴ."""
    solve = mpmath.eighe if _is_complex(A) else mpmath.eigsy
    eigenvalues, vectors = solve(_symmetrised(A))
    U = np.array(vectors.tolist(), object)
    return (U * np.array([function(x) for x in eigenvalues], object)) @ U.conj().T


def _symmetrised(A):
    return mpmath.matrix(((A + A.conj().T) / 2).tolist())
