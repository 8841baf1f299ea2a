"""Random Hermitian positive definite matrices, and divergences between them in 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np


def random_hpd(m, n, *, seed=0, dtype=np.complex128):
    """Return m exactly Hermitian positive definite matrices, covariances of 2n + 2 complex samples."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, n, 2 * n + 2)) + 1j * rng.standard_normal((m, n, 2 * n + 2))
    X = Z @ Z.conj().swapaxes(1, 2) / (4 * n + 4)
    return (0.5 * X + 0.5 * X.conj().swapaxes(1, 2)).astype(dtype)


def two_hermitian_classes(m=40, n=3, seed=1):
    """Return matrices that differ in a phase alone, which their real parts do not show, and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 2
    Z = rng.standard_normal((m, n, 30)) + 1j * rng.standard_normal((m, n, 30))
    phase = np.where(y == 1, 1j, -1j)[:, None]
    Z[:, 1] += 1.5 * phase * Z[:, 0]
    X = Z @ Z.conj().swapaxes(1, 2) / 60
    return X + X.conj().swapaxes(1, 2), y  # BLAS need not round both halves alike


def _mp(A):
    return mpmath.matrix([[mpmath.mpc(complex(x)) for x in row] for row in A])


def _log(A):
    values, U = mpmath.eighe(A)
    return U * mpmath.diag([mpmath.log(x) for x in values]) * U.H


def mp_complex_divergence(metric, A, B):
    """d(A, B) by its definition."""
    with mpmath.workdps(50):
        A, B = _mp(A), _mp(B)
        n = A.rows
        if metric == "euclid":
            return float(mpmath.mnorm(A - B, "f") ** 2)
        if metric == "logeuclid":
            return float(mpmath.mnorm(_log(A) - _log(B), "f") ** 2)
        values, U = mpmath.eighe(A)
        inverse_root = U * mpmath.diag([1 / mpmath.sqrt(x) for x in values]) * U.H
        inner = inverse_root * B * inverse_root
        λ = mpmath.eighe((inner + inner.H) / 2, eigvals_only=True)
        terms = {
            "stein": lambda x: mpmath.log((1 + x) / 2) - mpmath.log(x) / 2,
            "jeffrey": lambda x: (x + 1 / x) / 2 - 1,
            "burg": lambda x: 1 / x + mpmath.log(x) - 1,
            "riemann": lambda x: mpmath.log(x) ** 2,
        }
        return float(sum(terms[metric](x) for x in λ[:n]))
