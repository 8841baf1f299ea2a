"""Conformance of every estimator on stacks of matrices to scikit-learn's conventions.

`check_estimator` skips nearly everything for 3-D input, so what it would check is checked here.
"""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import spdatoms
from _matrices import three_classes
from conformance.estimators import (
    ESTIMATORS,
    OF_MATRICES,
    assert_same,
    every_class,
    every_classifier,
    every_estimator,
    every_transformer,
    outputs,
    targets,
)
from spdatoms import (
    MinimumDistanceToMean,
    SPDAlign,
    SPDEnsembleClassifier,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDRecentre,
    SPDSparseClassifierCV,
)
from spdatoms.base import SPDEstimator
from spdatoms.exceptions import OtherUnitsWarning
from spdatoms.paper import baselines

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

M, N = 24, 4  # of the fixture labelled


@cache
def fit_once(estimator: Any) -> Any:
    X, y = three_classes()
    return clone(estimator).fit(X, targets(estimator, y))


@pytest.fixture
def fitted() -> Callable[[Any], Any]:
    """Return a function that gives the fitted copy of an estimator, fitted once for all who only ask it."""
    return fit_once


def test_the_suite_covers_every_public_estimator() -> None:
    things = [getattr(home, name) for home in (spdatoms, baselines) for name in home.__all__]
    public = {
        thing.__name__
        for thing in things
        if inspect.isclass(thing) and issubclass(thing, SPDEstimator)
    }
    assert public == {type(e).__name__ for e in ESTIMATORS}


@every_estimator
def test_parameters_are_stored_as_given_and_can_be_set(estimator) -> None:
    signature = inspect.signature(type(estimator).__init__)
    given = {name: object() for name in list(signature.parameters)[1:]}
    made = type(estimator)(**given)
    assert {name: getattr(made, name) for name in given} == given
    other = clone(estimator).set_params(**estimator.get_params())
    assert repr(other.get_params()) == repr(estimator.get_params())


@pytest.mark.slow
@every_estimator
def test_fit_returns_self_and_changes_no_parameter(estimator, labelled) -> None:
    model = clone(estimator)
    before = repr(model.get_params())
    assert model.fit(*labelled) is model
    assert repr(model.get_params()) == before
    assert model.n_features_in_ == N


@pytest.mark.slow
@every_estimator
def test_fitted_attributes_end_in_an_underscore(estimator, labelled) -> None:
    model = clone(estimator)
    assert not [name for name in vars(model) if name.endswith("_")]
    model.fit(*labelled)
    new = set(vars(model)) - set(vars(clone(estimator)))
    assert new
    assert all(name.endswith("_") or name.startswith("_") for name in new)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@every_class
def test_queries_in_other_units_get_a_warning(estimator, labelled, fitted) -> None:
    """Where answers come of a comparison with matrices of fit. One broken channel is no other unit."""
    X, model = labelled[0], fitted(estimator)
    asked = getattr(model, "predict", None) or (hasattr(model, "atoms_") and model.transform)
    if (
        not asked
        or isinstance(
            estimator, (*OF_MATRICES, MinimumDistanceToMean, SPDKMeans)
        )  # these keep means only
        or type(estimator).__name__ in baselines.__all__
    ):
        return
    broken = X.copy()
    broken[:, 0] *= 1e3
    broken[:, :, 0] *= 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherUnitsWarning)
        asked(broken)
    for factor in (1e-12, 1e6):
        with pytest.warns(OtherUnitsWarning, match="are they in other units"):
            asked(factor * X)


@every_estimator
def test_not_fitted(estimator, labelled) -> None:
    for method in ("transform", "predict", "predict_proba", "decision_function", "score"):
        if hasattr(estimator, method):
            arguments = labelled if method == "score" else labelled[:1]
            with pytest.raises(NotFittedError):
                getattr(clone(estimator), method)(*arguments)


@pytest.mark.slow
@every_estimator
def test_input_is_not_modified(estimator, labelled) -> None:
    X, y = labelled[0].copy(), labelled[1].copy()
    outputs(clone(estimator).fit(X, y), X)
    np.testing.assert_array_equal(X, labelled[0])
    np.testing.assert_array_equal(y, labelled[1])


