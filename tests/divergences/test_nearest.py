"""The nearest matrices of a set: those that all divergences show, also where bounds leave most of them out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from _matrices import noisy_classes, random_spd
from spdatoms.divergences import AffineInvariant, get_divergence
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import divergence_names

airm = AffineInvariant()


@pytest.fixture
def always_bounds(monkeypatch) -> None:
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._WORTH_BOUNDS", 0)


def assert_nearest(divergence: Divergence, X, Y, k: int, rtol: float = 1e-12) -> None:
    """Compare with all divergences, sorted; matrices that are equally near come in their order."""
    first, second = (divergence.prepare(Z) for Z in (X, Y))
    values, indices = divergence.nearest(first, second, k)
    every = divergence.pairwise(first, second)
    expected = np.argsort(every, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    assert values.dtype == every.dtype
    sorted_values = np.take_along_axis(every, expected, axis=1)
    np.testing.assert_allclose(values, sorted_values, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("metric", divergence_names())
@pytest.mark.parametrize("complex_", [False, True])
def test_of_every_metric(metric, complex_, always_bounds) -> None:
    X = random_spd(70, 4, seed=1).astype(complex if complex_ else float)
    X[:, 0, 1] += 0.1j if complex_ else 0.0
    X[:, 1, 0] -= 0.1j if complex_ else 0.0
    for k in (1, 9, 60):
        assert_nearest(over(get_divergence(metric), X), X[:10], X[10:], k)


@pytest.mark.parametrize(
    ("n", "m"), [(1, 40), (3, 1), (5, 7), (8, 300), (22, 120), (40, 60), (65, 33)]
)
def test_bounds_leave_out_none_of_the_nearest(n, m, always_bounds) -> None:
    X, Y = random_spd(5, n, seed=n), random_spd(m, n, seed=n + 1)
    for k in {1, min(3, m), m}:
        assert_nearest(airm, X, Y, k)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e150])
def test_scales(scale, always_bounds) -> None:
    X, Y = random_spd(4, 6, seed=0), random_spd(90, 6, seed=1)
    assert_nearest(airm, scale * X, scale * Y, 3)
    assert_nearest(airm, X, np.concatenate([scale * Y, Y]), 3)


def test_equal_matrices_are_all_found(always_bounds) -> None:
    X = np.repeat(random_spd(5, 4, seed=0), 20, axis=0)
    values, indices = airm.nearest(airm.prepare(X[::20]), airm.prepare(X), 30)
    assert values[:, :20].max() < 1e-15 < values[:, 20:].min()
    np.testing.assert_array_equal(np.sort(indices[:, :20]), np.arange(100).reshape(5, 20))


@pytest.mark.parametrize("condition", [1e4, 1e10, 1e13])
def test_ill_conditioned(condition, always_bounds) -> None:
    """Where logarithms of determinants are wrong, bounds are lower, and more divergences are computed."""
    X = random_spd(60, 7, condition=condition, seed=2)
    D = np.geomspace(1.0, 1e-6, 7)
    for Z in (X, D[:, None] * X * D):
        assert_nearest(airm, Z[:5], Z, 3, rtol=1e-9)


def test_rounding_of_determinants_hides_no_neighbour(always_bounds) -> None:
    """Stein's divergence of these is rounding, which is much larger than the squared distances."""
    for seed in range(5):
        X = random_spd(1, 7, condition=1e8, seed=seed)
        noise = np.random.default_rng(seed).integers(-1, 2, (40, 7, 7))
        rounded = X * (1.0 + np.finfo(float).eps * (noise + noise.swapaxes(1, 2)))
        Y = rounded * (1.0 + 1e-6 * np.arange(40.0, 0.0, -1.0))[:, None, None]
        _, indices = airm.nearest(airm.prepare(X), airm.prepare(Y), 1)
        assert indices == 39


