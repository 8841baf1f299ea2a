"""Means of neighbours' targets, against sorting by hand and scikit-learn on the line."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from _matrices import random_spd
from spdatoms import SPDKNeighborsRegressor, pairwise_divergence


@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize("metric", ["stein", "burg", "riemann", "euclid"])
def test_the_mean_of_the_nearest_targets(metric, outputs) -> None:
    X, queries = random_spd(30, 3), random_spd(8, 3, seed=1)
    t = np.random.default_rng(0).standard_normal((30, *outputs))
    w = np.random.default_rng(1).uniform(0.2, 3.0, 30)
    plain = SPDKNeighborsRegressor(4, metric).fit(X, t)
    weighted = SPDKNeighborsRegressor(4, metric, weights="distance").fit(X, t, sample_weight=w)
    divergences = pairwise_divergence(queries, X, metric)
    for i, values in enumerate(divergences):
        nearest = np.argsort(values)[:4]
        np.testing.assert_allclose(plain.predict(queries)[i], t[nearest].mean(axis=0))
        votes = w[nearest] / np.sqrt(values[nearest])
        expected = np.average(t[nearest], axis=0, weights=votes)
        np.testing.assert_allclose(weighted.predict(queries)[i], expected, rtol=1e-12)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_on_the_line_it_is_scikit_learns(weights) -> None:
    """1×1 matrices exp(x): the affine-invariant distance is |x − y|."""
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((40, 1)), rng.standard_normal((40, 2))
    queries = np.concatenate([rng.standard_normal((10, 1)), x[:3]])
    expected = KNeighborsRegressor(5, weights=weights).fit(x, t)
    model = SPDKNeighborsRegressor(5, weights=weights).fit(np.exp(x)[:, :, None], t)
    found = model.predict(np.exp(queries)[:, :, None])
    np.testing.assert_allclose(found, expected.predict(queries), rtol=1e-9)
    distances, indices = expected.kneighbors(queries)
    squares, ours = model.kneighbors(np.exp(queries)[:, :, None])
    np.testing.assert_array_equal(ours, indices)
    np.testing.assert_allclose(squares, distances**2, atol=1e-15)


def test_a_matrix_of_the_training_set_keeps_its_target_at_any_scale() -> None:
    t = np.arange(20.0)
    for scale in (1e-150, 1.0, 1e150):
        X = random_spd(20, 3, scale=scale)
        model = SPDKNeighborsRegressor(3, "stein", weights="distance").fit(X, t)
        np.testing.assert_array_equal(model.predict(X), t)


def test_bad_number_of_neighbours() -> None:
    X = random_spd(4, 3)
    with pytest.raises(
        ValueError, match=r"n_neighbors must be between 1 and .*, got 5 for n_samples=4"
    ):
        SPDKNeighborsRegressor().fit(X, np.arange(4.0))
