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


@pytest.mark.parametrize("n", [24, 25, 48, 65])
def test_transport_of_every_size(n) -> None:
    G = np.random.default_rng(n).standard_normal((7, n, 2 * n))
    A, B, *rest = G @ G.swapaxes(1, 2) / n
    V = log_map(rest, A)
    moved = parallel_transport(V, A, B)
    np.testing.assert_array_equal(moved, moved.swapaxes(1, 2))
    scale = np.abs(moved).max()
    expected = theirs.transport_riemann(V, A, B)
    np.testing.assert_allclose(moved, expected, atol=1e-11 * scale, rtol=0)
    bases = np.stack([A, B, A, B, A])  # each from a base of its own
    alone = [parallel_transport(v, a, B) for v, a in zip(V, bases, strict=True)]
    np.testing.assert_allclose(parallel_transport(V, bases, B), alone, atol=1e-13 * scale, rtol=0)
    single = parallel_transport(V.astype(np.float32), A.astype(np.float32), B.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-4 * scale, rtol=0)


@pytest.mark.parametrize("n", [1, 2, 8, 24, 25])
@pytest.mark.parametrize("complex_", [False, True])
def test_vectors_to_transport_are_checked(n, complex_) -> None:
    rng = np.random.default_rng(n)
    G = rng.standard_normal((19, n, 2 * n))
    G = G + 1j * rng.standard_normal(G.shape) if complex_ else G
    A, B, *rest = G @ G.conj().swapaxes(1, 2) / n
    V = np.array(rest)
    moved = parallel_transport(V, A, B)
    nearly = V + 1e-13 * rng.standard_normal(V.shape)  # rounding is no error
    np.testing.assert_allclose(parallel_transport(nearly, A, B), moved, atol=1e-10)
    for entry in (np.nan, np.inf):
        bad = V.copy()
        bad[13, -1, -1] = entry
        with pytest.raises(
            ValueError, match=rf"V\[13\] is not finite: its entry \({n - 1}, {n - 1}\)"
        ):
            parallel_transport(bad, A, B)
    with pytest.raises(ValueError, match=rf"17, {n}, {n}\).*\(5, {n}, {n}\)"):
        parallel_transport(V, V[:5], B)
    if n > 1:
        bad = V.copy()
        bad[[7, 13], 0, 1] += 1.0
        with pytest.raises(ValueError, match=r"V\[7\] is not (symmetric|Hermitian)"):
            parallel_transport(bad, A, B)


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
