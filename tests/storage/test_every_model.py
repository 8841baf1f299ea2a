"""What can be fitted can be saved, and answers with the same bits once it is loaded: for all estimators and metrics."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from _model_files import round_trip
from conformance.estimators import ONE_OF_EACH, assert_same, outputs, targets
from spdatoms import DivergenceKernel
from spdatoms.divergences.registry import divergence_classes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

#: Options that change what a model consists of, wherever an estimator has them.
OPTIONS: list[dict[str, Any]] = [
    {"whitening": 0.3},
    {"correction": "flip"},
    {"landmarks": 4},
    {"landmarks": 4, "whitening": 0.3},
]
#: What takes less time, wherever an estimator has it.
QUICK = {"n_init": 1, "max_iter": 2, "cv": 2, "n_nonzero": 2, "n_atoms": 3}
MODELS = [*ONE_OF_EACH.values(), DivergenceKernel()]
METRICS = [cls.name for cls in divergence_classes()]


@cache
def matrices(is_complex: bool, condition: float) -> np.ndarray:
    """Return matrices whose units differ, so that some divergences are differences of large numbers."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((9, 2, 2)) + 1j * is_complex * rng.standard_normal((9, 2, 2))
    U = np.linalg.qr(G if is_complex else G.real)[0]
    X = (U * condition ** np.array([-0.5, 0.5])) @ U.conj().swapaxes(1, 2)
    return 0.5 * (X + X.conj().swapaxes(1, 2)) * 10.0 ** rng.uniform(-2, 2, (9, 1, 1))


LABELS = np.array(["ash", "oak", "elm"])[np.arange(9) % 3]


def variants(estimator: BaseEstimator) -> list[BaseEstimator]:
    """Return the estimator, and with each option that it has."""
    known = set(estimator.get_params())
    quick = {name: value for name, value in QUICK.items() if name in known}
    return [
        clone(estimator).set_params(**quick, **options)
        for options in ({}, *OPTIONS)
        if set(options) <= known
    ]


def answers(model: Any, X: np.ndarray) -> list[np.ndarray]:
    return [model.cross(X)] if hasattr(model, "cross") else outputs(model, X)


def check(estimator: BaseEstimator, X: np.ndarray) -> bool:
    """Return whether the estimator can be fitted to these matrices; if so it can be saved and loaded."""
    try:
        model = clone(estimator).fit(X, targets(estimator, LABELS))
    except (ValueError, TypeError, np.linalg.LinAlgError):
        return False  # a divergence that it has no use for, or complex matrices
    assert_same(answers(model, X), answers(round_trip(model), X))
    return True


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "estimator",
    [e for e in MODELS if "metric" in e.get_params()],
    ids=lambda e: type(e).__name__,
)
def test_every_metric(estimator, metric) -> None:
    plain, *optional = (v.set_params(metric=metric) for v in variants(estimator))
    found = [
        check(plain, matrices(c, condition)) for c in (False, True) for condition in (1e2, 1e9)
    ]
    found += [check(variant, matrices(False, 1e9)) for variant in optional]
    assert any(found) or metric in ("burg", "thompson")


@pytest.mark.parametrize(
    "estimator",
    [e for e in MODELS if "metric" not in e.get_params()],
    ids=lambda e: type(e).__name__,
)
def test_estimators_without_a_metric(estimator) -> None:
    plain, *_ = variants(estimator)
    assert check(plain, matrices(False, 1e2))
    check(plain, matrices(False, 1e9))
