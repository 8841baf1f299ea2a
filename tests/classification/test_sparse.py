"""Sparse classification: scores by their formulas, codes of zeros, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import spdatoms
from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseCoder
from spdatoms.classification.scores import ClassRule


@pytest.mark.parametrize("rule", ["residual", "sum", "max"])
def test_class_scores_follow_their_formulas(labelled, rule) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein", rule=rule).fit(X[::2], y[::2])
    codes = SPDSparseCoder(X[::2], beta=model.kernel_.beta_, alpha=model.alpha_).fit(X).transform(X)
    K, k = model.kernel_.gram_, model.kernel_.cross(X)
    expected = np.empty((len(X), 3))
    for i in range(len(X)):
        for c, label in enumerate(model.classes_):
            part = np.where(model.atom_labels_ == label, codes[i], 0.0)
            expected[i, c] = {
                "residual": 2 * part @ k[i] - part @ K @ part,
                "sum": part.sum(),
                "max": codes[i][model.atom_labels_ == label].max(),
            }[rule]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_residuals_of_sparse_and_of_dense_codes_among_each_other() -> None:
    """Codes from no non-zeros to all, over atoms of classes in any order, one of them without atoms."""
    rng = np.random.default_rng(0)
    N, labels = 37, rng.permutation(np.arange(37) % 5 + 1)
    gram = np.cov(rng.standard_normal((N, 50)))
    cross = rng.standard_normal((40, N))
    codes = rng.standard_normal((40, N)) * (rng.random((40, N)) < np.linspace(0, 1, 40)[:, None])
    rule = ClassRule("residual", labels, 6)
    scores = rule.scores(codes, gram, cross)
    within = labels == np.arange(6)[:, None]
    parts = codes[:, None] * within
    expected = 2 * np.einsum("icj,ij->ic", parts, cross) - np.einsum(
        "icj,jk,ick->ic", parts, gram, parts
    )
    np.testing.assert_allclose(scores[:, 1:], expected[:, 1:], rtol=1e-10, atol=1e-12)
    assert (scores[:, 0] == -np.inf).all()
    for i in (0, 5, 20, 39):
        alone = rule.scores(codes[i : i + 1], gram, cross[i : i + 1])
        np.testing.assert_array_equal(alone[0], scores[i])


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
def test_scores_of_all_zero_codes_are_finite_at_every_beta(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein", beta=1e308).fit(X, y)
    assert np.isfinite(model.decision_function(4.0 * X)).all()


def test_all_zero_codes_fall_back_to_the_nearest_atom(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(beta=1e6).fit(X[::2], y[::2])
    nearest = SPDKNeighborsClassifier(metric="stein").fit(X[::2], y[::2])
    with pytest.warns(spdatoms.exceptions.ZeroCodeWarning, match="12 of 12") as caught:
        predicted = model.predict(X[1::2])
    assert len(caught) == 1
    np.testing.assert_array_equal(predicted, nearest.predict(X[1::2]))
    with pytest.warns(spdatoms.exceptions.ZeroCodeWarning):
        probabilities = model.predict_proba(X[1::2])
    assert np.isfinite(probabilities).all()
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], predicted)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": -1.0}, "beta must be"),
        ({"beta": "big"}, "beta must be"),
        ({"alpha": -0.1}, "alpha must be"),
        ({"alpha": "small"}, "alpha must be"),
        ({"metric": "stien"}, "metric must be one of"),
        ({"metric": "burg"}, "not symmetric"),
        ({"correction": "hope"}, "correction must be 'clip', 'flip'"),
        ({"rule": "vote"}, "rule must be 'residual', 'sum' or 'max'"),
    ],
)
def test_bad_parameters(labelled, parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        SPDSparseClassifier(**parameters).fit(*labelled)


def test_no_warning_on_good_data(labelled) -> None:
    X, y = labelled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SPDSparseClassifier().fit(X, y).predict(X)
