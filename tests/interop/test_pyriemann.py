"""pyRiemann: its names and shapes, its pipelines, its estimators with our divergences in them."""

from __future__ import annotations

import pickle

import numpy as np
import pyriemann.geometry.distance
import pyriemann.geometry.kernel
import pyriemann.geometry.mean
import pytest
from pyriemann.artifact_detection import Potato
from pyriemann.classification import MDM, FgMDM, KNearestNeighbor
from pyriemann.clustering import Kmeans, MeanShift
from pyriemann.datasets import make_gaussian_blobs
from pyriemann.estimation import Covariances, Shrinkage
from pyriemann.preprocessing import Whitening
from pyriemann.tangentspace import TangentSpace
from pyriemann.transfer import TLClassifier, encode_domains
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from _matrices import random_spd
from spdatoms import (
    DivergenceKernel,
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    mean,
    pairwise_divergence,
)
from spdatoms.interop import pyriemann_metric
from spdatoms.paper import baselines

#: pyRiemann's name of a metric, ours, and our value as a function of its distance.
NAMES = {
    "riemann": ("riemann", np.square),
    "logeuclid": ("logeuclid", np.square),
    "euclid": ("euclid", np.square),
    "logdet": ("stein", np.square),
    "kullback_sym": ("jeffrey", lambda d: d),
    "kullback": ("burg", lambda d: 2.0 * d),
}


@pytest.fixture(scope="module")
def blobs():
    return make_gaussian_blobs(
        n_matrices=40, n_dim=4, class_sep=2.0, class_disp=0.6, n_jobs=1, random_state=0
    )


@pytest.mark.parametrize("name", NAMES)
def test_names_and_values(name):
    X, Y = random_spd(12, 5, seed=0), random_spd(7, 5, seed=1)
    theirs = pyriemann.geometry.distance.pairwise_distance(X, Y, metric=name)
    ours, value = NAMES[name]
    values = pairwise_divergence(X, Y, metric=name)
    np.testing.assert_allclose(values, pairwise_divergence(X, Y, metric=ours))
    np.testing.assert_allclose(values, value(theirs), rtol=1e-9)


