"""Weights of atoms: the optimality conditions of their codes, repetitions, votes."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd, wishart_classes
from spdatoms import (
    SPDEnsembleClassifier,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    load,
    mean,
    pairwise_divergence,
    save,
)
from spdatoms.geometry import geodesic


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_codes_are_optimal_for_the_penalty_of_every_atom(landmarks, ridge) -> None:
    """g = 2(Ky − k) + 2ρy/w is −α sign(y)/√w where y ≠ 0, and no larger than α/√w elsewhere."""
    X, y = wishart_classes(3, 14)
    w = np.random.default_rng(3).uniform(0.1, 4.0, len(X))
    model = SPDSparseClassifier("stein", 0.7, 0.1, ridge=ridge, landmarks=landmarks, rule="sum")
    model.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.atom_weights_, w / w.mean())
    if landmarks is None:
        K = np.exp(-0.7 * pairwise_divergence(X, metric="stein"))
        k = np.exp(-0.7 * pairwise_divergence(queries := random_spd(5, 5), X, metric="stein"))
    else:
        features = model.kernel_.features_
        queries = random_spd(5, 5)
        K, k = features @ features.T, model.kernel_.space.features(queries) @ features.T
    w = w / w.mean()
    codes = np.zeros((5, len(X)))
    for code, found in zip(codes, model.explain(queries), strict=True):
        code[found.atoms] = found.contributions  # the rule "sum": the entries of the code
    gradient = 2.0 * (codes @ K - k) + 2.0 * ridge * codes / w
    penalty = np.broadcast_to(0.1 / np.sqrt(w), codes.shape)
    used = codes != 0.0
    assert used.any(axis=1).all()
    assert not used.all(axis=1).any()
    np.testing.assert_allclose(gradient[used], -(penalty * np.sign(codes))[used], rtol=1e-6)
    assert (abs(gradient) <= (1.0 + 1e-6) * penalty).all()


def between_classes(X, y) -> np.ndarray:
    """Return matrices on the way from the mean of one class to that of the other."""
    t = np.linspace(0.0, 1.0, 401)
    return np.asarray(geodesic(mean(X[y == 0]), mean(X[y == 1]), t))


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.0, "ridge": 0.3, "rule": "sum"},
        {"alpha": 0.0, "ridge": 0.3, "rule": "residual"},
    ],
)
def test_integer_weights_are_repetitions(options) -> None:
    """Without ‖y‖₁ a weight is a number of repetitions."""
    X, y = wishart_classes(2, 12, n=3)
    counts = np.random.default_rng(0).choice([1, 9], len(X))
    queries = between_classes(X, y)
    repeated = SPDSparseClassifier(beta=1.0, **options).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    options = options | {"ridge": 0.3 / counts.mean()}  # weights have the mean 1
    plain, weighted = (
        SPDSparseClassifier(beta=1.0, **options).fit(X, y, sample_weight=w) for w in (None, counts)
    )
    assert np.count_nonzero(plain.predict(queries) != repeated.predict(queries)) > 0
    np.testing.assert_array_equal(weighted.predict(queries), repeated.predict(queries))


@pytest.mark.slow
def test_a_heavy_class_gets_more_queries() -> None:
    X, y = wishart_classes(2, 12, n=3)
    queries = between_classes(X, y)
    for model in (SPDEnsembleClassifier(), SPDSparseClassifier("stein", 0.5, rule="sum")):
        second = [
            np.mean(model.set_params(class_weight={1: w}).fit(X, y).predict(queries))
            for w in (0.05, 1.0, 20.0)
        ]
        assert second == sorted(second)
        assert second[0] < second[2]


def test_neighbours_vote_with_their_weights() -> None:
    X = np.array([1.0, 2.0, 8.0, 9.0]).reshape(-1, 1, 1)
    model = SPDKNeighborsClassifier(3).fit(X, [0, 0, 1, 1], sample_weight=[1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(model.predict_proba([[[1.5]]]), [[0.4, 0.6]])
    assert model.predict([[[1.5]]]) == 1
    tied = SPDKNeighborsClassifier(3).fit(X, [0, 0, 1, 1], sample_weight=[0.1, 0.2, 0.3, 9.0])
    assert tied.predict([[[1.5]]]) == 0
    with pytest.raises(
        ValueError, match=r"n_neighbors must be between 1 and .*, got 3 for n_samples=2"
    ):
        SPDKNeighborsClassifier(3).fit(X, [0, 0, 1, 1], sample_weight=[0, 1, 0, 1])


def test_given_splits_name_rows_of_all_matrices() -> None:
    X, y = wishart_classes(2, 10, n=3)
    weights = np.where(np.arange(20) % 5 == 0, 0.0, 1.0)
    some = np.flatnonzero(weights)
    splits = [(np.arange(0, 20, 2), np.arange(1, 20, 2)), (np.arange(1, 20, 2), slice(0, 20, 2))]
    given = SPDEnsembleClassifier(cv=splits).fit(X, y, sample_weight=weights)
    even = some % 2 == 0
    own = [(np.flatnonzero(even), np.flatnonzero(~even)), (np.flatnonzero(~even), even)]
    only = SPDEnsembleClassifier(cv=own).fit(X[some], y[some])
    np.testing.assert_array_equal(given.decision_function(X), only.decision_function(X))


@pytest.mark.parametrize(
    "model",
    [SPDEnsembleClassifier(), SPDSparseClassifier(), SPDKNeighborsClassifier(3)],
    ids=["average", "one kernel", "neighbours"],
)
def test_weights_are_stored(tmp_path, labelled, model) -> None:
    X, y = labelled
    model.fit(X, y, sample_weight=np.linspace(0.5, 2.0, len(X)))
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