def test_the_nearest_is_found_behind_many_with_lower_bounds(always_bounds) -> None:
    """One eigenvalue far from 1 has a low bound; if all are near to 1, it is near to the distance."""
    decoys = np.tile(np.eye(10), (30, 1, 1))
    decoys[:, 0, 0] = np.exp(6.0 + 1e-3 * np.arange(30))  # AIRM² ≥ 36, 8 S = 18.5
    nearest = np.exp(1.871) * np.eye(10)  # AIRM² = 35.0, 8 S = 30.7
    Y = np.concatenate([decoys, nearest[None]])
    values, indices = airm.nearest(airm.prepare(np.eye(10)[None]), airm.prepare(Y), 2)
    np.testing.assert_array_equal(indices, [[30, 0]])
    np.testing.assert_allclose(values, [[10 * 1.871**2, 36.0]])


@pytest.mark.parametrize(("n", "scale"), [(1, 1e30), (1, 1e-12), (2, 1e-30), (3, 1e30)])
def test_rounding_of_logarithms_hides_no_neighbour(n, scale, always_bounds) -> None:
    X = scale * random_spd(1, n, seed=n)
    rng = np.random.default_rng(0)
    Y = X * (1.0 + 1e-7 * rng.standard_normal(3000))[:, None, None]
    for i in range(0, 3000, 300):
        values, _ = airm.nearest(airm.prepare(Y[i : i + 1]), airm.prepare(Y), 5)
        every = np.sort(airm.pairwise(airm.prepare(Y[i : i + 1]), airm.prepare(Y))[0])[:5]
        np.testing.assert_allclose(values[0], every, rtol=1e-3, atol=1e-26)


@pytest.mark.parametrize("far", [1e-60, 1e100])
def test_scales_that_have_no_common_exponent(far, always_bounds) -> None:
    X = random_spd(60, 5, seed=3)
    X[7] *= far
    X[8] *= 1e-3 / far
    assert_nearest(airm, X[:12], X, 3)


def test_all_are_computed_where_bounds_say_little(always_bounds) -> None:
    """One eigenvalue is far from 1 in all pairs, so that bounds are much lower than distances."""
    X = np.tile(np.eye(12), (80, 1, 1))
    X[:, 0, 0] = np.exp(np.linspace(-30.0, 30.0, 80))
    assert_nearest(airm, X[:9], X, 40)


def test_a_pickled_set_is_as_small_as_a_new_one() -> None:
    own = airm.prepare(random_spd(50, 6))
    size = len(pickle.dumps(own))
    airm.nearest(own, own, 3)
    assert len(pickle.dumps(own)) == size


def test_single_precision(always_bounds) -> None:
    X = random_spd(90, 5, seed=4, dtype=np.float32)
    assert_nearest(airm, X[:9], X[9:], 4, rtol=1e-6)


def test_few_are_computed(monkeypatch) -> None:
    """Bounds leave out nine of ten matrices that are not near: else they are not worth their time."""
    X, _ = noisy_classes(400)
    counts, own = [], airm.prepare(X[50:])
    inner = type(own).some

    def some(self, chosen):
        counts.append(len(chosen))
        return inner(self, chosen)

    monkeypatch.setattr(type(own), "some", some)
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._WORTH_BOUNDS", 0)
    airm.nearest(airm.prepare(X[:50]), own, 1)
    assert sum(counts) < 0.1 * 50 * len(own)


def test_threads_and_other_queries_change_nothing(always_bounds) -> None:
    X, Y = random_spd(40, 9, seed=5), random_spd(200, 9, seed=6)
    own = airm.prepare(Y)
    expected = airm.nearest(airm.prepare(X), own, 3)
    for n_jobs in (2, 3):
        for a, b in zip(
            expected, airm.nearest(airm.prepare(X), own, 3, n_jobs=n_jobs), strict=True
        ):
            np.testing.assert_array_equal(a, b)
    for i in range(len(X)):
        for a, b in zip(expected, airm.nearest(airm.prepare(X[i : i + 1]), own, 3), strict=True):
            np.testing.assert_array_equal(a[i : i + 1], b)
