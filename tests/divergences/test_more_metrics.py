"""Log-Cholesky, Cholesky, Wasserstein, harmonic, power and Thompson distances, against pyRiemann and definitions."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.distance
import pyriemann.geometry.mean
import pytest
import scipy.linalg

from _matrices import assert_close, random_spd
from spdatoms import SPDKMeans, SPDKNeighborsClassifier, divergence, mean, pairwise_divergence
from spdatoms.divergences import (
    Divergence,
    PowerEuclidean,
    Wasserstein,
    _whitened_sums,
    get_divergence,
)
from spdatoms.geometry.functions import geometric_mean

METRICS = ["logchol", "chol", "wasserstein", "harmonic", "poweuclid", "thompson"]


def matrices(m: int, seed: int, complex_: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, 3, 9)) + (1j * rng.standard_normal((m, 3, 9)) if complex_ else 0.0)
    X = G @ G.conj().swapaxes(1, 2) / 9
    return 0.5 * (X + X.conj().swapaxes(1, 2))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_distances_are_those_of_pyriemann(name, complex_) -> None:
    X, Y = matrices(5, 0, complex_), matrices(4, 1, complex_)
    options = {"p": 0.5} if name == "poweuclid" else {}
    theirs = getattr(pyriemann.geometry.distance, f"distance_{name}")
    expected = np.array([[theirs(x, y, **options) ** 2 for y in Y] for x in X])
    np.testing.assert_allclose(pairwise_divergence(X, Y, name), expected, rtol=1e-8)
    np.testing.assert_allclose(divergence(X[:4], Y, name), np.diagonal(expected), rtol=1e-8)
    within = pairwise_divergence(X, metric=name)
    assert (np.diagonal(within) == 0.0).all()
    np.testing.assert_allclose(within, within.T, rtol=1e-9)
    assert (
        pairwise_divergence(X.astype(np.complex64 if complex_ else np.float32), metric=name).dtype
        == np.float32
    )


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", METRICS[:-1])
def test_means_are_those_of_pyriemann(name, complex_) -> None:
    X, weights = matrices(6, 2, complex_), np.linspace(0.5, 2.0, 6)
    options = {"p": 0.5} if name == "poweuclid" else {}
    options |= {"tol": 1e-12, "maxiter": 500} if name == "wasserstein" else {}
    theirs = getattr(pyriemann.geometry.mean, f"mean_{name}")
    expected = theirs(X, sample_weight=weights, **options)
    np.testing.assert_allclose(mean(X, name, weights), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mean(X[:1], name), X[0], rtol=1e-9)


def test_wasserstein_keeps_its_digits_where_matrices_are_close() -> None:
    """For diagonal matrices it is Σ (√x − √y)²."""
    x = np.array([1.0, 2.0, 5.0])
    y = x * (1.0 + 1e-10)
    d = divergence(np.diag(x), np.diag(y), "wasserstein")
    assert d == pytest.approx(((np.sqrt(x) - np.sqrt(y)) ** 2).sum(), rel=1e-5)


def test_gradient_of_wasserstein_is_that_of_differences() -> None:
    X, Y = random_spd(3, 4), random_spd(3, 4, seed=1)
    differences = super(Wasserstein, Wasserstein()).gradient(X, Y)
    np.testing.assert_allclose(Wasserstein().gradient(X, Y), differences, rtol=1e-6, atol=1e-8)


def test_wasserstein_centre_transports_to_matrices_with_a_weight_only(monkeypatch) -> None:
    """k-means gives the weight zero to the matrices of all other clusters."""
    Z, C = random_spd(12, 4), random_spd(1, 4, seed=1)[0]
    weights = np.where(np.arange(12) % 4 == 1, np.linspace(0.5, 2.0, 12), 0.0)
    T = np.tensordot(weights, geometric_mean(np.linalg.inv(C), Z), 1) / weights.sum()
    transported, original = [], _whitened_sums._spectral_sum

    def counted(n, count, *rest):
        transported.append(count)
        return original(n, count, *rest)

    monkeypatch.setattr(_whitened_sums, "_spectral_sum", counted)
    centre = Wasserstein().centre(Wasserstein().prepare(Z), weights, C)
    np.testing.assert_allclose(centre, T @ C @ T, rtol=1e-10)
    assert transported == [3]


def test_thompson_is_the_greatest_logarithm_and_has_no_mean() -> None:
    A, B = random_spd(2, 4)
    greatest = np.abs(np.log(scipy.linalg.eigvalsh(A, B))).max()
    assert divergence(A, B, "thompson") == pytest.approx(greatest**2)
    with pytest.raises(ValueError, match="The Thompson distance has no unique mean"):
        mean(random_spd(3, 2), "thompson")


def test_powers() -> None:
    X = random_spd(4, 3)
    np.testing.assert_allclose(
        pairwise_divergence(X, metric=PowerEuclidean(1.0)), pairwise_divergence(X, metric="euclid")
    )
    nearly = pairwise_divergence(X, metric=PowerEuclidean(1e-6))
    np.testing.assert_allclose(nearly, pairwise_divergence(X, metric="logeuclid"), rtol=1e-4)
    with pytest.raises(ValueError, match="p must be finite and not zero, got 0"):
        PowerEuclidean(0)


@pytest.mark.parametrize("name", METRICS)
def test_estimators_take_them(labelled, name) -> None:
    X, y = labelled
    assert SPDKNeighborsClassifier(metric=name).fit(X, y).score(X, y) == 1.0
    if name != "thompson":
        assert SPDKMeans(2, name, random_state=0, max_iter=50).fit(X).inertia_ > 0
    assert get_divergence(name).kernel_is_guaranteed(1.0, 3) == (
        name not in ("wasserstein", "thompson")
    )


def test_pairs_with_what_is_not_spd_may_be_nan() -> None:
    X = np.stack([np.eye(2), np.diag([1.0, -1.0]), 2.0 * np.eye(2)])
    values = pairwise_divergence(X, metric="riemann", on_error="nan")
    assert np.isnan(values[1]).all()
    assert np.isnan(values[:, 1]).all()
    np.testing.assert_allclose(values[[0, 0, 2], [0, 2, 2]], [0.0, 2 * np.log(2) ** 2, 0.0])
    two = pairwise_divergence(X, X[:1], metric="stein", on_error="nan")
    np.testing.assert_array_equal(np.isnan(two[:, 0]), [False, True, False])
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'nan', got 'skip'"):
        pairwise_divergence(X, on_error="skip")


@pytest.mark.parametrize("p", [-1.0, -0.3, 0.5, 1.0, 2.5])
def test_gradients_of_powers_are_those_of_differences(p):
    X, Y = random_spd(4, 4), random_spd(4, 4, seed=1)
    X[0] = np.diag([1.0, 1.0, 1.0 + 1e-9, 2.0])  # eigenvalues that nearly coincide
    power = PowerEuclidean(p)
    expected = Divergence.gradient(power, X, Y)
    assert_close(power.gradient(X, Y), expected, 1e-7)
    expected = Divergence.gradient(power, X[1], Y)
    assert_close(power.gradient(X[1], Y), expected, 1e-7)
