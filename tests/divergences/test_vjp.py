"""Vector–Jacobian products of all pairs, of every registered divergence, against sums of exact derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from _divergence_oracles import exact_derivative
from _laws import NAMES, divergence_of, pair
from spdatoms.divergences import Divergence, Stein, get_divergence
from spdatoms.divergences.hermitian import over

every = pytest.mark.parametrize("name", NAMES)
real_and_complex = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])


def stack(count: int, n: int, complex_: bool = False, seed: int = 0) -> np.ndarray:
    # All of these have one determinant, where Thompson's distance has kinks: hence factors.
    drawn = [pair("condition 1e1", complex_, n, seed + k)[0] for k in range(count)]
    return np.stack([A * (1.0 + 0.03 * (seed + k)) for k, A in enumerate(drawn)])


def products(name, X, Y, weights, **options):
    divergence = divergence_of(name, X)
    return divergence.vjp(divergence.prepare(X), divergence.prepare(Y), weights, **options)


@pytest.mark.slow
@real_and_complex
@every
def test_slopes_in_many_digits(name, complex_) -> None:
    X, Y, H = (stack(k, 2, complex_, seed) for k, seed in ((2, 0), (3, 10), (3, 20)))
    weights = np.array([[1.0, -2.0, 0.5], [0.7, 0.0, 3.0]])
    for argument, G in enumerate(products(name, X, Y, weights)):
        np.testing.assert_allclose(G, G.conj().swapaxes(1, 2), atol=1e-14 * np.abs(G).max())
        moved = (X, Y)[argument]
        for k in range(len(moved)):
            terms = [
                weights[i, j] * exact_derivative(name, X[i], Y[j], H[k], 30, argument=argument)
                for i in range(2)
                for j in range(3)
                if (i, j)[argument] == k
            ]
            slope = np.trace(G[k] @ H[k]).real
            assert abs(slope - sum(terms)) < 1e-12 * sum(abs(x) for x in terms)


@real_and_complex
@every
def test_sums_of_gradients(name, complex_) -> None:
    """The formulae for all pairs, and the sum of gradients one pair at a time."""
    X, Y = stack(4, 5, complex_), stack(9, 5, complex_, 20)
    weights = np.random.default_rng(0).standard_normal((4, 9))
    found = products(name, X, Y, weights)
    divergence = divergence_of(name, X)
    expected = Divergence.vjp(divergence, divergence.prepare(X), divergence.prepare(Y), weights)
    # Without a formula for the second argument there are differences.
    for G, sums, tol in zip(found, expected, (1e-12, 1e-8), strict=True):
        np.testing.assert_allclose(G, sums, rtol=0, atol=tol * np.abs(sums).max())
    first, none = products(name, X, Y, weights, both=False)
    np.testing.assert_array_equal(first, found[0])
    assert none is None


@every
def test_single_precision_is_computed_in_double(name) -> None:
    X, Y = (stack(k, 3, seed=k).astype(np.float32) for k in (3, 4))
    weights = np.random.default_rng(0).standard_normal((3, 4))
    exact = products(name, X.astype(np.float64), Y.astype(np.float64), weights)
    for G, expected in zip(products(name, X, Y, weights), exact, strict=True):
        assert G.dtype == np.float64
        np.testing.assert_allclose(G, expected, atol=3e-5 * np.abs(expected).max())


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@every
def test_scales(name, scale) -> None:
    """A divergence that is homogeneous of degree k has a gradient of degree k − 1."""
    X, Y = stack(3, 3), stack(4, 3, seed=9)
    weights = np.random.default_rng(0).standard_normal((3, 4))
    degree = {"euclid": 2.0, "chol": 1.0, "wasserstein": 1.0, "poweuclid": 1.0, "harmonic": -2.0}
    if name == "logchol":
        return  # it is not homogeneous
    factor = scale ** (degree.get(name, 0.0) - 1.0)
    for G, expected in zip(
        products(name, scale * X, scale * Y, weights), products(name, X, Y, weights), strict=True
    ):
        np.testing.assert_allclose(G / factor, expected, atol=1e-9 * np.abs(expected).max())


def test_stein_of_scales_that_no_power_of_two_brings_together() -> None:
    X, Y = np.array([1e-80, 1.0])[:, None, None] * stack(2, 2), 1e90 * stack(3, 2, seed=5)
    weights = np.ones((2, 3))
    first, second = products("stein", X, Y, weights)
    np.testing.assert_allclose(first, -1.5 * np.linalg.inv(X), rtol=1e-12)
    np.testing.assert_allclose(second, np.linalg.inv(Y), rtol=1e-12)


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_stein_of_pairs_without_weights(share) -> None:
    rng = np.random.default_rng(1)
    X, Y = stack(6, 4), stack(20, 4, seed=30)
    weights = rng.standard_normal((6, 20)) * (rng.random((6, 20)) < share)
    divergence = Stein()
    for G, expected in zip(
        products("stein", X, Y, weights),
        Divergence.vjp(divergence, divergence.prepare(X), divergence.prepare(Y), weights),
        strict=True,
    ):
        np.testing.assert_allclose(G, expected, atol=1e-13 * np.abs(expected).max())


@every
def test_symmetric_weights_within_a_set(name) -> None:
    X = stack(11, 4)
    A = np.random.default_rng(3).standard_normal((11, 11))
    divergence = divergence_of(name, X)
    P, weights = divergence.prepare(X), A + A.T
    found, _ = divergence.vjp(P, P, weights, both=False)
    expected, _ = divergence.vjp(P, divergence.prepare(X), weights)
    np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())


def test_stein_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(2)
    A = rng.standard_normal((120, 12, 24))
    X = A @ A.swapaxes(1, 2)
    weights = rng.standard_normal((len(X), len(X)))
    for one, two in zip(
        products("stein", X, X, weights), products("stein", X, X, weights, n_jobs=2), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_a_divergence_without_formulae_has_differences() -> None:
    class Plain(Divergence):
        """½ tr(XY⁻¹) + …, without symmetry and gradient."""

        name = "plain"
        symmetric = False

        def pairwise(self, X, Y=None, *, n_jobs=None):
            burg = get_divergence("burg")
            other = X if Y is None else Y
            return burg.pairwise(burg.prepare(X.matrices), burg.prepare(other.matrices))

        def centre(self, Z, weights, current):
            raise NotImplementedError

    X, Y = stack(2, 3), stack(3, 3, seed=4)
    weights = np.array([[1.0, -1.0, 2.0], [0.5, 1.0, 1.0]])
    plain = over(Plain(), X)
    found = plain.vjp(plain.prepare(X), plain.prepare(Y), weights)
    for G, expected in zip(found, products("burg", X, Y, weights), strict=True):
        np.testing.assert_allclose(G, expected, atol=1e-7 * np.abs(expected).max())


def test_thompson_at_a_kink_takes_one_of_its_slopes() -> None:
    """log²λ is greatest for two eigenvalues here: d falls for both directions that change one of them."""
    X, Y = np.eye(2)[None], np.diag([2.0, 0.5])[None]
    (G,), _ = products("thompson", X, Y, np.ones((1, 1)))
    slope = -2.0 * np.log(2.0)
    assert np.allclose(G, np.diag([slope, 0.0])) or np.allclose(G, np.diag([0.0, -slope]))
