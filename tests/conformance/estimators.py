"""The estimators that the conformance suite goes through, and what they say about matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from spdatoms import (
    BrokenChannels,
    LogEuclideanSparseCoder,
    MinimumDistanceToMean,
    SPDAlign,
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDEnsembleRegressor,
    SPDImputer,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDNovelty,
    SPDNystroem,
    SPDRange,
    SPDRecentre,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    SPDSparseRegressor,
)
from spdatoms.paper import baselines

ESTIMATORS = [
    SPDSparseCoder(),
    SPDSparseCoder(metric="jeffrey", correction="shift", positive=True),
    SPDSparseClassifier(),
    SPDSparseClassifier(metric="jeffrey", rule="sum"),
    SPDSparseClassifier(n_atoms_per_class=2, random_state=0),
    SPDSparseClassifier(landmarks=8),
    SPDSparseClassifier(robust=True),
    SPDSparseClassifier("jeffrey", alpha=0.3, n_atoms_per_class=3, random_state=1, landmarks=12),
    SPDSparseClassifier("stein", whitening=0.3, ridge=0.1),
    SPDSparseClassifier("jeffrey", landmarks=12, whitening=0.3),
    SPDSparseClassifierCV("stein", alphas=[0.1], ridges=[0.1], cv=2),
    SPDSparseClassifierCV("stein", alphas=[0.1, 0.01], betas=[0.5, 2.0], cv="loo"),
    SPDEnsembleClassifier(),
    SPDEnsembleClassifier("cv", "jeffrey", max_atoms=12),
    SPDKNeighborsClassifier(n_neighbors=3),
    SPDKNeighborsRegressor(n_neighbors=3, weights="distance"),
    SPDSparseRegressor(ridge=0.1),
    SPDEnsembleRegressor(),
    SPDEnsembleRegressor("jeffrey", cv=3, max_atoms=12),
    SPDNystroem(n_landmarks=8, random_state=0),
    SPDNystroem("jeffrey", landmarks="random", n_landmarks=12, random_state=0),
    SPDKMeans(n_clusters=3, n_init=1, random_state=0),
    SPDNovelty(),
    SPDNovelty(4, alpha=0.1, false_alarms=0.1, random_state=0),
    SPDRange(),
    SPDRecentre(),
    SPDAlign(),
    SPDRecentre("logeuclid", scale=True, forgetting=0.9),
    BrokenChannels(),
    SPDImputer(n_neighbors=3),
    SPDDictionaryLearning(n_atoms=5, max_iter=3, init="random", random_state=0, tol=0.0),
    LogEuclideanSparseCoder(),
    baselines.LogEuclideanSparseClassifier(),
    baselines.LogEuclideanKSVD(n_atoms=6, n_nonzero=2, max_iter=5, random_state=0),
    baselines.LogEuclideanKSVD(n_atoms=6, update="approximate", alpha=0.1, random_state=0),
    baselines.FrobeniusSparseCoder(),
    baselines.FrobeniusDictionaryLearning(n_atoms=6, max_iter=3, random_state=0),
    baselines.KernelPursuitCoder(n_nonzero=3),
    baselines.KernelPursuitClassifier("jeffrey", n_nonzero=3),
    baselines.RiemannianLPP(),
    baselines.RiemannianLPP(graph="neighbours", n_neighbors=3),
    baselines.KMeansSparseCoder(n_atoms=6, random_state=0),
    MinimumDistanceToMean(),
    baselines.TensorSparseCoder(),
    baselines.TensorSparseClassifier(),
    baselines.TensorDictionaryLearning(n_atoms=4, max_iter=2, random_state=0),
    baselines.RiemannianSparseCoder(),
    baselines.RiemannianSparseClassifier(),
    baselines.RiemannianDictionaryLearning(n_atoms=4, max_iter=2, random_state=0),
]

#: One estimator of each class, with parameters for which it is quick. Shares of votes cannot tell how ties
#: are broken, so there is one neighbour only.
ONE_OF_EACH = {type(estimator): estimator for estimator in reversed(ESTIMATORS)} | {
    SPDKNeighborsClassifier: SPDKNeighborsClassifier(),
    SPDSparseClassifier: SPDSparseClassifier(beta=1.0, alpha=0.1),
    SPDSparseClassifierCV: SPDSparseClassifierCV("stein", alphas=[0.1], betas=[1.0], cv=2),
    baselines.RiemannianDictionaryLearning: baselines.RiemannianDictionaryLearning(
        2, max_iter=1, random_state=0
    ),
    baselines.RiemannianSparseClassifier: baselines.RiemannianSparseClassifier(alpha=10.0),
}

#: Those that make matrices of matrices have no features.
OF_MATRICES = (BrokenChannels, SPDImputer, SPDRange, SPDRecentre, SPDAlign)
TRANSFORMERS = [
    e for e in ESTIMATORS if hasattr(type(e), "transform") and not isinstance(e, OF_MATRICES)
]
CLASSIFIERS = [e for e in ESTIMATORS if is_classifier(e)]


def one_line(estimator: BaseEstimator) -> str:
    """Return what the test is called after."""
    return " ".join(repr(estimator).split())


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=one_line)
every_class = pytest.mark.parametrize("estimator", ONE_OF_EACH.values(), ids=one_line)
every_transformer = pytest.mark.parametrize("estimator", TRANSFORMERS, ids=one_line)
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=one_line)


def targets(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Return labels as the estimator takes them: a regressor takes numbers."""
    return np.unique(y, return_inverse=True)[1] / 2.0 if is_regressor(estimator) else y


def outputs(estimator: Any, X: np.ndarray) -> list[np.ndarray]:
    """Return everything the fitted estimator says about X."""
    methods = ("transform", "predict", "predict_proba", "decision_function", "score_samples")
    return [np.asarray(getattr(estimator, m)(X)) for m in methods if hasattr(estimator, m)]


def assert_same(first: list[np.ndarray], second: list[np.ndarray], rtol: float = 0.0) -> None:
    """Compare outputs: labels exactly, numbers to the relative tolerance."""
    assert len(first) == len(second) > 0
    for a, b in zip(first, second, strict=True):
        if a.dtype.kind == "f" and rtol:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, abs(a).max()))
        else:
            np.testing.assert_array_equal(a, b)
