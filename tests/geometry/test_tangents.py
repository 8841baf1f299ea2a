"""Inner products, norms and parallel transport against pyRiemann and by their properties."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.tangentspace as theirs
import pytest

from spdatoms import divergence, mean
from spdatoms.geometry import inner_product, log_map, norm, parallel_transport


def matrices(m: int, seed: int, complex_: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, 3, 9)) + (1j * rng.standard_normal((m, 3, 9)) if complex_ else 0.0)
    X = G @ G.conj().swapaxes(1, 2) / 9
    return 0.5 * (X + X.conj().swapaxes(1, 2))


@pytest.mark.parametrize("complex_", [False, True])
def test_tangent_vectors(complex_) -> None:
    A, B = matrices(2, 0, complex_)
    V, W = log_map(matrices(4, 1, complex_), A), log_map(matrices(4, 2, complex_), A)
    products = inner_product(V, W, A)
    np.testing.assert_allclose(products, theirs.innerproduct_riemann(V, W, A).real, rtol=1e-9)
    np.testing.assert_allclose(norm(V, A), np.sqrt(inner_product(V, V, A)))
    moved = parallel_transport(V, A, B)
    np.testing.assert_allclose(moved, theirs.transport_riemann(V, A, B), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(inner_product(moved, parallel_transport(W, A, B), B), products)
    np.testing.assert_allclose(parallel_transport(moved, B, A), V, atol=1e-12)
    assert norm(log_map(B, A), A) == pytest.approx(np.sqrt(divergence(A, B, "riemann")))
    with pytest.raises(ValueError, match=r"differs from its (conjugate )?transpose"):
        norm(np.triu(np.ones((3, 3))), A)


def test_means_over_an_axis() -> None:
    X = matrices(12, 3, False).reshape(3, 4, 3, 3)
    for axis in (0, 1, -3):
        means = mean(X, "riemann", axis=axis)
        sets = np.moveaxis(X, axis, 0)
        expected = [mean(sets[:, i], "riemann") for i in range(sets.shape[1])]
        np.testing.assert_array_equal(means, expected)
    np.testing.assert_array_equal(mean(X[0], axis=0), mean(X[0]))
    with pytest.raises(ValueError, match="axis must be one of the leading dimensions of X"):
        mean(X, axis=2)
