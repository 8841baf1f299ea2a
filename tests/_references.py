"""Divergences by SciPy, and functions of matrices and geodesics by their definitions, in 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import scipy.linalg

from _matrices import random_spd


def by_eigenvalues(metric, A, B):
    """S, J and AIRM² from the logarithms u of the eigenvalues of A⁻¹B, which SciPy finds."""
    u = np.log(scipy.linalg.eigh(B, A, eigvals_only=True))
    if metric == "stein":
        return np.logaddexp(u / 2, -u / 2).sum() - len(u) * np.log(2.0)
    return (np.cosh(u) - 1.0).sum() if metric == "jeffrey" else (u**2).sum()


def table(function, X, Y):
    return np.array([[function(A, B) for B in Y] for A in X])


def well_separated(m, n, *, condition=30.0, seed=0, dtype=np.float64):
    """Return 2m matrices such that every one of the first m is far from every other one."""
    X = random_spd(2 * m, n, condition=condition, seed=seed)
    if n == 1:
        X = np.linspace(1.0, 2.0, 2 * m).reshape(-1, 1, 1)
    X[m:] *= 3.0
    return X[:m].astype(dtype), X[m:].astype(dtype)


def reference_function(function, A):
    """U f(λ) Uᵀ in 50 digits; A has scale 1, because mpmath's tolerances are absolute."""
    with mpmath.workdps(50):
        eigenvalues, U = mpmath.eigsy(mpmath.matrix(A.tolist()))
        return U * mpmath.diag([function(x) for x in eigenvalues]) * U.T


def to_array(M):
    return np.array(M.tolist(), dtype=np.float64)


def reference_in_frame(function, A, B, digits=50):
    """A^½ f(A^-½ B A^-½) A^½, after the congruence that gives A a unit diagonal, as the definition says."""
    with mpmath.workdps(digits):
        A, B = (mpmath.matrix(Z.tolist()) for Z in (A, B))
        units = mpmath.diag([mpmath.sqrt(A[i, i]) for i in range(A.rows)])
        A, B = (units**-1 * Z * units**-1 for Z in (A, B))
        eigenvalues, U = mpmath.eigsy((A + A.T) / 2)
        root = U * mpmath.diag([mpmath.sqrt(x) for x in eigenvalues]) * U.T
        inner = root**-1 * B * root**-1
        eigenvalues, U = mpmath.eigsy((inner + inner.T) / 2)
        values = U * mpmath.diag([function(x) for x in eigenvalues]) * U.T
        return to_array(units * root * values * root * units)


def reference_geodesic(A, B, t, digits=50):
    """A^½ (A^-½ B A^-½)^t A^½."""
    return reference_in_frame(lambda x: x ** mpmath.mpf(t), A, B, digits)
