"""Arrays of other libraries: every function and estimator takes them, and returns such arrays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from _foreign import Foreign, values_of
from conformance.estimators import every_class
from conformance.functions import CALLS, call
from spdatoms import DivergenceKernel, SPDKMeans, SPDKNeighborsClassifier, SPDSparseCoder, check_spd

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
#: What returns arrays, of arguments that are arrays. Checks return NumPy's.
FUNCTIONS = [
    (function, arguments)
    for function, arguments in CALLS
    if not function.__name__.startswith("check_")
    and any(isinstance(a, np.ndarray) for a in arguments.values())
    and isinstance(call(function, arguments), np.ndarray)
]


@pytest.mark.parametrize(
    ("function", "arguments"), FUNCTIONS, ids=lambda a: getattr(a, "__name__", "")
)
def test_functions(function, arguments) -> None:
    foreign = {k: Foreign(a) if isinstance(a, np.ndarray) else a for k, a in arguments.items()}
    result = function(**foreign)
    np.testing.assert_array_equal(values_of(result), function(**arguments))
    assert result.device == "shelf"


@pytest.mark.slow
@every_class
def test_estimators(estimator, labelled) -> None:
    X, y = labelled
    numbers = np.unique(y, return_inverse=True)[1]
    plain = clone(estimator).fit(X, numbers)
    fitted = clone(estimator).fit(Foreign(X), Foreign(numbers))
    for method in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(plain, method):
            result = getattr(fitted, method)(Foreign(X[:7], "desk"))
            np.testing.assert_array_equal(values_of(result), getattr(plain, method)(X[:7]))
            assert result.device == "desk"
    if hasattr(plain, "score"):
        assert fitted.score(Foreign(X), Foreign(numbers)) == plain.score(X, numbers)
    if is_classifier(estimator):
        assert type(fitted.classes_) is np.ndarray
        assert clone(estimator).fit(Foreign(X), y).predict(Foreign(X[:7])).dtype == y.dtype


def test_what_else_is_asked(labelled) -> None:
    X, y = labelled
    assert type(check_spd(Foreign(X))) is np.ndarray
    kernel = DivergenceKernel().fit(Foreign(X))
    np.testing.assert_array_equal(values_of(kernel.cross(Foreign(X[:3]))), kernel.cross(X[:3]))
    kmeans = SPDKMeans(2, random_state=0)
    np.testing.assert_array_equal(values_of(kmeans.fit_predict(Foreign(X))), kmeans.fit_predict(X))
    neighbours = SPDKNeighborsClassifier(3).fit(X, y)
    for found, expected in zip(
        neighbours.kneighbors(Foreign(X)), neighbours.kneighbors(X), strict=True
    ):
        np.testing.assert_array_equal(values_of(found), expected)
    coder = SPDSparseCoder(Foreign(X[:5])).fit(X)
    np.testing.assert_array_equal(coder.atoms_, X[:5])