@pytest.mark.slow
@every_estimator
def test_same_seed_same_result_and_refit_forgets(estimator, fitted, labelled) -> None:
    X, y = labelled
    second = clone(estimator).fit(X[::-1][: M // 2] * 3.0, y[::-1][: M // 2]).fit(X, y)
    assert_same(outputs(fitted(estimator), X), outputs(second, X))


@pytest.mark.slow
@every_estimator
def test_pickle_round_trip(estimator, fitted, labelled) -> None:
    X, _ = labelled
    model = fitted(estimator)
    assert_same(outputs(model, X), outputs(pickle.loads(pickle.dumps(model)), X))


@every_estimator
def test_order_of_queries_does_not_matter(estimator, fitted, labelled) -> None:
    X, _ = labelled
    model = fitted(estimator)
    order = np.random.default_rng(0).permutation(M)
    assert_same([o[order] for o in outputs(model, X)], outputs(model, X[order]), rtol=1e-9)


@every_estimator
def test_one_query_at_a_time(estimator, fitted, labelled) -> None:
    X, _ = labelled
    model = fitted(estimator)
    assert_same([o[3:4] for o in outputs(model, X)], outputs(model, X[3:4]), rtol=1e-9)


@pytest.mark.slow
@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_the_same_to_the_last_bit_in_any_company(estimator, labelled, dtype) -> None:
    X, y = labelled[0].astype(dtype), labelled[1]
    model = clone(estimator).fit(X, y)
    everything = outputs(model, X)
    for k in (1, 2, 5, 11, 23):
        assert_same([found[:k] for found in everything], outputs(model, X[:k]))


@pytest.mark.slow
@every_estimator
def test_number_of_threads_does_not_matter(estimator, labelled) -> None:
    if "n_jobs" not in estimator.get_params():
        pytest.skip("it has one thread")
    X, y = labelled
    one = clone(estimator).set_params(n_jobs=1).fit(X, y)
    two = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert_same(outputs(one, X), outputs(two, X))


@pytest.mark.slow
@every_estimator
@pytest.mark.parametrize("kind", ["list", "fortran", "strided", "read-only", "memmap"])
def test_kinds_of_arrays(estimator, fitted, labelled, kind, tmp_path) -> None:
    X, y = labelled
    if kind == "list":
        other = X.tolist()
    elif kind == "fortran":
        other = np.asfortranarray(X)
    elif kind == "strided":
        other = np.repeat(X, 2, axis=0)[::2]
    elif kind == "read-only":
        other = X.copy()
        other.flags.writeable = False
    else:
        other = np.memmap(tmp_path / "X", dtype=X.dtype, mode="w+", shape=X.shape)
        other[:] = X
    assert_same(outputs(fitted(estimator), X), outputs(clone(estimator).fit(other, y), other))


@pytest.mark.slow
@every_estimator
def test_single_precision(estimator, fitted, labelled) -> None:
    X, y = labelled
    single = outputs(clone(estimator).fit(X.astype(np.float32), y), X.astype(np.float32))
    double = outputs(fitted(estimator), X)
    for a, b in zip(single, double, strict=True):
        assert np.isfinite(a).all() if a.dtype.kind == "f" else (a == b).mean() > 0.9
    if hasattr(estimator, "transform"):
        assert single[0].dtype == np.float32


@pytest.mark.slow
@every_estimator
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(estimator, fitted, labelled, scale) -> None:
    if getattr(estimator, "metric", None) == "euclid":
        pytest.skip("the Euclidean distance is the one that knows the scale")
    X, y = labelled
    plain = outputs(fitted(estimator), X)
    scaled = outputs(clone(estimator).fit(scale * X, y), scale * X)
    if isinstance(estimator, OF_MATRICES) and not isinstance(estimator, SPDRecentre | SPDAlign):
        scaled = [found / scale if found.ndim == 3 else found for found in scaled]
    assert_same(plain, scaled, rtol=1e-6)


@every_estimator
def test_wrong_size_at_predict(estimator, fitted, labelled) -> None:
    X, _ = labelled
    model = fitted(estimator)
    method = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(ValueError, match=r"3×3 matrices, but those seen in fit are 4×4"):
        method(X[:, :3, :3])


@every_estimator
@pytest.mark.parametrize("where", ["fit", "query"])
@pytest.mark.parametrize("fault", ["nan", "indefinite", "asymmetric", "two-dimensional"])
def test_bad_input_is_refused_with_the_index(estimator, fitted, labelled, where, fault) -> None:
    X, y = labelled
    bad = X.copy()
    if fault == "nan":
        bad[5, 0, 0] = np.nan
    elif fault == "indefinite":
        bad[5] = -bad[5]
    elif fault == "asymmetric":
        bad[5, 0, 1] += 1.0
    else:
        bad = bad.reshape(M, -1)
    message = r"\(m, n, n\)" if fault == "two-dimensional" else r"X\[5\]"
    model = fitted(estimator) if where == "query" else clone(estimator)
    with pytest.raises(ValueError, match=message):
        outputs(model, bad) if where == "query" else model.fit(bad, y)


@every_transformer
def test_names_and_number_of_features_out(estimator, labelled) -> None:
    X, y = labelled
    model = clone(estimator).fit(X, y)
    names = model.get_feature_names_out()
    assert len(names) == len(set(names)) == model.transform(X).shape[1]
    assert_same([model.transform(X)], [clone(estimator).fit_transform(X, y)], rtol=1e-9)
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(names)


@every_transformer
def test_pipeline_with_a_euclidean_classifier(estimator, labelled) -> None:
    pipeline = make_pipeline(clone(estimator), LogisticRegression(max_iter=1000))
    assert pipeline.fit(*labelled).score(*labelled) > 0.6


@pytest.mark.slow
@every_classifier
def test_labels_of_any_type(estimator, labelled) -> None:
    X, y = labelled
    codes = np.unique(y, return_inverse=True)[1]
    for labels in (codes, codes + 10, codes.astype(float), y, y.astype(object), list(y)):
        model = clone(estimator).fit(X, labels)
        predicted = model.predict(X)
        assert set(predicted) <= set(labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        assert (predicted == np.asarray(labels)).mean() > 0.7


@every_classifier
def test_probabilities_and_decisions_agree_with_predictions(estimator, labelled) -> None:
    X, y = labelled
    model = clone(estimator).fit(X[::2], y[::2])
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (M, 3)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
        assert scores.shape == (M, 3)
        np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
        np.testing.assert_array_equal(probabilities.argmax(axis=1), scores.argmax(axis=1))


@every_classifier
def test_two_classes_have_one_decision(estimator, labelled) -> None:
    X, y = labelled
    two = np.where(y == "oak", "oak", "other")
    model = clone(estimator).fit(X, two)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
        assert scores.shape == (M,)
        np.testing.assert_array_equal(model.classes_[(scores > 0).astype(int)], model.predict(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@every_classifier
def test_one_class_and_single_members(estimator, labelled) -> None:
    X, y = labelled
    if not isinstance(estimator, SPDSparseClassifierCV):
        with pytest.warns(UserWarning, match="All 4 labels are only: .* knows one class") as given:
            model = clone(estimator).fit(X[:4], ["only"] * 4)
        assert sum("labels" in str(warning.message) for warning in given) == 1
        assert set(model.predict(X)) == {"only"}
    labels = np.array(["lone", *y[1:]])
    model = clone(estimator).fit(X, labels)
    assert "lone" in model.classes_
    if not isinstance(
        estimator, SPDKNeighborsClassifier | SPDSparseClassifierCV | SPDEnsembleClassifier
    ):
        assert model.predict(X[:1])[0] == "lone"


@every_classifier
def test_bad_labels(estimator, labelled) -> None:
    X, y = labelled
    with pytest.raises(ValueError, match="24 matrices, but y 23 labels"):
        clone(estimator).fit(X, y[1:])
    with pytest.raises(ValueError, match="continuous"):
        clone(estimator).fit(X, np.linspace(0.0, 1.0, M))
    with pytest.raises(ValueError, match="y"):
        clone(estimator).fit(X, None)


@pytest.mark.slow
@every_classifier
def test_cross_validation_and_grid_search(estimator, labelled) -> None:
    X, y = labelled
    scores = cross_val_score(clone(estimator), X, y, cv=StratifiedKFold(3))
    assert scores.shape == (3,)
    assert scores.mean() > 0.5
    metrics = ["stein", "logeuclid"]
    choices = {"n_neighbors": [1, 3], "metric": metrics, "metrics": metrics, "alpha": [0.1, 0.01]}
    name = next(name for name in choices if name in estimator.get_params())
    values = choices[name]
    search = GridSearchCV(clone(estimator), {name: values}, cv=3).fit(X, y)
    assert search.best_params_[name] in values
    assert search.predict(X).shape == (M,)


@pytest.mark.slow
@every_classifier
def test_pipeline_after_pyriemann(estimator) -> None:
    covariances = pytest.importorskip("pyriemann.estimation").Covariances
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    signals = rng.standard_normal((30, N, 64))
    signals[y == 1, 0] *= 4.0
    pipeline = make_pipeline(covariances("oas"), clone(estimator))
    assert cross_val_score(pipeline, signals, y, cv=3).mean() > 0.9
