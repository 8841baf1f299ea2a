"""The peers of the sparse classifiers, against direct computations and pyRiemann."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf, ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from _matrices import random_spd, wishart_classes
from spdatoms import DivergenceKernel, mean, pairwise_divergence
from spdatoms.geometry import invsqrtm, logm
from spdatoms.paper.experiments import Setting
from spdatoms.paper.methods.chosen_parameters import FewFolds, KernelSVM, PrecomputedSVM
from spdatoms.paper.methods.peers import compared_classifiers
from spdatoms.paper.methods.tangent_vectors import (
    FilteredMeans,
    TangentDiscriminant,
    TangentVectors,
    shrunk_covariance,
)

pytest.importorskip("pyriemann", reason="peers are pyRiemann's")
from pyriemann.tangentspace import TangentSpace

DATA = wishart_classes(3, 12, n=3)


@pytest.mark.parametrize("count", [4, 20])  # fewer matrices than the six dimensions, and more
def test_tangent_vectors_keep_distances(count):
    X = random_spd(count, 3, scale=1e-12)
    vectors = TangentVectors().fit(X)
    W = invsqrtm(mean(X, metric="riemann"))
    logs = logm(W @ X @ W).reshape(count, -1)
    expected = np.linalg.norm(logs[:, None] - logs, axis=-1)
    found = vectors.transform(X)
    assert found.shape[1] == min(count - 1, 6)
    distances = vectors.scale_ * np.linalg.norm(found[:, None] - found, axis=-1)
    np.testing.assert_allclose(distances, expected, atol=1e-5 * expected.max())
    assert np.mean((found**2).sum(axis=1)) == pytest.approx(1.0)


@pytest.mark.parametrize("dimension", [4, 9])
def test_shrinkage_is_that_of_the_whole_space(dimension):
    vectors = np.random.default_rng(0).standard_normal((7, 4)) * [1.0, 2.0, 3.0, 4.0]
    padded = np.pad(vectors, ((0, 0), (0, dimension - 4)))
    expected = ledoit_wolf(padded, assume_centered=True)[0]
    np.testing.assert_allclose(shrunk_covariance(vectors, dimension), expected[:4, :4], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Convergence not reached")  # of pyRiemann's mean
@pytest.mark.parametrize("count", [5, 12])  # fewer matrices than dimensions, and more
def test_discriminants_are_the_rule_of_bayes(count):
    X, y = wishart_classes(3, count, n=5 if count == 5 else 3)
    vectors = TangentSpace().fit(X).transform(X)
    means = [vectors[y == c].mean(axis=0) for c in range(3)]
    residuals = [vectors[y == c] - means[c] for c in range(3)]
    S = ledoit_wolf(np.concatenate(residuals), assume_centered=True)[0]
    logs = [multivariate_normal(m, S).logpdf(vectors) for m in means]
    model = TangentDiscriminant().fit(X, y)
    expected = softmax(np.stack(logs, axis=1), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
    usual = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=LedoitWolf())
    found = TangentDiscriminant(pooled=False).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, usual.fit(vectors, y).predict_proba(vectors), atol=1e-4)


def test_discriminant_of_single_matrices_is_the_nearest_one():
    X = random_spd(6, 3)
    model = TangentDiscriminant().fit(X[:3], list("abc"))
    vectors = model.tangent_.transform(X)
    nearest = ((vectors[:, None] - vectors[:3]) ** 2).sum(axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), np.array(list("abc"))[nearest])


def test_filtered_means_are_those_of_pyriemann():
    from pyriemann.classification import FgMDM

    X, y = DATA
    ours, theirs = FilteredMeans().fit(X[::2], y[::2]), FgMDM().fit(X[::2], y[::2])
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict_proba(X).shape == (len(X), 3)


def test_folds_are_no_more_than_the_smallest_class_has_members():
    assert [FewFolds().get_n_splits(y=[0] * 9 + [1] * k) for k in (1, 2, 4, 9)] == [2, 2, 4, 5]
    ((train, test),) = FewFolds().split("ab", ["a", "b"])
    assert train.tolist() == test.tolist() == [0, 1]
    y = np.arange(12) % 3
    tests = [test for _, test in FewFolds().split(y, y)]
    assert sorted(np.concatenate(tests)) == list(range(12))
    assert repr(FewFolds()) == "FewFolds()"


@pytest.mark.parametrize("metric", ["stein", "tangent"])
def test_kernel_svm_is_that_of_its_choice(metric):
    X, y = DATA
    model = KernelSVM(metric, beta_factors=(1.0, 0.1)).fit(X[::2], y[::2])
    if metric == "stein":
        d = pairwise_divergence(X, X[::2])
    else:
        vectors = TangentVectors().fit(X[::2]).transform(X)
        d = ((vectors[:, None] - vectors[::2]) ** 2).sum(axis=-1)
    K = np.exp(-model.beta_ * d)
    direct = SVC(kernel="precomputed", **model.search_.best_params_).fit(K[::2], y[::2])
    np.testing.assert_array_equal(model.predict(X), direct.predict(K))
    median = np.median(d[::2][np.triu_indices(len(d[::2]), 1)])
    assert model.beta_ * median == pytest.approx(1.0, rel=1e-9) or (
        model.beta_ * median == pytest.approx(0.1, rel=1e-9)
    )


def test_precomputed_svm():
    X, y = DATA
    model = PrecomputedSVM("stein").fit(X[::2], y[::2])
    kernel = DivergenceKernel("stein").fit(X[::2])
    direct = SVC(kernel="precomputed", **model.search_.best_params_).fit(kernel.gram_, y[::2])
    np.testing.assert_array_equal(model.predict(X), direct.predict(kernel.cross(X)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("name", compared_classifiers())
def test_every_classifier_learns(name):
    X, y = DATA
    model = compared_classifiers()[name].make(Setting(seed=0))
    assert np.mean(model.fit(X[::2], y[::2]).predict(X[1::2]) == y[1::2]) > 0.5
    # A ledger compares what it was made with: no addresses of objects.
    assert " at 0x" not in repr(model)


def test_without_pyriemann(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyriemann.tangentspace", None)
    with pytest.raises(ImportError, match="pip install pyriemann"):
        TangentVectors().fit(DATA[0])
