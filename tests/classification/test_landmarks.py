"""The sparse classifier in the span of landmarks: formulas, both ways of coding, streams and files."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import spdatoms
from _matrices import three_classes
from _model_files import round_trip
from spdatoms import SPDNystroem, SPDSparseClassifier, class_dictionary, sparse_code
from spdatoms.classification._atom_choice import spread_over_classes
from spdatoms.scale import block_budget

RULES = ["residual", "sum", "max"]


@pytest.fixture
def by_working_sets(monkeypatch):
    """Code without Gram matrices."""
    monkeypatch.setattr("spdatoms.kernels.landmarks.LARGEST_GRAM", 0)


def features(model, X):
    """φ of matrices by the public transformer with the same landmarks."""
    space = model.kernel_.space
    metric = "stein" if model.metric == "auto" else model.metric
    nystroem = SPDNystroem(metric, model.kernel_.beta_, landmarks=space.landmarks)
    return nystroem.fit(X).transform(X)


def everything(model, X):
    return [model.decision_function(X), model.predict_proba(X), model.predict(X)]


@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
@pytest.mark.parametrize("rule", RULES)
def test_class_scores_follow_their_formulas(labelled, rule, metric) -> None:
    X, y = labelled
    model = SPDSparseClassifier(metric, rule=rule, landmarks=9).fit(X[::2], y[::2])
    P, Q = features(model, X[::2]), features(model, X)
    codes = sparse_code(P @ P.T, Q @ P.T, model.alpha_, check_gram=False)
    expected = np.empty((len(X), 3))
    for i in range(len(X)):
        for c, label in enumerate(model.classes_):
            of_class = model.atom_labels_ == label
            part = codes[i, of_class]
            residual = (Q[i] ** 2).sum() - ((Q[i] - part @ P[of_class]) ** 2).sum()
            expected[i, c] = {"residual": residual, "sum": part.sum(), "max": part.max()}[rule]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-7)
    np.testing.assert_allclose(model.kernel_.features_, P, atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_working_sets_and_gram_matrix_agree(labelled, rule, monkeypatch) -> None:
    X, y = labelled
    model = SPDSparseClassifier(rule=rule, alpha=0.02, landmarks=10)
    expected = everything(model.fit(X[::2], y[::2]), X)
    assert hasattr(model.kernel_, "gram_")
    monkeypatch.setattr("spdatoms.kernels.landmarks.LARGEST_GRAM", 0)
    found = everything(model.fit(X[::2], y[::2]), X)
    assert not hasattr(model.kernel_, "gram_")
    for a, b in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_allclose(
        model.kernel_.cross(X), features(model, X) @ model.kernel_.features_.T
    )


def test_all_training_matrices_as_landmarks_are_nearly_the_kernel_itself(labelled) -> None:
    X, y = labelled
    exact = SPDSparseClassifier(beta=1.0).fit(X[::2], y[::2])
    space = SPDSparseClassifier(beta=1.0, landmarks=1000).fit(X[::2], y[::2])
    assert len(space.kernel_.space.landmarks) == 12
    np.testing.assert_allclose(space.kernel_.cross(X[::2]), exact.kernel_.gram_, atol=2e-3 * len(X))
    np.testing.assert_array_equal(space.predict(X), exact.predict(X))


def test_max_of_a_class_with_negative_codes_only(by_working_sets) -> None:
    """One atom per class: its own code is the maximum, be it negative."""
    X, _ = three_classes()
    model = SPDSparseClassifier(rule="max", alpha=1e-3, landmarks=6).fit(X[:6], np.arange(6))
    P, Q = model.kernel_.features_, features(model, X)
    codes = sparse_code(P @ P.T, Q @ P.T, 1e-3, check_gram=False)
    assert (codes < 0).any()
    np.testing.assert_allclose(model.decision_function(X), codes, atol=1e-6)


@pytest.mark.parametrize("gram", [True, False])
def test_all_zero_codes_fall_back_to_the_nearest_vector(labelled, gram, monkeypatch) -> None:
    if not gram:
        monkeypatch.setattr("spdatoms.kernels.landmarks.LARGEST_GRAM", 0)
    X, y = labelled
    model = SPDSparseClassifier(alpha=10.0, landmarks=12).fit(X[::2], y[::2])
    distances = np.linalg.norm(
        features(model, X[1::2])[:, None] - model.kernel_.features_[None], axis=-1
    )
    with pytest.warns(spdatoms.exceptions.ZeroCodeWarning, match="12 of 12") as caught:
        predicted = model.predict(X[1::2])
    assert len(caught) == 1
    np.testing.assert_array_equal(predicted, y[::2][distances.argmin(axis=1)])
    with pytest.warns(spdatoms.exceptions.ZeroCodeWarning):
        probabilities = model.predict_proba(X[1::2])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], predicted)


def test_landmarks_are_taken_from_every_class_whatever_the_order() -> None:
    for labels in (np.arange(1000) % 10, np.repeat(np.arange(10), 100)):
        chosen = spread_over_classes(labels, 100)
        assert len(set(chosen.tolist())) == 100
        counts = np.bincount(labels[chosen])
        assert counts.min() >= 9
        assert counts.max() <= 11
    np.testing.assert_array_equal(spread_over_classes(np.zeros(5, int), 9), np.arange(5))


def test_given_landmarks(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(landmarks=X[:7]).fit(X[::2], y[::2])
    np.testing.assert_array_equal(model.kernel_.space.landmarks, X[:7])
    again = clone(model).fit(X[::2], y[::2])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.slow
def test_learned_atoms_have_the_parameters_of_the_classifier(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(
        beta=0.7, alpha=0.03, n_atoms_per_class=2, random_state=0, landmarks=X[::3]
    ).fit(X, y)
    atoms, labels = class_dictionary(
        X, y, 2, beta=0.7, alpha=0.03, random_state=0, landmarks=X[::3]
    )
    np.testing.assert_array_equal(model.atoms_, atoms)
    np.testing.assert_array_equal(model.atom_labels_, labels)
    assert (model.kernel_.beta_, model.alpha_) == (0.7, 0.03)
    np.testing.assert_allclose(model.kernel_.features_, features(model, atoms))


def test_automatic_alpha_depends_on_the_landmarks() -> None:
    X, y = three_classes()
    wide = np.exp(np.random.default_rng(0).standard_normal((40, 4)) * 3.0)[:, :, None] * np.eye(4)
    indefinite = SPDSparseClassifier("jeffrey", beta=0.01, landmarks=wide).fit(X, y)
    assert indefinite.kernel_.space.discarded.min() < -1e-6
    assert indefinite.alpha_ == 0.05
    assert SPDSparseClassifier("logeuclid", landmarks=8).fit(X, y).alpha_ == 0.01


@pytest.mark.slow
@pytest.mark.parametrize("gram", [True, False])
def test_streams_give_the_same_bits(tmp_path, gram, monkeypatch) -> None:
    if not gram:
        monkeypatch.setattr("spdatoms.kernels.landmarks.LARGEST_GRAM", 0)
    G = np.random.default_rng(0).standard_normal((3000, 8, 16))
    y = np.arange(3000) % 4
    G[:, 0] *= (1.0 + y)[:, None]
    X = G @ G.swapaxes(1, 2) / 16
    np.save(tmp_path / "X.npy", X)
    in_memory = SPDSparseClassifier(alpha=0.1, landmarks=20).fit(X, y)
    assert in_memory.atoms_ is not None
    expected = in_memory.decision_function(X[:60])
    for streamed, budget in (
        (da.from_array(X, chunks=(700, 8, 8)), 8 << 20),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), 1_000_000),
    ):
        with block_budget(budget):
            model = SPDSparseClassifier(alpha=0.1, landmarks=20).fit(streamed, y)
        assert model.atoms_ is None
        np.testing.assert_array_equal(model.kernel_.features_, in_memory.kernel_.features_)
        np.testing.assert_array_equal(model.decision_function(X[:60]), expected)
        again = round_trip(model)
        assert again.atoms_ is None
        np.testing.assert_array_equal(again.decision_function(X[:60]), expected)
    lazy = model.predict(da.from_array(X[:60], chunks=(25, 8, 8)))
    np.testing.assert_array_equal(lazy.compute(), in_memory.predict(X[:60]))
    bad = X.copy()
    bad[1234] = -np.eye(8)
    with pytest.raises(ValueError, match="1234"):
        SPDSparseClassifier(landmarks=20).fit(da.from_array(bad, chunks=(700, 8, 8)), y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": 0}, "landmarks must be None, an integer ≥ 1 or an array of matrices"),
        ({"landmarks": 2.5}, "landmarks must be"),
        ({"landmarks": "auto"}, "landmarks must be"),
        ({"landmarks": True}, "landmarks must be"),
        ({"landmarks": np.ones((2, 3))}, "landmarks"),
        ({"landmarks": np.eye(3)[None]}, "landmarks holds 3×3 matrices"),
        ({"landmarks": 5, "beta": -1.0}, "beta must be"),
        ({"landmarks": 5, "metric": "burg"}, "not symmetric"),
    ],
)
def test_bad_parameters(labelled, parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        SPDSparseClassifier(**parameters).fit(*labelled)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_no_warning_on_good_data_of_any_scale(labelled, scale) -> None:
    X, y = labelled
    expected = SPDSparseClassifier(landmarks=10).fit(X, y).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SPDSparseClassifier(landmarks=10).fit(scale * X, y)
        np.testing.assert_array_equal(model.predict(scale * X), expected)
