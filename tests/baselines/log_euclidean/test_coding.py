"""Log-Euclidean sparse coding, against scikit-learn's Lasso on explicit vectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import Lasso

from _matrices import random_spd
from spdatoms import SPDSparseClassifier
from spdatoms.baselines import (
    LogEuclideanSparseClassifier,
    LogEuclideanSparseCoder,
    kernel_log_euclidean_classifier,
)
from spdatoms.exceptions import ZeroCodeWarning


def unit_logs(X: np.ndarray, scale: float) -> np.ndarray:
    """log(X/c) by SciPy, flattened whole, as unit vectors."""
    logs = np.stack([scipy.linalg.logm(x / scale).real.ravel() for x in X])
    return logs / np.linalg.norm(logs, axis=1, keepdims=True)


def scale_of(D: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(np.linalg.eigvalsh(D)))))


def lasso(v: np.ndarray, D: np.ndarray, alpha: float, positive: bool) -> np.ndarray:
    """Scikit-learn divides the squares by 2p, the library by nothing."""
    model = Lasso(
        alpha / (2 * len(v)), fit_intercept=False, tol=1e-14, max_iter=200_000, positive=positive
    )
    return model.fit(D.T, v).coef_


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_codes_equal_scikit_learns_lasso(rescale, positive, alpha) -> None:
    D, X = random_spd(12, 5, scale=3.0, seed=1), random_spd(8, 5, scale=3.0, seed=2)
    coder = LogEuclideanSparseCoder(D, alpha=alpha, rescale=rescale, positive=positive).fit(D)
    c = scale_of(D) if rescale else 1.0
    atoms, queries = unit_logs(D, c), unit_logs(X, c)
    expected = [lasso(v, atoms, alpha, positive) for v in queries]
    np.testing.assert_allclose(coder.transform(X), expected, atol=1e-7)
    assert np.any(np.asarray(expected) != 0)


@pytest.mark.parametrize("rescale", [False, True])
def test_the_class_with_the_least_residual_wins(rescale) -> None:
    X = np.concatenate([random_spd(15, 4, condition=c, seed=int(c)) for c in (3.0, 30.0, 300.0)])
    y = np.repeat([5, 6, 7], 15)
    model = LogEuclideanSparseClassifier(alpha=0.05, rescale=rescale).fit(X[::2], y[::2])
    c = scale_of(X[::2]) if rescale else 1.0
    atoms, queries = unit_logs(X[::2], c), unit_logs(X[1::2], c)
    residuals = np.empty((len(queries), 3))
    for i, v in enumerate(queries):
        code = lasso(v, atoms, 0.05, positive=False)
        for k, label in enumerate((5, 6, 7)):
            residuals[i, k] = np.sum((v - np.where(y[::2] == label, code, 0.0) @ atoms) ** 2)
    np.testing.assert_allclose(model.decision_function(X[1::2]), 1.0 - residuals, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[1::2]), 5 + residuals.argmin(axis=1))


def test_the_kernel_version_is_the_librarys_own_classifier() -> None:
    model = kernel_log_euclidean_classifier(alpha=0.03, beta=0.2)
    assert type(model) is SPDSparseClassifier
    assert model.get_params()["metric"] == "logeuclid"
    assert (model.alpha, model.beta) == (0.03, 0.2)


def test_a_query_without_a_direction_goes_to_the_nearest_atom() -> None:
    X = np.exp([[1.0, 0.5], [-3.0, -0.5], [1.0, 1.0]])[:, :, None] * np.eye(2)
    model = LogEuclideanSparseClassifier().fit(X, ["a", "b", "a"])
    scale = scale_of(X)
    with pytest.warns(ZeroCodeWarning, match="1 of 1"):
        assert model.predict([scale * np.eye(2)])[0] == "a"


def test_multiples_of_the_identity_have_no_direction() -> None:
    with pytest.raises(ValueError, match="same multiple of the identity"):
        LogEuclideanSparseCoder().fit(3.0 * np.stack([np.eye(3)] * 4))


def test_without_rescaling_the_unit_matters() -> None:
    X = random_spd(10, 3, seed=4)
    coder = LogEuclideanSparseCoder(rescale=False)
    plain = coder.fit(X[2:]).transform(X[:2])
    other = coder.fit(100.0 * X[2:]).transform(100.0 * X[:2])
    assert np.abs(plain - other).max() > 1e-3
