"""scikit-learn: searches, pandas output, pipelines of codes, joblib's back ends."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    cross_val_predict,
    permutation_test_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from _matrices import random_spd
from spdatoms import (
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseCoder,
)


@pytest.fixture(scope="module")
def classes():
    X, y = random_spd(48, 4), np.repeat(["a", "b", "c"], 16)
    X[16:32, 0] *= 2.0
    X[16:32, :, 0] *= 2.0
    X[32:, 1] *= 3.0
    X[32:, :, 1] *= 3.0
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_finds_the_same_with_every_back_end(classes, backend):
    X, y = classes
    grid = {"alpha": [0.01, 0.1], "metric": ["stein", "logeuclid"]}
    serial = GridSearchCV(SPDSparseClassifier(), grid, cv=3).fit(X, y)
    with joblib.parallel_backend(backend, n_jobs=2):
        parallel = GridSearchCV(SPDSparseClassifier(), grid, cv=3).fit(X, y)
    assert serial.best_params_ == parallel.best_params_
    np.testing.assert_array_equal(
        serial.cv_results_["mean_test_score"], parallel.cv_results_["mean_test_score"]
    )


def test_search_over_a_pipeline_of_codes(classes):
    X, y = classes
    pipeline = make_pipeline(
        SPDDictionaryLearning(6, max_iter=2, tol=0.0, random_state=0),
        LogisticRegression(max_iter=500),
    )
    search = GridSearchCV(pipeline, {"spddictionarylearning__n_atoms": [4, 8]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert len(search.best_estimator_[0].atoms_) in {4, 8}


@pytest.mark.parametrize(
    "transformer",
    [
        SPDSparseCoder(),
        SPDDictionaryLearning(5, max_iter=2, tol=0.0, random_state=0),
        SPDKMeans(3, random_state=0),
    ],
    ids=lambda t: type(t).__name__,
)
def test_pandas_output(classes, transformer):
    X, _ = classes
    frame = transformer.set_output(transform="pandas").fit(X[:20]).transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(transformer.get_feature_names_out())
    transformer.set_output(transform="default")
    np.testing.assert_array_equal(frame.to_numpy(), transformer.transform(X))


def test_groups_reach_the_splitter(classes):
    X, y = classes
    groups = np.tile(np.arange(4), 12)
    predicted = cross_val_predict(
        SPDSparseClassifier(), X, y, groups=groups, cv=StratifiedGroupKFold(4)
    )
    assert np.mean(predicted == y) > 0.6


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("int8", "int8"),
        ("Int64", "int64"),
        ("boolean", "bool"),
        ("float", "float"),
        ("str", "O"),
        ("category", "O"),
    ],
)
def test_labels_as_a_pandas_series(classes, dtype, kept):
    X, y = classes
    numeric = dtype not in ("str", "category")
    labels = np.unique(y, return_inverse=True)[1] % 2 if numeric else y
    series = pd.Series(labels, index=np.arange(len(y))[::-1], dtype=dtype)
    classifier = SPDSparseClassifier("stein").fit(X, series)
    predicted = classifier.predict(X)
    assert classifier.classes_.dtype == predicted.dtype == kept
    plain = SPDSparseClassifier("stein").fit(X, labels)
    np.testing.assert_array_equal(predicted, plain.predict(X))


@pytest.mark.slow
def test_meta_estimators(classes):
    X, y = classes
    stack = StackingClassifier(
        [("rsr", SPDSparseClassifier()), ("nn", SPDKNeighborsClassifier())],
        LogisticRegression(),
        cv=2,
    )
    assert stack.fit(X, y).score(X, y) > 0.6
    assert OneVsRestClassifier(SPDSparseClassifier()).fit(X, y).score(X, y) > 0.6
    score, permuted, _ = permutation_test_score(
        SPDSparseClassifier(), X, y, n_permutations=5, cv=3, random_state=0
    )
    assert score > permuted.max()


@pytest.mark.parametrize(
    "model", [SPDSparseClassifier(), SPDSparseClassifier("stein"), SPDKNeighborsClassifier(3)]
)
def test_boosting_weights_matrices(classes, model):
    X, y = classes
    boosted = AdaBoostClassifier(model, n_estimators=3).fit(X[::2], y[::2])
    assert len(boosted.estimators_) >= 1
    assert boosted.score(X[1::2], y[1::2]) > 0.8


def test_weights_are_routed_through_pipelines_and_searches(classes):
    X, y = classes
    weights = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = SPDSparseClassifier("stein").set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        routing = model.get_metadata_routing()
        assert routing.fit.requests == routing.score.requests == {"sample_weight": True}
        search = GridSearchCV(
            make_pipeline(model),
            {"spdsparseclassifier__alpha": [0.01, 0.1]},
            cv=2,
            # Pipelines of scikit-learn 1.6 do not hand weights on to the score of their last step.
            scoring=make_scorer(accuracy_score).set_score_request(sample_weight=True),
        ).fit(X, y, sample_weight=weights)
    kept = search.best_estimator_[-1].atoms_
    np.testing.assert_array_equal(kept, X[weights > 0])
