"""Logarithms of matrices that are seen from others, and their derivatives, against eigenvalues and differences."""

import numpy as np
import pytest

from spdatoms.native import kernel

tangent_vectors = kernel("tangent_vectors", "DDDqqIIDD")


def problem(n, count, seed=0):
    rng = np.random.default_rng([n, seed])
    W, D = rng.standard_normal((2, 3, n, n)) / np.sqrt(n) + 2.0 * np.eye(n)
    D, V = D @ D.transpose(0, 2, 1), rng.standard_normal((3, n, n))
    pairs = rng.integers(0, 3, (2, count))
    return W, D, V + V.transpose(0, 2, 1), *pairs


def vectors(W, D, V, queries, atoms):
    n, count = W.shape[1], len(queries)
    out, ratios = np.full((count + 2, n * (n + 1) // 2), 7.0), np.full(count + 2, 7.0)
    tangent_vectors(W, D, V, n, count, queries, atoms, ratios[1:-1], out[1:-1])
    assert (out[[0, -1]] == 7.0).all()
    assert (ratios[[0, -1]] == 7.0).all()
    return out[1:-1], ratios[1:-1]


def half(A):
    """Return the lower triangle with the weight √2 off the diagonal."""
    rows, columns = np.tril_indices(A.shape[-1])
    return A[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def logarithm(A):
    values, U = np.linalg.eigh(A)
    return (U * np.log(values)) @ U.T


@pytest.mark.parametrize("n", range(1, 41))
def test_logarithms(n):
    W, D, _, queries, atoms = problem(n, 11)
    out, ratios = vectors(W, D, None, queries, atoms)
    for i, j, vector, ratio in zip(queries, atoms, out, ratios, strict=True):
        A = W[i] @ D[j] @ W[i].T
        values = np.linalg.eigvalsh(A)
        np.testing.assert_allclose(vector, half(logarithm(A)), atol=1e-12)
        np.testing.assert_allclose(ratio, values[0] / values[-1], rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16])
def test_gradients(n):
    W, D, V, queries, atoms = problem(n, 9)
    out, _ = vectors(W, D, V, queries, atoms)
    direction = np.random.default_rng(1).standard_normal((n, n))
    direction += direction.T
    for i, j, vector in zip(queries, atoms, out, strict=True):
        A, E = W[i] @ D[j] @ W[i].T, 1e-5 * W[i] @ direction @ W[i].T
        change = (logarithm(A + E) - logarithm(A - E)) / 2e-5
        np.testing.assert_allclose(vector @ half(direction), np.sum(V[i] * change), atol=1e-6 * n)


def test_equal_and_nearly_equal_eigenvalues():
    W, V = np.eye(3)[None], np.ones((1, 3, 3))
    for spread in (0.0, 1e-14, 1e-8, 1e-3, 0.3, 0.5):
        D = np.diag(np.exp([0.0, spread, -spread]))[None]
        out, _ = vectors(W, D, V, np.zeros(1, int), np.zeros(1, int))
        a = np.diagonal(D[0])
        quotients = [1 / a[0], 1.0 if not spread else spread / np.expm1(spread), 1 / a[1]]
        np.testing.assert_allclose(out[0, [0, 1, 2]] / [1, np.sqrt(2), 1], quotients, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_vector_does_not_depend_on_the_other_pairs(n):
    W, D, V, queries, atoms = problem(n, 21)
    for direction in (None, V):
        together, _ = vectors(W, D, direction, queries, atoms)
        for k in range(21):
            alone, _ = vectors(W, D, direction, queries[k : k + 1], atoms[k : k + 1])
            np.testing.assert_array_equal(alone[0], together[k])


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300, np.nan])
def test_a_scale_that_rotations_cannot_handle_is_told(scale):
    W, D, _, queries, atoms = problem(4, 3)
    assert np.isnan(vectors(W, scale * D, None, queries, atoms)[1]).all()
