"""Random Hermitian positive definite matrices."""

from __future__ import annotations

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
