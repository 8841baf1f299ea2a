"""Campaigns draw from the registries: nothing that is registered is out of their reach."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from _divergence_oracles import DEFINITIONS, value
from conformance.estimators import ESTIMATORS
from conformance.functions import CALLS, OTHERS, public_calls
from conformance.layouts import LAYOUTS
from fuzz import draws, estimators, formulas, matrix_functions
from spdatoms import geometry
from spdatoms.divergences.registry import divergence_classes

pytestmark = pytest.mark.slow

#: Estimators that no definition confirms number by number: laws and other tests are about them.
BY_LAWS_ONLY = {
    "BrokenChannels",
    "SPDImputer",
    "SPDAlign",
    "SPDNovelty",
    "SPDRecentre",
    "SPDSparseClassifierCV",
    "SPDEnsembleClassifier",
    "SPDEnsembleRegressor",
    "LogEuclideanSparseClassifier",
    "LogEuclideanKSVD",
    "FrobeniusDictionaryLearning",
    "KernelPursuitClassifier",
    "RiemannianLPP",
    "KMeansSparseCoder",
    "TensorSparseClassifier",
    "TensorDictionaryLearning",
    "RiemannianSparseCoder",
    "RiemannianSparseClassifier",
    "RiemannianDictionaryLearning",
}
#: Confirmed in campaigns of their own.
ELSEWHERE = {"SPDNystroem", "SPDRange", "FrobeniusSparseCoder", "TensorSparseCoder"}


def drawn(draw, count: int = 5000) -> list:
    rng = np.random.default_rng(0)
    return [draw(rng) for _ in range(count)]


def test_every_divergence_is_drawn_and_has_its_definitions() -> None:
    own = {c.name for c in divergence_classes() if c.__module__.startswith("spdatoms.")}
    assert set(drawn(lambda rng: draws.pick(rng, draws.metrics()), 500)) == own <= set(DEFINITIONS)
    assert set(formulas.PULLS) == {name for name in own if draws.has_mean(name)}


def test_every_type_and_layout_is_drawn() -> None:
    kinds = {kind.name for kind in drawn(draws.dtype, 100)}
    assert kinds == {"float32", "float64", "complex64", "complex128"}
    needed = {"Fortran order", "strided", "reversed", "transposed", "part of larger", "read-only"}
    assert needed <= set(LAYOUTS)


def test_every_estimator_is_drawn_with_every_metric_that_it_takes() -> None:
    found = {(type(model), getattr(model, "metric", None)) for model in drawn(draws.estimator)}
    assert {cls for cls, _ in found} == {type(model) for model in ESTIMATORS}
    for cls in {type(model) for model in ESTIMATORS}:
        if "metric" in inspect.signature(cls).parameters:
            allowed = {m for m in draws.metrics() if draws._allows(cls._parameters["metric"], m)}
            assert allowed <= {metric for own, metric in found if own is cls}


def test_every_estimator_has_an_oracle_or_is_known_to_have_none() -> None:
    confirmed = {cls.__name__ for classes in estimators.CONFIRMED.values() for cls in classes}
    assert confirmed | ELSEWHERE | BY_LAWS_ONLY == {type(model).__name__ for model in ESTIMATORS}
    assert not (confirmed | ELSEWHERE) & BY_LAWS_ONLY


def test_every_public_function_is_called() -> None:
    assert {function.__qualname__ for function, _ in CALLS} == public_calls() - OTHERS
    assert set(matrix_functions.CONFIRMED) == set(geometry.__all__)


@pytest.mark.parametrize("metric", draws.metrics())
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_formulas_are_right_to_ten_digits(metric, kind) -> None:
    rng = np.random.default_rng(0)
    X, Y = (draws.spd(rng, 6, 3, 1e4, kind) for _ in range(2))
    found = np.diagonal(formulas.divergences(metric, X, Y))
    expected = [value(metric, A, B) for A, B in zip(X, Y, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
