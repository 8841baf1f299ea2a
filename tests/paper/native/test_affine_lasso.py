"""Codes whose sum is fixed, by their conditions of optimality in NumPy."""

import numpy as np
import pytest

from spdatoms.native import kernel

solve_affine = kernel("solve_affine", "DDDDDqqdddD")


@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n):
    rng = np.random.default_rng(n)
    lengths, alpha, rho = rng.uniform(0.5, 1.0, n), 0.3, np.full(3, 100.0)
    B = rng.standard_normal((3, n, n + 1)) / np.sqrt(n)
    Q = B @ B.transpose(0, 2, 1)
    grams = lengths[:, None] * (Q + rho[0]) * lengths
    inverse = 1 / np.sqrt(np.einsum("mjj->mj", grams).max(axis=1))
    codes = np.zeros((5, n))
    codes[[0, -1]] = 4711.0
    solve_affine(
        grams, lengths, rho, 1e-10 * inverse, inverse, 3, n, alpha / 2, 1e-14, -np.inf, codes[1:-1]
    )
    assert (codes[[0, -1]] == 4711.0).all()
    y = codes[1:-1] * lengths  # min yᵀQy + Σ α_j|y_j| over Σ y = 1
    np.testing.assert_allclose(y.sum(axis=1), 1.0, rtol=1e-10)
    penalty, gradient = alpha / lengths, 2 * np.einsum("mij,mj->mi", Q, y)
    lower = np.where(y > 0, gradient + penalty, gradient - penalty).max(axis=1)
    upper = np.where(y < 0, gradient - penalty, gradient + penalty).min(axis=1)
    assert (lower - upper < 1e-8).all()
