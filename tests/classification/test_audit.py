"""Labels that the other training matrices contradict."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from _matrices import wishart_classes
from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier, suspect_labels
from spdatoms.classification.audit import suspects_of, wrong_label

pytestmark = pytest.mark.slow


def flipped(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices, true labels, labels of which one in ten is wrong, and which these are."""
    X, y = wishart_classes(3, 40)
    rng = np.random.default_rng(seed)
    wrong = np.zeros(len(y), bool)
    wrong[rng.choice(len(y), len(y) // 10, replace=False)] = True
    return X, y, np.where(wrong, (y + rng.integers(1, 3, len(y))) % 3, y), wrong


@pytest.mark.parametrize("max_atoms", [1500, 60])
def test_wrong_labels_come_first_with_the_right_suggestion(max_atoms) -> None:
    X, y, given, wrong = flipped()
    found = suspect_labels(X, given, estimator=SPDEnsembleClassifier(max_atoms=max_atoms))
    assert sorted(found.indices) == list(range(len(X)))
    assert (np.diff(found.probabilities) <= 0).all()
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()
    scores = np.empty(len(X))
    scores[found.indices] = found.probabilities
    assert average_precision_score(wrong, scores) > 0.9
    np.testing.assert_array_equal(found.labels, given[found.indices])
    first = found.indices[: wrong.sum()]
    assert np.mean(found.suggestions[: wrong.sum()] == y[first]) > 0.85
    assert set(found.above(0.5)) <= set(first) | set(found.indices[: 2 * wrong.sum()])


def test_probabilities_are_of_models_without_the_matrix() -> None:
    """Fold by fold with a splitter: each matrix is judged by an ensemble of the others alone."""
    X, _, given, _ = flipped()
    halves = [
        (np.arange(0, 120, 2), np.arange(1, 120, 2)),
        (np.arange(1, 120, 2), np.arange(0, 120, 2)),
    ]
    model = SPDEnsembleClassifier(cv=halves).fit(X, given)
    train, test = halves[0]
    alone = SPDEnsembleClassifier(cv=3).fit(X[train], given[train])
    agree = model.left_out_probabilities_[test].argmax(1) == alone.predict_proba(X[test]).argmax(1)
    assert agree.mean() > 0.9


def test_without_matrices_only_the_atoms_are_judged() -> None:
    X, _, given, _ = flipped()
    model = SPDEnsembleClassifier(max_atoms=60).fit(X, given)
    before = model.left_out_probabilities_.copy()
    some, every = suspects_of(model, None, given), suspects_of(model, X, given)
    np.testing.assert_array_equal(np.sort(some.indices), model.atom_indices_)
    np.testing.assert_array_equal(some.labels, given[some.indices])
    among = np.isin(every.indices, some.indices)
    np.testing.assert_array_equal(every.indices[among], some.indices)  # the same order
    np.testing.assert_array_equal(every.suggestions[among], some.suggestions)
    np.testing.assert_array_equal(model.left_out_probabilities_, before)


def test_words() -> None:
    X, y, given, _ = flipped()
    text = str(suspect_labels(X, given))
    assert text.startswith("#")
    assert "probably" in text
    assert str(suspect_labels(X, np.repeat([0, 1], 60))).count("\n") <= 9
    with pytest.raises((TypeError, ValueError), match="estimator must be"):
        suspect_labels(X, y, estimator=SPDSparseClassifier())


def test_a_class_of_one_matrix_is_not_suspected() -> None:
    X, y = wishart_classes(2, 10)
    y = np.append(y, 2)
    X = np.concatenate([X, 50.0 * np.eye(X.shape[-1])[None]])
    assert suspect_labels(X, y).probabilities.max() < 0.9


def test_labels_that_are_right_are_not_suspected() -> None:
    """Where classes can hardly be told apart, no matrix has a probable label, and that is no reason to doubt it."""
    X, y = wishart_classes(4, 40)
    alike = np.random.default_rng(0).permutation(y)
    for labels in (y, alike):
        found = suspect_labels(X, labels)
        assert len(found.above(0.5)) <= 0.1 * len(y)
    assert suspect_labels(X, y).noise < 0.05


def test_the_probability_that_a_label_is_wrong_is_that_of_the_model_of_noise() -> None:
    """By Bayes' rule from the probabilities of the true classes."""
    rng = np.random.default_rng(0)
    noise, true = 0.2, rng.dirichlet(np.ones(4), 50)
    confusion = np.full((4, 4), noise / 3) + (1 - noise - noise / 3) * np.eye(4)
    given = true @ confusion  # of the label that was given
    joint = true * np.diag(confusion)
    np.testing.assert_allclose(wrong_label(given, noise, 4), 1.0 - joint / given)
    assert wrong_label(np.array([0.0, 0.01, 1.0]), noise, 4).tolist() == [1.0, 1.0, 0.0]
    np.testing.assert_allclose(wrong_label(np.array([0.25]), noise, 4), noise)


def test_one_class_has_no_wrong_labels() -> None:
    X, _ = wishart_classes(2, 5)
    with pytest.warns(UserWarning, match="one class"):
        found = suspect_labels(X, np.zeros(len(X), int))
    assert found.noise == 0.0
    assert found.probabilities.max() == 0.0
