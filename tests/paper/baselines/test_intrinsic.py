"""Baselines of the library's own parts, against those parts."""

from __future__ import annotations

import numpy as np
import pytest

from _log_lasso import lasso, scale_of, unit_logs
from _matrices import random_spd
from spdatoms import SPDKMeans, SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseCoder
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.paper import baselines
from spdatoms.paper.baselines import (
    KMeansSparseCoder,
    LogEuclideanSparseClassifier,
    kernel_log_euclidean_classifier,
    riemannian_nearest_neighbour,
)


def test_k_means_dictionary_is_k_means_and_coding() -> None:
    X = random_spd(90, 5)
    model = KMeansSparseCoder(6, alpha=0.05, random_state=3).fit(X)
    centres = SPDKMeans(6, "riemann", random_state=3).fit(X).cluster_centers_
    np.testing.assert_array_equal(model.atoms_, centres)
    coder = SPDSparseCoder(centres, alpha=0.05).fit(X)
    np.testing.assert_array_equal(model.transform(X), coder.transform(X))


def test_nearest_neighbour_is_the_librarys_own() -> None:
    model = riemannian_nearest_neighbour(n_jobs=2)
    assert type(model) is SPDKNeighborsClassifier
    assert model.get_params() == SPDKNeighborsClassifier(1, "riemann", n_jobs=2).get_params()
    X, y = random_spd(20, 3), np.arange(20) % 4
    assert model.fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("name", baselines.__all__)
def test_public_names_are_importable_and_documented(name) -> None:
    thing = getattr(baselines, name)
    assert thing.__name__ == name
    assert thing.__doc__
    assert name in dir(baselines)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = baselines.no_such_name


# --- log-Euclidean sparse classification, against scikit-learn's Lasso on explicit vectors ---------------


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
