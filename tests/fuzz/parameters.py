"""Hostile parameters of every estimator and function: finite numbers, or a clear error and no fit."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from _hostile import HOSTILE
from _matrices import three_classes
from conformance.estimators import ESTIMATORS, outputs, targets
from conformance.functions import CALLS, call, parameters_of
from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from fuzz.matrices import hostile_stack
from spdatoms.exceptions import OutOfRangeError

EXTREME = [0, 1, 2, 3, 7, 10**30, -(10**30), 0.0, 1e-300, 5e-324, 1e-8, 0.5, 1.0, 1e8, 1e300, True]
EXTREME += [False, None, "auto", "random", "kmeans", "clip", "none", *draws.metrics()]


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    return three_classes()


def hostile_parameters(rng: np.random.Generator) -> str:
    """One to three parameters of an estimator are replaced, and it is fitted and asked."""
    X, y = data()
    model: Any = clone(ESTIMATORS[rng.integers(len(ESTIMATORS))])
    y = targets(model, y)
    names = [
        name
        for name in inspect.signature(type(model)).parameters
        if name not in ("checkpoint", "verbose")
    ]
    for name in rng.choice(names, size=int(rng.integers(1, min(4, len(names) + 1))), replace=False):
        values = [*HOSTILE, *EXTREME, X[:3], X[0], -X, np.ones(3)]
        value = values[rng.integers(len(values))]
        if name == "max_iter" and isinstance(value, int):
            value = min(value, 3)
        if name in ("n_init", "batch_iter") and isinstance(value, int):
            value = min(value, 3)
        setattr(model, str(name), value)
    fitted = clearly_refused(lambda: model.fit(X, y))
    if was_refused(fitted):
        expect(not any(name.endswith("_") for name in vars(model)), "it is fitted by half")
        return "refused"
    found = clearly_refused(lambda: outputs(model, X))
    if was_refused(found):
        return "refused"
    for values in found:
        expect(values.dtype.kind != "f" or np.isfinite(values).all(), "a result is not finite")
    return "answered"


@cache
def fitted(number: int) -> tuple[Any, list[np.ndarray]]:
    """Return an estimator, fitted once for all cases, and what it says about its data."""
    X, y = data()
    model: Any = clone(ESTIMATORS[number])
    model.fit(X, targets(model, y))
    return model, outputs(model, X)


def hostile_data(rng: np.random.Generator) -> str:
    """Fit an estimator with hostile matrices and labels, or ask a fitted one about them."""
    X, y = data()
    number = int(rng.integers(len(ESTIMATORS)))
    if rng.random() < 0.5:
        (model, before), queries = fitted(number), hostile_stack(rng)
        result = clearly_refused(lambda: outputs(model, queries))
        for a, b in zip(before, outputs(model, X), strict=True):
            expect(a == b, "a query has changed the estimator")
        if was_refused(result):
            return "refused"
        for values in result:
            expect(values.dtype.kind != "f" or np.isfinite(values).all(), "a result is not finite")
        return "answered"
    model = clone(ESTIMATORS[number])
    y = targets(model, y)
    labels = [y, y[1:], None, np.full(len(y), np.nan), y.astype(object), np.ones(len(y)), "y", {}]
    training = hostile_stack(rng) if rng.random() < 0.7 else X
    result = clearly_refused(lambda: model.fit(training, labels[rng.integers(len(labels))]))
    if was_refused(result):
        expect(not any(name.endswith("_") for name in vars(model)), "it is fitted by half")
        return "refused"
    return "answered"


def hostile_calls(rng: np.random.Generator) -> str:
    """One or two arguments of a public function are replaced."""
    function, arguments = CALLS[rng.integers(len(CALLS))]
    X, _ = data()
    values = [*HOSTILE, *EXTREME, X[:3], X[0], -X, np.ones(3)]
    names = parameters_of(function)
    count = int(rng.integers(1, min(3, len(names) + 1)))
    changed = {
        str(name): values[rng.integers(len(values))]
        for name in rng.choice(names, size=count, replace=False)
        if name not in ("verbose", "name")
    }
    result = clearly_refused(lambda: call(function, arguments | changed))
    if was_refused(result):
        words = "|".join([*names, "do not go together"])
        named = re.search(rf"\b({words})\b", str(result)) is not None
        # That the result would be out of range is no fault of a single argument.
        expect(named or isinstance(result, OutOfRangeError), f"no parameter is named: {result}")
        return "refused"
    return "answered"
