"""Nearest neighbours: votes against sorting by hand, ties, and what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spdatoms import SPDKNeighborsClassifier, pairwise_divergence

METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("metric", METRICS)
def test_votes_are_those_of_the_sorted_divergences(labelled, metric, k) -> None:
    X, y = labelled
    model = SPDKNeighborsClassifier(k, metric).fit(X[::2], y[::2])
    shares, predicted = model.predict_proba(X), model.predict(X)
    for i, values in enumerate(pairwise_divergence(X, X[::2], metric)):
        nearest = y[::2][np.argsort(values)[:k]]
        votes = Counter(nearest)
        np.testing.assert_allclose(shares[i], [votes[label] / k for label in model.classes_])
        most = max(votes.values())
        assert predicted[i] == next(label for label in nearest if votes[label] == most)


def test_a_tie_goes_to_the_class_of_the_nearest() -> None:
    X = np.array([1.0, 2.0, 8.0, 9.0]).reshape(-1, 1, 1)
    model = SPDKNeighborsClassifier(4).fit(X, ["low", "low", "high", "high"])
    np.testing.assert_array_equal(model.predict_proba([[[3.0]], [[7.0]]]), 0.5)
    assert model.predict([[[1.5]], [[8.5]]]).tolist() == ["low", "high"]


def test_queries_come_first_in_a_divergence_that_is_not_symmetric() -> None:
    """d(X, 1) and d(1, X) order these two neighbours of X = 1 differently."""
    X = np.array([0.3, 2.4]).reshape(-1, 1, 1)
    query = np.ones((1, 1, 1))
    forth, back = pairwise_divergence(query, X, "burg")[0], pairwise_divergence(X, query, "burg")
    assert forth.argmin() != back.argmin()
    model = SPDKNeighborsClassifier(metric="burg").fit(X, [0, 1])
    assert model.predict(query)[0] == forth.argmin()


def test_many_queries_are_taken_in_blocks(labelled, monkeypatch) -> None:
    X, y = labelled
    model = SPDKNeighborsClassifier(3).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr("spdatoms.classification.neighbors._BLOCK_ENTRIES", 5 * len(X))
    np.testing.assert_array_equal(model.predict_proba(X), whole)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "n_neighbors must be an integer ≥ 1, got 0"),
        (-1, "n_neighbors must be an integer ≥ 1, got -1"),
        (True, "n_neighbors must be an integer ≥ 1, got True"),
        (25, "n_neighbors must be between 1 and the number of matrices, got 25 for n_samples=24"),
    ],
)
def test_bad_number_of_neighbours(labelled, k, message) -> None:
    with pytest.raises(ValueError, match=message):
        SPDKNeighborsClassifier(k).fit(*labelled)


def test_neighbours_and_their_divergences(labelled) -> None:
    X, y = labelled
    model = SPDKNeighborsClassifier(3, "stein").fit(X[::2], y[::2])
    expected = pairwise_divergence(X, X[::2], "stein")
    values, indices = model.kneighbors(X)
    np.testing.assert_array_equal(indices, np.argsort(expected, axis=1)[:, :3])
    np.testing.assert_allclose(values, np.sort(expected, axis=1)[:, :3])
    assert model.kneighbors(X, 5, return_distance=False).shape == (24, 5)
    with pytest.raises(ValueError, match="n_neighbors must be an integer from 1 to 12, got 13"):
        model.kneighbors(X, 13)


def test_near_neighbours_may_count_more() -> None:
    X = np.exp([0.0, 3.0, 5.0]).reshape(-1, 1, 1)
    model = SPDKNeighborsClassifier(3, "riemann", weights="distance").fit(X, [0, 1, 1])
    votes = 1.0 / np.array([1.0, 2.0, 4.0])
    shares = model.predict_proba(np.exp([[[1.0]]]))
    np.testing.assert_allclose(shares, [[votes[0], votes[1:].sum()] / votes.sum()])
    assert model.predict(np.exp([[[1.0]]])) == 0
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[1.0, 0.0]])
