"""Codes of least log-determinant divergence, by their conditions of optimality in NumPy."""

import numpy as np
import pytest

from spdatoms.native import kernel

code_maxdet = kernel("code_maxdet", "DDDqqDDqdqDDD")
GUARD = 4711.0
OBJECTIVE, GAP, RESIDUAL, ROUNDS = range(4)


def definite(count, n, seed):
    A = np.random.default_rng([n, seed]).standard_normal((count, n, n + 3))
    return A @ A.transpose(0, 2, 1) / n + 0.1 * np.eye(n)


def half_vectors(X):
    rows, columns = np.tril_indices(X.shape[1])
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))
    return np.ascontiguousarray(X[:, rows, columns] * weights)


def code(D, X, alpha, *, bounded):
    """Return the codes, the multipliers and the reports; numbers around them must stay as they are."""
    (N, n), m, halves = D.shape[:2], len(X), half_vectors(D)
    costs = half_vectors(np.linalg.inv(X)) @ halves.T + alpha
    guarded = [np.full((m + 2, length), GUARD) for length in (N, halves.shape[1], 4)]
    for array in guarded[:2]:
        array[1:-1] = 0.0
    inner = [array[1:-1] for array in guarded]
    logdets = np.linalg.slogdet(D)[1]
    code_maxdet(D, halves, logdets, N, n, costs, X if bounded else None, m, 1e-10, 200, *inner)
    assert all((array[[0, -1]] == GUARD).all() for array in guarded)
    rows, columns = np.tril_indices(n)
    Z = np.zeros((m, n, n))
    Z[:, rows, columns] = inner[1] / np.where(rows == columns, 1.0, np.sqrt(2.0))
    Z[:, columns, rows] = Z[:, rows, columns]
    return inner[0] / costs, costs, Z, inner[2]


def check(D, X, y, costs, Z, report):
    """The definition: g = c + tr(ZD) − tr(M⁻¹D) ≥ 0, y ≥ 0, y∘g = 0, Z ⪰ 0, M ⪯ X if Z is not 0, tr Z(X − M) = 0."""
    n = X.shape[1]
    M = np.einsum("mj,jab->mab", y, D)
    gradient = costs + np.einsum("mab,jab->mj", Z - np.linalg.inv(M), D)
    assert (y >= 0).all()
    assert (np.abs(np.minimum(costs * y, gradient / costs)) < 1e-8).all()
    assert (np.abs(np.einsum("mab,mab->m", Z, X - M)) < 1e-7 * n).all()
    assert (np.linalg.eigvalsh(Z) >= -1e-9 * (1 + np.abs(Z).max())).all()
    objective = (costs * y).sum(axis=1) - np.linalg.slogdet(M)[1]
    np.testing.assert_allclose(report[:, OBJECTIVE], objective, rtol=1e-9, atol=1e-9 * n)
    assert (report[:, GAP] <= 1e-10 * n).all()
    assert (report[:, RESIDUAL] <= 1e-10).all()
    assert (report[:, ROUNDS] <= 30).all()
    return M


@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n):
    D, X = definite(5 + n % 8, n, 0), definite(2, n, 1)
    y, costs, Z, report = code(D, X, 0.1, bounded=False)
    assert not Z.any()
    check(D, X, y, costs, Z, report)


@pytest.mark.parametrize("n", [*range(1, 12), 17, 22])
def test_with_the_bound(n):
    D, X = definite(9 + n % 8, n, 0), definite(2, n, 1)
    y, costs, Z, report = code(D, X, 0.01, bounded=True)
    M = check(D, X, y, costs, Z, report)
    assert (np.linalg.eigvalsh(X - M) >= -1e-8).all()


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("bounded", [False, True])
def test_more_atoms_than_dimensions_and_copies_of_some(n, bounded):
    D, X = definite(41, n, 0), definite(3, n, 1)
    D[20:25] = D[:5]
    y, costs, Z, report = code(D, X, 0.1, bounded=bounded)
    check(D, X, y, costs, Z, report)


def test_a_bound_that_does_not_matter_changes_nothing():
    D, X = definite(7, 4, 0), definite(1, 4, 1)
    codes, _, Z, _ = code(D, X, 10.0, bounded=True)
    np.testing.assert_allclose(codes, code(D, X, 10.0, bounded=False)[0], atol=1e-9)
    assert not Z.any()
