"""Tests of pairs of large and of complex matrices, whose distances come from LAPACK's eigenvalues, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from tests._matrices import random_spd

from spdatoms import divergence


def matrices(m, n, complex_, seed=0):
    """Return covariances of 3n Gaussian samples."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n, 3 * n)) + (1j * rng.standard_normal((m, n, 3 * n)) * complex_)
    X = G @ G.conj().swapaxes(1, 2) / (3 * n)
    return X if complex_ else np.ascontiguousarray(X.real)


def squared_norm(A):
    return float((abs(A) ** 2).sum())


FORMULAS = {
    "logeuclid": lambda A, B: squared_norm(scipy.linalg.logm(A) - scipy.linalg.logm(B)),
    "poweuclid": lambda A, B: 4.0 * squared_norm(scipy.linalg.sqrtm(A) - scipy.linalg.sqrtm(B)),
    "riemann": lambda A, B: float((np.log(scipy.linalg.eigvals(A, B).real) ** 2).sum()),
    "thompson": lambda A, B: float((np.log(scipy.linalg.eigvals(A, B).real) ** 2).max()),
    "wasserstein": lambda A, B: float(
        np.trace(
            A + B - 2.0 * scipy.linalg.sqrtm(scipy.linalg.sqrtm(A) @ B @ scipy.linalg.sqrtm(A))
        ).real
    ),
}


@pytest.mark.parametrize("metric", FORMULAS)
@pytest.mark.parametrize(("n", "complex_"), [(25, False), (12, True), (13, True), (33, True)])
def test_values_are_those_of_the_formula(metric, n, complex_) -> None:
    X, Y = matrices(3, n, complex_), matrices(3, n, complex_, seed=1)
    expected = [FORMULAS[metric](A, B) for A, B in zip(X, Y, strict=True)]
    np.testing.assert_allclose(divergence(X, Y, metric), expected, rtol=1e-9)
    single = np.complex64 if complex_ else np.float32
    found = divergence(X.astype(single), Y.astype(single), metric)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("metric", FORMULAS)
@pytest.mark.parametrize(("n", "complex_"), [(26, False), (33, True)])
def test_what_cancels_has_all_digits(metric, n, complex_) -> None:
    """A and (1 + h)² A: the distance is known, and so small that the formula has no digit of it."""
    X, h = matrices(2, n, complex_), 1e-7
    expected = {
        "logeuclid": np.full(2, 4.0 * n * np.log1p(h) ** 2),
        "riemann": np.full(2, 4.0 * n * np.log1p(h) ** 2),
        "thompson": np.full(2, 4.0 * np.log1p(h) ** 2),
        "poweuclid": 4.0 * h**2 * np.einsum("mii->m", X).real,
        "wasserstein": h**2 * np.einsum("mii->m", X).real,
    }[metric]
    np.testing.assert_allclose(divergence(X, (1.0 + h) ** 2 * X, metric), expected, rtol=1e-6)
    assert not divergence(X, X, metric).any()


@pytest.mark.parametrize("metric", ["logeuclid", "riemann", "thompson"])
@pytest.mark.parametrize("complex_", [False, True])
def test_ill_conditioned_pairs_have_digits(metric, complex_) -> None:
    """Diagonal matrices in another basis; eigenvalues of a symmetric eigensolver would lose six digits."""
    n = 34
    U = scipy.linalg.qr(matrices(1, n, complex_)[0])[0]
    x, y = np.logspace(0, -10, n), np.logspace(0, -10, n) * np.linspace(1.0, 3.0, n)
    A, B = ((U * values) @ U.conj().T for values in (x, y))
    A, B = (0.5 * (Z + Z.conj().T) for Z in (A, B))
    logs = np.log(y / x)
    expected = (logs**2).max() if metric == "thompson" else (logs**2).sum()
    assert divergence(A, B, metric) == pytest.approx(expected, rel=1e-5)


def test_semidefinite_matrices_have_powers() -> None:
    X, Y = random_spd(2, 30), random_spd(2, 30, seed=1)
    X[1, :, 0] = X[1, 0] = 0.0
    roots = [
        scipy.linalg.block_diag(0.0, scipy.linalg.sqrtm(X[1, 1:, 1:])),
        scipy.linalg.sqrtm(Y[1]),
    ]
    expected = 4.0 * squared_norm(roots[0] - roots[1])
    assert divergence(X, Y, "poweuclid")[1] == pytest.approx(expected, rel=1e-9)
