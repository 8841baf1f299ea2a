"""Gradients in JAX, with and without ``jax.jit``: against JAX's own, and against those of torch's conventions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from _laws import NAMES, divergence_of
from _matrices import random_spd

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from spdatoms import pairwise_divergence as plain_pairs  # noqa: E402
from spdatoms.interop import jax as ours  # noqa: E402

every = pytest.mark.parametrize("name", NAMES)
W = np.random.default_rng(0).standard_normal((3, 4))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def sets(complex_=False):
    X, Y = random_spd(3, 3), random_spd(4, 3, seed=1)
    if complex_:
        X, Y = (Z + 0.2j * (np.triu(Z, 1) - np.tril(Z, -1)) for Z in (X, Y))
    return X, Y


@pytest.mark.slow
@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@every
def test_all_pairs(name, complex_) -> None:
    X, Y = sets(complex_)
    divergence = divergence_of(name, X)
    expected = divergence.vjp(divergence.prepare(X), divergence.prepare(Y), W)

    @jax.jit
    def value(X, Y):
        return (W * ours.pairwise_divergence(X, Y, name)).sum()

    assert float(value(X, Y)) == pytest.approx((W * plain_pairs(X, Y, name)).sum())
    for G, E in zip(jax.jit(jax.grad(value, argnums=(0, 1)))(X, Y), expected, strict=True):
        np.testing.assert_allclose(np.asarray(G), E.conj(), atol=1e-12 * np.abs(E).max())


@pytest.mark.slow
@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_the_same_formula_by_jax(complex_) -> None:
    X, Y = sets(complex_)

    def stein(X, Y):
        logdet = lambda Z: jnp.linalg.slogdet(Z)[1].real  # noqa: E731
        halves = 0.5 * (logdet(X)[:, None] + logdet(Y))
        return (W * (logdet(0.5 * (X[:, None] + Y)) - halves)).sum()

    def by_kernels(X, Y):
        return (W * ours.pairwise_divergence(X, Y)).sum()

    for argument in (0, 1):
        E = np.asarray(jax.grad(stein, argnums=argument)(X, Y))
        E = 0.5 * (E + E.conj().swapaxes(1, 2))
        G = jax.grad(by_kernels, argnums=argument)(X, Y)
        np.testing.assert_allclose(np.asarray(G), E, atol=1e-12)


@pytest.mark.slow
def test_pairs_within_a_set_and_pairs_that_belong_together() -> None:
    X, _ = sets()
    within = jax.grad(lambda X: ours.pairwise_divergence(X).sum())(X)
    between = jax.grad(lambda X: ours.pairwise_divergence(X, 1.0 * X).sum())(X)
    np.testing.assert_allclose(np.asarray(within), np.asarray(between), atol=1e-12)
    paired = jax.jit(jax.grad(lambda X: ours.divergence(X[:, None], X).sum()))(X)
    np.testing.assert_allclose(np.asarray(within), np.asarray(paired), atol=1e-12)
    mapped = jax.vmap(jax.grad(lambda A: ours.divergence(A, X[0])))(X)
    plain = jax.grad(lambda X: ours.divergence(X, X[0].copy()).sum())
    np.testing.assert_allclose(np.asarray(mapped)[1:], np.asarray(plain(X))[1:], atol=1e-12)


def test_single_precision() -> None:
    X, Y = (Z.astype(np.float32) for Z in sets())
    values = ours.pairwise_divergence(jnp.asarray(X), jnp.asarray(Y))
    gradient = jax.grad(lambda X: ours.pairwise_divergence(X, Y).sum())(jnp.asarray(X))
    assert values.dtype == gradient.dtype == np.float32


def test_codes_and_their_slopes() -> None:
    X, D = random_spd(5, 3), random_spd(7, 3, seed=1)
    rng = np.random.default_rng(0)
    H, E = (rng.standard_normal(Z.shape) for Z in (X, D))
    H, E = H + H.swapaxes(1, 2), E + E.swapaxes(1, 2)

    @jax.jit
    def value(X, D, alpha, beta):
        gram, cross = ours.kernel(D, beta=beta), ours.kernel(X, D, beta)
        return (ours.sparse_code(gram, cross, alpha, ridge=0.1, tol=1e-13) * jnp.arange(7.0)).sum()

    gradients = jax.jit(jax.grad(value, argnums=(0, 1, 2, 3)))(X, D, 0.1, 0.8)
    slope = sum(float((G * H).sum()) for G, H in zip(gradients, (H, E, 1.0, 1.0), strict=True))
    t = 1e-6
    sides = [float(value(X + s * H, D + s * E, 0.1 + s, 0.8 + s)) for s in (t, -t)]
    assert slope == pytest.approx((sides[0] - sides[1]) / (2 * t), rel=1e-6)


def test_second_derivatives_are_refused() -> None:
    X, Y = sets()
    first = jax.grad(lambda X: ours.pairwise_divergence(X, Y).sum())
    with pytest.raises(RuntimeError, match="first derivatives only"):
        jax.grad(lambda X: first(X).sum())(X)


@pytest.mark.parametrize("name", ["pairwise_divergence", "divergence", "kernel", "sparse_code"])
def test_functions_are_those_of_the_module(name) -> None:
    function = getattr(ours, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert f"{function.__module__}.{function.__qualname__}" == f"{ours.__name__}.{name}"
