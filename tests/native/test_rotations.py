"""Eigenvectors of a tridiagonal matrix by rotations, against their definition and LAPACK."""

import numpy as np
import pytest

from spdatoms.geometry import spectral
from spdatoms.native import kernel

tridiagonal_eigenvectors = kernel("tridiagonal_eigenvectors", "qqDDD")


def decomposed(d, e, Q=None):
    """Return the status, the eigenvalues and Zᵀ Qᵀ of the matrix with this diagonal and neighbours."""
    n = len(d)
    values, rows = np.array(d, float), np.eye(n) if Q is None else np.ascontiguousarray(Q.T)
    beside = np.append(np.asarray(e, float), np.nan)
    status = tridiagonal_eigenvectors(n, rows.shape[1], values, beside, rows)
    return status, values, rows


def tridiagonal(d, e):
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


def assert_decomposed(T, values, rows, tolerance=40):
    n, eps = len(T), np.finfo(float).eps * tolerance
    scale = np.abs(T).max()
    np.testing.assert_allclose(rows @ rows.conj().T, np.eye(n), atol=eps)
    np.testing.assert_allclose(T @ rows.T, rows.T * values, atol=eps * scale)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(T), atol=eps * scale)
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("n", [*range(1, 41), 63, 64, 65, 130])
def test_eigenvectors_are_those_of_the_definition(n):
    rng = np.random.default_rng(n)
    d, e = rng.standard_normal(n), rng.standard_normal(n - 1)
    status, values, rows = decomposed(d, e)
    assert status == 0
    assert_decomposed(tridiagonal(d, e), values, rows)


@pytest.mark.parametrize("n", [5, 33, 70])
@pytest.mark.parametrize("kind", ["diagonal", "equal", "split", "graded", "reversed", "wilkinson"])
def test_special_matrices(n, kind):
    rng = np.random.default_rng(n)
    d, e = rng.standard_normal(n), rng.standard_normal(n - 1)
    if kind == "diagonal":
        e = np.zeros(n - 1)
    elif kind == "equal":
        d, e = np.full(n, 2.0), np.full(n - 1, 1e-9)
    elif kind == "split":
        e[::3] = 0.0
    elif kind in ("graded", "reversed"):
        d, e = 10.0 ** -np.arange(n), 0.1 * 10.0 ** -np.arange(n - 1.0)
        if kind == "reversed":
            d, e = d[::-1], e[::-1]
    else:  # pairs of eigenvalues that are nearly equal
        d, e = np.abs(np.arange(n) - n // 2).astype(float), np.ones(n - 1)
    status, values, rows = decomposed(d, e)
    assert status == 0
    assert_decomposed(tridiagonal(d, e), values, rows)


def test_the_matrix_that_is_given_is_rotated():
    rng = np.random.default_rng(0)
    d, e = rng.standard_normal(30), rng.standard_normal(29)
    Q, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    _, values, rows = decomposed(d, e, Q)
    assert_decomposed(Q @ tridiagonal(d, e) @ Q.T, values, rows)


@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
def test_neighbours_of_any_size(n):
    rng = np.random.default_rng(n)
    for size in 10.0 ** np.arange(-16, 17):
        d, e = rng.standard_normal(n), size * rng.standard_normal(n - 1)
        status, values, rows = decomposed(d, e)
        assert status == 0
        assert_decomposed(tridiagonal(d, e), values, rows)


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e200, np.inf, np.nan])
def test_what_is_out_of_range_is_refused(scale):
    assert decomposed(np.full(4, scale), np.full(3, scale))[0] == 1
    assert decomposed([1.0, 2.0, scale, 3.0], [1.0, 1.0, 1.0])[0] == (not abs(scale) < 1.0)


@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e250])
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [13, 25, 40, 257])
def test_eigh_of_stacks(n, complex_, scale):
    rng = np.random.default_rng(n)
    G = rng.standard_normal((3, n, n)) + (1j * rng.standard_normal((3, n, n)) if complex_ else 0.0)
    X = (G + G.conj().swapaxes(1, 2)) * scale
    values, U = spectral.eigh(X)
    for A, own, vectors in zip(X / scale, values / scale, U, strict=True):
        assert_decomposed(A, own, vectors.T, tolerance=400)
