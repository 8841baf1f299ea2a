"""Weights of samples and classes mean the same in every estimator that takes them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from conformance.estimators import (
    ESTIMATORS,
    ONE_OF_EACH,
    assert_same,
    one_line,
    outputs,
    targets,
)
from spdatoms import (
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDEnsembleRegressor,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseRegressor,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

WEIGHTED = [
    e
    for e in ESTIMATORS
    if "sample_weight" in inspect.signature(e.fit).parameters
    and not (e.get_params().get("landmarks") and e.get_params().get("n_atoms_per_class"))  # slow
]
CLASSIFIERS = [e for e in WEIGHTED if is_classifier(e)]
every_weighted = pytest.mark.parametrize("estimator", WEIGHTED, ids=one_line)
every_weighted_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=one_line)
by_class_weight = pytest.mark.parametrize(
    "estimator", [e for e in CLASSIFIERS if "class_weight" in e.get_params()], ids=one_line
)


def fitted(estimator, X, y, **weights):
    return clone(estimator).fit(X, y, **weights)


@pytest.mark.slow
@every_weighted
def test_a_matrix_of_weight_zero_is_not_there(estimator, labelled) -> None:
    X, y = labelled
    some = np.arange(len(X)) % 4 != 2
    left_out = fitted(estimator, X, y, sample_weight=np.where(some, 0.3, 0.0))
    assert_same(outputs(left_out, X), outputs(fitted(estimator, X[some], y[some]), X))


#: How often each matrix occurs, and the mean of that.
TIMES = 1 + np.arange(24) % 3
MEAN = float(TIMES.mean())
#: Parameters under which a weight of 2 is a matrix that occurs twice: with weights, and with repeated matrices. Weights
#: have the mean 1 where they divide a penalty, and a neighbour is one whatever its weight.
_RIDGE: dict[str, Any] = {"alpha": 0.0, "beta": 1.0, "metric": "stein"}
REPEATING: dict[type, tuple[dict[str, Any], dict[str, Any]]] = {
    SPDKMeans: ({}, {}),
    MinimumDistanceToMean: ({}, {}),
    SPDKNeighborsClassifier: ({"n_neighbors": 24}, {"n_neighbors": int(TIMES.sum())}),
    SPDKNeighborsRegressor: ({"n_neighbors": 24}, {"n_neighbors": int(TIMES.sum())}),
    SPDDictionaryLearning: ({"beta": 1.0, "alpha": 0.05}, {"beta": 1.0, "alpha": 0.05}),
    SPDSparseClassifier: ({**_RIDGE, "ridge": 0.1 / MEAN}, {**_RIDGE, "ridge": 0.1}),
    SPDSparseRegressor: ({**_RIDGE, "ridge": 0.1 / MEAN}, {**_RIDGE, "ridge": 0.1}),
}
#: Atoms with the penalties α/√w_j or, in a pursuit, with √w_j times their correlations: of a matrix that is there
#: twice only the heavier one is used. (Cross-validation, whose folds change with the matrices, has its own tests.)
_WITH_FOLDS = (SPDSparseClassifierCV, SPDEnsembleClassifier, SPDEnsembleRegressor)
LIGHTER = [e for e in WEIGHTED if type(e) not in (*REPEATING, *_WITH_FOLDS)]


@pytest.mark.parametrize("estimator", [ONE_OF_EACH[kind] for kind in REPEATING], ids=one_line)
def test_a_matrix_of_weight_two_is_there_twice(estimator, labelled) -> None:
    X, y = labelled[0], targets(estimator, labelled[1])
    once, repeated = (clone(estimator).set_params(**p) for p in REPEATING[type(estimator)])
    if isinstance(estimator, SPDDictionaryLearning):  # nothing is drawn
        once.init = repeated.init = X[:5]
    once.fit(X, y, sample_weight=TIMES)
    repeated.fit(np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES))
    assert_same(outputs(once, X), outputs(repeated, X), rtol=1e-7)


@pytest.mark.parametrize("estimator", LIGHTER, ids=one_line)
def test_of_a_matrix_that_is_there_twice_the_heavier_one_is_used(estimator, labelled) -> None:
    X, y = labelled
    assert "√w" in f"{type(estimator).__doc__}{type(estimator).fit.__doc__}"
    fixed = {"beta": 1.0, "rescale": False}  # not chosen by the data
    known = estimator.get_params()
    estimator = clone(estimator).set_params(**{k: v for k, v in fixed.items() if k in known})
    weights = np.where(np.arange(24) < 3, 4.0, 1.0)
    alone = fitted(estimator, X, y, sample_weight=weights)
    mean = weights.mean()  # that of all weights is the unit, and stays
    both = fitted(
        estimator,
        np.concatenate([X, X[:3]]),
        np.concatenate([y, y[:3]]),
        sample_weight=np.append(weights, 3 * [mean]),
    )
    first, second = alone.decision_function(X[3:]), both.decision_function(X[3:])
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-6 * abs(first).max())


def test_weights_of_classes_mean_nothing_to_one_neighbour(labelled) -> None:
    X, y = labelled
    weighted = SPDKNeighborsClassifier(class_weight={"oak": 100.0})
    with pytest.warns(UserWarning, match="class_weight changes nothing with n_neighbors=1"):
        weighted.fit(X, y)
    assert_same(outputs(weighted, X), outputs(SPDKNeighborsClassifier().fit(X, y), X))


@pytest.mark.slow
@every_weighted
def test_only_ratios_of_weights_count(estimator, labelled) -> None:
    X, y = labelled
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
    first, second = (fitted(estimator, X, y, sample_weight=c * weights) for c in (1.0, 2.0**-900))
    assert_same(outputs(first, X), outputs(second, X), rtol=1e-9)


@every_weighted
def test_the_words_of_bad_weights(estimator, labelled) -> None:
    X, y = labelled
    for bad, words in (
        (np.ones(3), r"sample_weight must have the shape \(24,\), got \(3,\)"),
        (-np.ones(24), "sample_weight must be finite, not negative, and not zero everywhere"),
        (np.zeros(24), "not zero everywhere"),
        (np.full(24, np.nan), "sample_weight must be finite"),
        (["heavy"] * 24, "sample_weight must be an array of real numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted(estimator, X, y, sample_weight=bad)


@every_weighted_classifier
def test_a_class_without_weight_is_named(estimator, labelled) -> None:
    X, y = labelled
    with pytest.raises(ValueError, match="All weights of the class elm are zero: leave the class"):
        fitted(estimator, X, y, sample_weight=y != "elm")


@pytest.mark.slow
@by_class_weight
def test_weights_of_classes_are_weights_of_their_matrices(estimator, labelled) -> None:
    X, y = labelled[0][:-5], labelled[1][:-5]
    estimator = clone(estimator).set_params(class_weight={"oak": 3.0, "elm": 0.5})
    by_class = np.select([y == "oak", y == "elm"], [3.0, 0.5], 1.0)
    own = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
    plain = clone(estimator).set_params(class_weight=None)
    assert_same(
        outputs(fitted(estimator, X, y, sample_weight=own), X),
        outputs(fitted(plain, X, y, sample_weight=own * by_class), X),
        rtol=1e-9,
    )
    balanced = fitted(estimator.set_params(class_weight="balanced"), X, y, sample_weight=own)
    totals = np.array([own[y == label].sum() for label in y])
    assert_same(
        outputs(balanced, X), outputs(fitted(plain, X, y, sample_weight=own / totals), X), rtol=1e-9
    )


@by_class_weight
def test_the_words_of_bad_weights_of_classes(estimator, labelled) -> None:
    for bad, words in (
        ({"beech": 2.0}, "class_weight names 'beech', which is no label of y: the labels are"),
        ({"oak": -1.0}, "class_weight must be None, 'balanced' or a dict of numbers ≥ 0 by class"),
        ("equal", "class_weight must be None, 'balanced' or a dict"),
        ({"oak": 0.0}, "All weights of the class oak are zero"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted(clone(estimator).set_params(class_weight=bad), *labelled)
