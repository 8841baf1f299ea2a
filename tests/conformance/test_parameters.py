"""Every estimator declares its parameters, refuses hostile ones with a clear error, and is never fitted by half."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import spdatoms
from _hostile import HOSTILE
from conformance.estimators import ESTIMATORS, every_estimator, one_line, outputs
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDSparseClassifier,
    descriptors,
)
from spdatoms._utils.parameters import Allowed
from spdatoms.base import check_streamable
from spdatoms.geometry import validation
from spdatoms.paper import baselines

pytestmark = pytest.mark.filterwarnings("ignore")

OTHERS = [
    DivergenceKernel(),
    baselines.Cov3DJClassifier(),
    baselines.PixelSparseClassifier(),
    baselines.GaborSparseClassifier(),
    baselines.TextonClassifier(),
    baselines.MaxPoolingClassifier(),
    *(
        thing()
        for thing in map(descriptors.__dict__.get, descriptors.__all__)
        if inspect.isclass(thing)
    ),
]


#: Methods that check parameters, or let warnings name the estimator.
METHODS = {
    "fit", "partial_fit", "transform", "transform_regions", "transform_certified", "inverse_transform", "predict",
    "predict_proba", "decision_function", "kneighbors", "cross", "complete", "explain", "score", "fit_predict",
}  # fmt: skip


def everyone(kind: Any) -> set[type]:
    """Return all public estimators."""
    homes = (spdatoms, baselines, descriptors)
    things = [getattr(home, name) for home in homes for name in home.__all__]
    return {thing for thing in things if inspect.isclass(thing) and issubclass(thing, kind)}


def test_no_public_estimator_is_left_out() -> None:
    assert everyone(BaseEstimator) == {type(e) for e in [*ESTIMATORS, *OTHERS]}


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *OTHERS], ids=one_line)
def test_all_parameters_are_declared_and_defaults_are_allowed(estimator: Any) -> None:
    assert list(estimator._parameters) == list(inspect.signature(type(estimator)).parameters)
    estimator.check_parameters()
    type(estimator)().check_parameters()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *OTHERS], ids=one_line)
def test_what_a_user_calls_is_decorated(estimator: Any) -> None:
    public = {
        name for name in dir(type(estimator)) if name in METHODS and _is_of_package(estimator, name)
    }
    assert "fit" in public
    for name in public:
        assert hasattr(getattr(type(estimator), name), "__wrapped__"), name


def _is_of_package(estimator: Any, name: str) -> bool:
    return str(getattr(type(estimator), name).__module__).startswith("spdatoms")


def test_parameters_are_checked_once(labelled, monkeypatch) -> None:
    counts: Counter[tuple[Any, str]] = Counter()
    check = Allowed.check

    def counted(self: Allowed, name: str, value: Any) -> None:
        call = inspect.currentframe().f_back  # type: ignore[union-attr]
        counts[call.f_locals.get("function") or type(call.f_locals["self"]), name] += 1  # type: ignore[union-attr]
        check(self, name, value)

    monkeypatch.setattr(Allowed, "check", counted)
    SPDDictionaryLearning(4, max_iter=5, tol=0.0, n_jobs=2, random_state=0).fit(labelled[0])
    declared = {SPDDictionaryLearning, SPDKMeans}  # that one finds the first atoms
    for who in declared:
        assert {name for by, name in counts if by is who} == set(who._parameters) - {"metric"}
    assert {count for (by, _), count in counts.items() if by in declared} == {1}
    assert {by for by, _ in counts} - declared == {check_streamable.__wrapped__}  # type: ignore[attr-defined]


def test_matrices_are_checked_once(labelled, monkeypatch) -> None:
    stacks = []
    inspected = validation._inspected
    monkeypatch.setattr(validation, "_inspected", lambda X: stacks.append(X) or inspected(X))
    X, y = labelled
    SPDSparseClassifier().fit(X, y).predict(X)
    assert len(stacks) == 2
    SPDDictionaryLearning(4, max_iter=5, tol=0.0, random_state=0).fit(X)
    assert (
        len(stacks) == 4
    )  # k-means, which finds the first atoms, is an estimator with a door of its own


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *OTHERS], ids=one_line)
def test_hostile_parameters_are_refused_by_their_name(estimator: Any, labelled: Any) -> None:
    for name, allowed in estimator._parameters.items():
        for value in [*HOSTILE, True, -1, 0.5]:
            model = clone(estimator)
            setattr(model, name, value)  # set_params would compare
            try:
                allowed.check(name, value)
            except ValueError:
                with pytest.raises(ValueError, match=rf"\b{name}\b.*\.$"):
                    model.fit(*labelled)
            if allowed.words[-1] == "an array of matrices" and np.ndim(value) > 0:
                with pytest.raises(ValueError, match=rf"\b{name}\b.*\.$"):
                    model.fit(*labelled)


@pytest.mark.slow
@every_estimator
@pytest.mark.parametrize("fault", ["parameter", "data", "labels", "interrupt"])
def test_a_failed_fit_leaves_nothing_behind(estimator, labelled, fault, monkeypatch) -> None:
    X, y = labelled
    model = clone(estimator).fit(X, y)
    error: type[BaseException] = ValueError
    if fault == "parameter":
        model.set_params(**{next(iter(model.get_params())): object()})
    elif fault == "data":
        X = -X
    elif fault == "labels":
        y = y[1:] if hasattr(model, "classes_") else y
        X = X if hasattr(model, "classes_") else X[:, :, :2]
    else:
        error = KeyboardInterrupt
        monkeypatch.setattr(np.linalg, "eigh", _interrupt)
        monkeypatch.setattr("spdatoms.base.estimator.check_spd", _interrupt)
        monkeypatch.setattr("spdatoms.channels.imputation.check_incomplete", _interrupt)
        monkeypatch.setattr("spdatoms.domains._centre.check_stack", _interrupt)
    with pytest.raises(error):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
    monkeypatch.undo()
    with warnings.catch_warnings(), pytest.raises(NotFittedError):
        outputs(model, labelled[0])


def _interrupt(*args: object, **kwargs: object) -> None:
    raise KeyboardInterrupt


def test_a_failed_partial_fit_changes_nothing(labelled) -> None:
    X, _ = labelled
    model = SPDDictionaryLearning(n_atoms=4, random_state=0, alpha=0.1)
    with pytest.raises(ValueError, match="X"):
        model.partial_fit(-X)
    assert not hasattr(model, "n_features_in_")
    codes = model.partial_fit(X).transform(X)
    for bad in (-X, X[:, :2, :2]):
        with pytest.raises(ValueError, match="X"):
            model.partial_fit(bad)
    with pytest.raises(ValueError, match="batch_iter"):
        model.set_params(batch_iter=0).partial_fit(X)
    np.testing.assert_array_equal(model.transform(X), codes)
    assert len(model.batch_losses_) == 1