@pytest.mark.parametrize("name", ["riemann", "logeuclid", "euclid", "logdet", "kullback_sym"])
def test_means(name):
    X = random_spd(20, 5, seed=2)
    weights = np.random.default_rng(3).uniform(0.1, 1.0, len(X))
    options = {"tol": 1e-12, "maxiter": 500} if name in {"riemann", "logdet"} else {}
    theirs = pyriemann.geometry.mean.gmean(X, metric=name, sample_weight=weights, **options)
    np.testing.assert_allclose(mean(X, metric=name, sample_weight=weights), theirs, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stein", "jeffrey", "riemann", "logeuclid"])
def test_mdm_with_our_metric(blobs, name):
    X, y = blobs
    theirs = {"stein": "logdet", "jeffrey": "kullback_sym"}.get(name, name)
    ours = MDM(metric=pyriemann_metric(name)).fit(X[::2], y[::2])
    peer = MDM(metric=theirs).fit(X[::2], y[::2])
    # Its fixed point for "logdet" stops at a change of 1e-4.
    np.testing.assert_allclose(ours.covmeans_, peer.covmeans_, rtol=0, atol=1e-3 * np.abs(X).max())
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.slow
def test_other_estimators_of_pyriemann_take_our_metric(blobs):
    X, y = blobs
    metric = pyriemann_metric("stein")
    labels = Kmeans(2, metric=metric, random_state=1, n_jobs=1).fit(X).labels_
    agreement = np.mean(labels == (y == y[0]))
    assert max(agreement, 1 - agreement) > 0.9
    neighbours = KNearestNeighbor(3, metric=metric).fit(X[::2], y[::2])
    ours = SPDKNeighborsClassifier(n_neighbors=3, metric="stein").fit(X[::2], y[::2])
    np.testing.assert_array_equal(neighbours.predict(X[1::2]), ours.predict(X[1::2]))


@pytest.mark.parametrize("name", ["riemann", "stein", "jeffrey", "logeuclid"])
def test_potato_learns_online_with_our_metric(blobs, name):
    """It calls the mean in the place of a geodesic."""
    X, _ = blobs
    theirs = {"stein": "logdet", "jeffrey": "kullback_sym"}.get(name, name)
    ours, peer = (Potato(metric=metric).fit(X[:20]) for metric in (pyriemann_metric(name), theirs))
    ours.partial_fit(X[20:], alpha=0.3)
    if name in {"riemann", "logeuclid"}:  # there the mean of two matrices is on the geodesic
        peer.partial_fit(X[20:], alpha=0.3)
        np.testing.assert_allclose(ours.covmean_, peer.covmean_, rtol=1e-5)
    assert np.isfinite(ours.transform(X)).all()


@pytest.mark.parametrize("name", ["riemann", "stein", "euclid"])
def test_tangent_spaces_and_modes_with_our_metric(blobs, name):
    X, y = blobs
    metric = pyriemann_metric(name)
    vectors = TangentSpace(metric=metric).fit_transform(X)
    assert vectors.shape == (len(X), 10)
    if name != "stein":
        peer = TangentSpace(metric=name).fit_transform(X)
        np.testing.assert_allclose(vectors, peer, rtol=1e-6, atol=1e-6)
    assert MeanShift(metric=metric, n_jobs=1).fit(X[:8]).modes_.shape[1:] == (4, 4)
    if name != "euclid":  # it filters tangent vectors, and a Euclidean one may then leave the cone
        assert FgMDM(metric=metric).fit(X, y).predict(X).shape == y.shape


def test_distance_of_two_matrices_and_of_batches():
    X = random_spd(6, 3, seed=4)
    distance = pyriemann_metric("riemann")["distance"]
    whole = distance(X.reshape(2, 3, 3, 3), X[0])
    assert whole.shape == (2, 3)
    single = distance(X[1], X[0])
    assert np.ndim(single) == 0
    assert single == pytest.approx(whole[0, 1])
    assert distance(X[1], X[0], squared=True) == pytest.approx(single**2)


def test_metric_can_be_sent_to_other_processes():
    metric = pickle.loads(pickle.dumps(pyriemann_metric("jeffrey")))
    X = random_spd(4, 3, seed=5)
    np.testing.assert_array_equal(metric["mean"](X), mean(X, metric="jeffrey"))


def test_our_metric_refuses_what_pyriemann_lets_pass():
    X = random_spd(3, 3, seed=6)
    X[1] = np.diag([1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="1"):
        pyriemann_metric("stein")["distance"](X, np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logdet", "kullback_sym"])
@pytest.mark.parametrize(
    "estimator", [SPDSparseClassifier(), SPDKNeighborsClassifier()], ids=lambda e: type(e).__name__
)
def test_one_pipeline_from_signals_to_classes(estimator, name):
    rng = np.random.default_rng(7)
    signals = rng.standard_normal((60, 6, 120))
    y = np.repeat(["left", "right"], 30)
    signals[30:, :2] *= 1.6
    pipeline = make_pipeline(
        Covariances("lwf"), Shrinkage(0.01), Whitening("riemann"), estimator.set_params(metric=name)
    )
    assert cross_val_score(pipeline, signals, y, cv=3).mean() > 0.9


def test_kernel_is_that_of_pyriemann():
    """Its kernels are inner products of logs; ours of logs is a function of these alone."""
    X = random_spd(9, 4, seed=8)
    identity = np.eye(4)
    inner = pyriemann.geometry.kernel.kernel_logeuclid(X, Cref=identity)
    squared = np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
    kernel = DivergenceKernel("logeuclid", beta=0.3).fit(X)
    np.testing.assert_allclose(kernel.gram_, np.exp(-0.3 * squared), rtol=1e-10)


def test_transformers_take_what_covariances_gives():
    signals = np.random.default_rng(9).standard_normal((30, 4, 60))
    X = Covariances().fit_transform(signals)
    assert SPDSparseCoder().fit(X[:10]).transform(X).shape == (30, 10)
    learner = SPDDictionaryLearning(5, max_iter=2, tol=0.0, random_state=0)
    assert learner.fit(X).transform(X).shape == (30, 5)
    assert SPDKMeans(3, random_state=0).fit_transform(X).shape == (30, 3)


@pytest.mark.parametrize(
    "model",
    [
        SPDSparseClassifier(),
        SPDSparseClassifier("stein"),
        SPDSparseClassifierCV("stein", alphas=[0.1], betas=[1.0], cv=2),
        SPDKNeighborsClassifier(3),
        baselines.KernelPursuitClassifier(),
        baselines.LogEuclideanSparseClassifier(),
        MinimumDistanceToMean(),
        baselines.RiemannianSparseClassifier(),
        baselines.TensorSparseClassifier(),
    ],
    ids=repr,
)
def test_transfer_learning_passes_weights_of_domains_on(blobs, model):
    """A target of weight zero is not trained on."""
    X, y = blobs
    domains = np.array(["source", "target"])[np.arange(len(X)) % 2]
    transfer = TLClassifier("target", clone(model), domain_weight={"source": 1.0, "target": 0.0})
    transfer.fit(*encode_domains(X, y, domains))
    source = domains == "source"
    alone = clone(model).fit(X[source], y[source].astype(str))
    np.testing.assert_array_equal(transfer.predict_proba(X), alone.predict_proba(X))
