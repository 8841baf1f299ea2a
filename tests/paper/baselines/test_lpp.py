"""Locality preserving projections, against the generalised eigenvalue problem as it is printed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from _matrices import random_spd
from spdatoms.paper.baselines import RiemannianLPP


def two_kinds(m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    G = np.random.default_rng(0).standard_normal((m, 4, 20))
    G[::2, 0] *= 2.5
    return G @ G.swapaxes(1, 2), np.arange(m) % 2


def graph_by_hand(K: np.ndarray, y: np.ndarray, graph: str, k: int) -> np.ndarray:
    W = np.eye(len(K)) if graph == "supervised" else np.diag(np.diag(K))
    for i in range(len(K)):
        others = [j for j in range(len(K)) if j != i]
        if graph == "supervised":
            joined = [j for j in others if y[j] == y[i]]
        else:
            joined = sorted(others, key=lambda j: -K[i, j])[:k]
        for j in joined:
            W[i, j] = W[j, i] = 1.0 if graph == "supervised" else K[i, j]
    return W


@pytest.mark.parametrize("graph", ["supervised", "neighbours"])
@pytest.mark.parametrize("ridge", [0.01, 0.3])
@pytest.mark.parametrize("metric", ["stein", "logeuclid"])
def test_it_solves_the_eigenvalue_problem(graph, ridge, metric) -> None:
    X, y = two_kinds()
    model = RiemannianLPP(5, graph=graph, n_neighbors=3, ridge=ridge, metric=metric, beta=2.0).fit(
        X, y
    )
    K = model.kernel_.gram_
    W = graph_by_hand(K, y, graph, 3)
    degrees = np.diag(W.sum(axis=1))
    left = K @ (degrees - W) @ K + ridge * degrees.diagonal().mean() * K
    values, vectors = scipy.linalg.eigh(left, K @ degrees @ K)
    np.testing.assert_allclose(model.eigenvalues_, values[:5], rtol=1e-6)
    signs = np.sign(np.sum(vectors[:, :5] * model.coefficients_, axis=0))
    projections = K @ vectors[:, :5] * signs
    np.testing.assert_allclose(model.transform(X), projections, atol=1e-6)


def test_projections_are_orthonormal_under_the_degrees() -> None:
    X, y = two_kinds()
    model = RiemannianLPP(6, ridge=0.1).fit(X, y)
    f = model.transform(X)
    degrees = graph_by_hand(model.kernel_.gram_, y, "supervised", 0).sum(axis=1)
    np.testing.assert_allclose((f.T * degrees) @ f, np.eye(6), atol=1e-8)


def test_duplicates_make_the_gram_singular_and_do_no_harm() -> None:
    X, y = two_kinds()
    model = RiemannianLPP(500).fit(np.concatenate([X, X]), np.concatenate([y, y]))
    assert model.transform(X).shape == (40, 40)
    assert np.isfinite(model.transform(X)).all()


def test_number_of_components() -> None:
    X, y = two_kinds()
    assert RiemannianLPP().fit(X, y).transform(X).shape == (40, 2)
    assert RiemannianLPP(graph="neighbours").fit(X).transform(X).shape == (40, 4)


@pytest.mark.parametrize("graph", ["supervised", "neighbours"])
def test_nearest_neighbour_after_projection(graph) -> None:
    X, y = two_kinds(120)
    model = make_pipeline(RiemannianLPP(graph=graph), KNeighborsClassifier(1))
    assert model.fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "y is missing: graph='supervised'"),
        ({"n_components": 0}, "n_components must be None or an integer ≥ 1"),
        ({"graph": "full"}, "graph must be 'supervised' or 'neighbours'"),
        ({"graph": "neighbours", "n_neighbors": 10}, "n_neighbors must be less than"),
        ({"graph": "neighbours", "ridge": -1.0}, "ridge must be"),
        ({"graph": "neighbours", "metric": "burg"}, "not symmetric"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        RiemannianLPP(**parameters).fit(random_spd(10, 3))
