"""Random symmetric positive definite matrices for the tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import DTypeLike, NDArray


def random_orthogonal(m: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return (m, n, n) orthogonal matrices, uniform up to the signs of their columns."""
    return np.linalg.qr(rng.standard_normal((m, n, n)))[0]


def random_spd(
    m: int,
    n: int,
    *,
    scale: float = 1.0,
    condition: float | None = None,
    seed: int | np.random.Generator = 0,
    dtype: DTypeLike = np.float64,
) -> NDArray[np.floating]:
    """Return m exactly symmetric positive definite matrices of size n, shape (m, n, n).

    Without ``condition`` they are covariances of 2n + 2 Gaussian samples (Wishart). With it, each
    is ``U diag(λ) Uᵀ`` with a random U and log-uniform λ whose extremes are ``condition`` apart;
    for n = 1 it sets the spread between matrices instead. The entries have size ``scale``.
    """
    rng = np.random.default_rng(seed)
    if condition is None:
        samples = rng.standard_normal((m, n, 2 * n + 2))
        X = samples @ samples.swapaxes(-1, -2) / (2 * n + 2)
    else:
        exponents = rng.uniform(-0.5, 0.5, (m, n))
        if n > 1:
            exponents[:, 0], exponents[:, -1] = -0.5, 0.5
        U = random_orthogonal(m, n, rng)
        X = (U * condition ** exponents[:, None, :]) @ U.swapaxes(-1, -2)
    return (scale * 0.5 * (X + X.swapaxes(-1, -2))).astype(dtype)


def three_classes() -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return 24 covariances of size 4, of three kinds that are easy to tell apart, and their names."""
    rng = np.random.default_rng(7)
    y = np.arange(24) % 3
    samples = rng.standard_normal((24, 4, 30)) * np.array([1.0, 1.6, 2.4])[y][:, None, None]
    samples[:, 0] *= 1.0 + y[:, None]
    return samples @ samples.swapaxes(1, 2) / 30, np.array(["ash", "oak", "elm"])[y]


def wishart_classes(
    n_classes: int, per_class: int, n: int = 5, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return shuffled covariances of 20 samples from each of some Gaussians, and their classes."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n_classes, n, n + 2)) / np.sqrt(n + 2)
    y = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    G = roots[y] @ rng.standard_normal((len(y), n + 2, 20))
    return G @ G.swapaxes(1, 2) / 20, y


@st.composite
def spd_stacks(
    draw: st.DrawFn,
    *,
    max_m: int = 4,
    max_n: int = 6,
    max_condition: float = 1e6,
    log10_scale: tuple[int, int] = (-12, 12),
    m: int | None = None,
    n: int | None = None,
) -> NDArray[np.float64]:
    """Draw a stack (m, n, n) of float64 matrices; fix ``m`` or ``n`` to choose the shape."""
    return random_spd(
        draw(st.integers(1, max_m)) if m is None else m,
        draw(st.integers(1, max_n)) if n is None else n,
        scale=10.0 ** draw(st.integers(*log10_scale)),
        condition=10.0 ** draw(st.floats(0.0, float(np.log10(max_condition)))),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


def assert_close(actual, expected, tolerance):
    """Compare matrices relative to the norm of each expected one."""
    assert actual.shape == np.shape(expected)
    largest = abs(np.asarray(expected)).max(axis=(-1, -2), keepdims=True)
    np.testing.assert_allclose(actual / largest, expected / largest, rtol=0, atol=tolerance)


def assert_symmetric(X):
    np.testing.assert_array_equal(X, X.swapaxes(-1, -2))


def noisy_classes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices of two classes that differ in one direction, and vary much more in six others."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((count, 8, 100))
    samples[:, :6] *= np.exp(rng.standard_normal((count, 6, 1)))
    y = np.arange(count) % 2
    samples[:, 6] *= np.where(y == 1, 1.3, 1.0)[:, None]
    return samples @ samples.swapaxes(1, 2) / 100, y
