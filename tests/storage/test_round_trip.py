"""Saved and loaded: the same bits come back."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import spdatoms
from _model_files import LABELS, X, assert_equal, round_trip
from conformance.estimators import ESTIMATORS, assert_same, every_estimator, outputs, targets
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKNeighborsClassifier,
    SPDSparseCoder,
)
from spdatoms.divergences import Burg, Jeffrey

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.slow
@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_the_same_bits(estimator, dtype) -> None:
    matrices = X.astype(dtype)
    model = clone(estimator).fit(matrices, targets(estimator, LABELS))
    again = round_trip(model)
    assert_equal(model, again)
    before, after = outputs(model, matrices), outputs(again, matrices)
    assert_same(before, after)
    assert [a.dtype for a in before] == [a.dtype for a in after]


@pytest.mark.slow
@every_estimator
def test_not_fitted_comes_back_not_fitted(estimator) -> None:
    again = round_trip(clone(estimator))
    assert_equal(again, clone(estimator))
    with pytest.raises(NotFittedError):
        outputs(again, X)
    y = targets(estimator, LABELS)
    assert_same(outputs(again.fit(X, y), X), outputs(clone(estimator).fit(X, y), X))


def public_estimators() -> list[type]:
    homes = [spdatoms]
    for name in ("spdatoms.paper.baselines", "spdatoms.descriptors"):
        homes += [import_module(name)] if find_spec(name) else []
    public = {getattr(home, name) for home in homes for name in home.__all__}
    classes = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    return sorted(classes, key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_public_estimator_can_be_saved(cls) -> None:
    assert_equal(cls(), round_trip(cls()))


def test_no_two_public_estimators_have_the_same_name() -> None:
    names = [cls.__name__ for cls in public_estimators()]
    assert len(names) == len(set(names)) >= len({type(e) for e in ESTIMATORS})


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "metric", [*spdatoms.divergences.divergence_names(), Burg(side="left"), Jeffrey()]
)
def test_every_divergence(metric, dtype) -> None:
    matrices = X.astype(dtype)
    model = SPDKNeighborsClassifier(3, metric).fit(matrices, LABELS)
    again = round_trip(model)
    assert_equal(model, again)
    assert_same(outputs(model, matrices), outputs(again, matrices))
    if metric not in ("burg", "kullback") and not isinstance(metric, Burg):
        kernel = DivergenceKernel(metric).fit(matrices)
        again = round_trip(kernel)
        assert_equal(kernel, again)
        for queries in (matrices * dtype(1.5), X * 1.5):
            np.testing.assert_array_equal(kernel.cross(queries), again.cross(queries))


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
def test_online_learning_goes_on_where_it_was(metric) -> None:
    settings = {"metric": metric, "alpha": 0.05, "random_state": 0, "init": "random"}
    learner = SPDDictionaryLearning(4, **settings).partial_fit(X[:12])
    again = round_trip(learner)
    for batch in (X[12:18], X[18:]):
        learner.partial_fit(batch)
        again.partial_fit(batch)
    np.testing.assert_array_equal(learner.atoms_, again.atoms_)
    np.testing.assert_array_equal(learner.batch_losses_, again.batch_losses_)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(24) % 3,
        (np.arange(24) % 3).astype(np.int8),
        np.arange(24) % 2 == 0,
        (np.arange(24) % 3).astype(float),
        LABELS.astype(object),
        np.array(["Eiche", "Ахорн", "樫"])[np.arange(24) % 3],
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type(labels) -> None:
    model = SPDKNeighborsClassifier(metric="stein").fit(X, labels)
    assert_equal(model.predict(X), round_trip(model).predict(X))


def test_pipelines_with_what_follows_features() -> None:
    for after in (
        [LogisticRegression()],
        [StandardScaler(), PCA(3, svd_solver="full"), LinearSVC(random_state=0)],
        [LinearDiscriminantAnalysis()],
    ):
        model = make_pipeline(SPDSparseCoder(dictionary=X[:5]), *after).fit(X, LABELS)
        again = round_trip(model)
        assert_same([model.predict(X)], [again.predict(X)])
        assert_same([model.decision_function(X)], [again.decision_function(X)])


def test_output_as_a_data_frame_is_remembered() -> None:
    coder = SPDSparseCoder().fit(X).set_output(transform="pandas")
    frame = round_trip(coder).transform(X)
    assert frame.equals(coder.transform(X))
