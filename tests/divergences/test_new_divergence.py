"""A divergence of a user's own, ten lines long, does everything that the six of the library do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from _matrices import random_spd
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    class_dictionary,
    load,
    mean,
    pairwise_divergence,
    save,
)
from spdatoms.dictionary.problem import LandmarkProblem
from spdatoms.divergences import Divergence, Stein, get_divergence, register_divergence, registry
from spdatoms.geometry import sqrtm
from spdatoms.storage import StorageError


class RootEuclidean(Divergence):
    """d(X, Y) = ‖X^½ − Y^½‖²_F."""

    name = "root"

    def pairwise(self, X, Y=None, *, n_jobs=None):
        A, B = (sqrtm(Z.matrices) for Z in (X, X if Y is None else Y))
        return ((A[:, None] - B) ** 2).sum(axis=(2, 3))

    def centre(self, Z, weights, current):
        root = np.tensordot(weights, sqrtm(Z.matrices), 1) / weights.sum()
        return root @ root


class PreparedRootEuclidean(RootEuclidean):
    """The same, with roots that are computed once per set."""

    name = "prepared root"

    def prepare(self, X, n_jobs=None):
        prepared = super().prepare(X, n_jobs)
        prepared.roots = sqrtm(X)
        return prepared

    def pairwise(self, X, Y=None, *, n_jobs=None):
        A, B = X.roots, (X if Y is None else Y).roots
        return ((A[:, None] - B) ** 2).sum(axis=(2, 3))


class GradientStein(Stein):
    """The Stein divergence with what moves atoms and centres inherited from `Divergence`."""

    name = "gradient stein"
    gradient = Divergence.gradient
    _parts = Divergence._parts
    _towards_centre = Divergence._towards_centre
    _downhill = Divergence._downhill
    coordinates = Divergence.coordinates
    from_coordinates = Divergence.from_coordinates


class PlainStein(GradientStein):
    """The same without any promise about its kernel."""

    name = "plain stein"
    kernel_is_guaranteed = Divergence.kernel_is_guaranteed


@pytest.fixture(scope="module")
def labelled() -> tuple[np.ndarray, np.ndarray]:
    """Wishart matrices of three classes."""
    rng = np.random.default_rng(0)
    scales = np.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 4.0]])
    y = np.arange(90) % 3
    G = rng.standard_normal((90, 3, 12)) * scales[y][:, :, None]
    return G @ G.swapaxes(1, 2) / 12, y


@pytest.fixture
def registered(monkeypatch) -> type[Divergence]:
    """The class under its name, for the time of a test."""
    monkeypatch.setattr(registry, "_DIVERGENCES", dict(registry._DIVERGENCES))
    return register_divergence(RootEuclidean)


def test_pairs_and_means(labelled):
    X, _ = labelled
    roots = sqrtm(X)
    d = pairwise_divergence(X[:4], X[4:9], metric=RootEuclidean())
    assert_allclose(d[1, 2], np.linalg.norm(roots[1] - roots[6]) ** 2, rtol=1e-12)
    average = roots.mean(axis=0)
    assert_allclose(mean(X, metric=RootEuclidean()), average @ average, rtol=1e-8)


@pytest.mark.parametrize("imaginary", [0.0, 0.1j])
def test_what_is_prepared_is_used(labelled, imaginary):
    """Of complex matrices it is their real forms."""
    X = labelled[0][:9] + imaginary * (np.tri(3).T - np.tri(3))
    y = labelled[1][:9]
    plain, prepared = RootEuclidean(), PreparedRootEuclidean()
    for Y in (None, X[4:]):
        expected = pairwise_divergence(X, Y, plain)
        assert_array_equal(pairwise_divergence(X, Y, prepared, n_jobs=2), expected)
    codes, expected = (
        SPDSparseCoder(metric=metric).fit(X).transform(X) for metric in (prepared, plain)
    )
    assert_array_equal(codes, expected)
    found, expected = (
        SPDSparseClassifier(metric).fit(X, y).predict(X) for metric in (prepared, plain)
    )
    assert_array_equal(found, expected)


@pytest.mark.slow
def test_kernel_codes_and_classes(labelled):
    X, y = labelled
    metric, train, test = RootEuclidean(), slice(None, None, 2), slice(1, None, 2)
    gram = DivergenceKernel(metric).fit(X[train]).gram_
    assert_allclose(gram, gram.T)
    assert SPDSparseCoder(metric=metric).fit(X[train]).transform(X[test]).shape == (45, 45)
    for classifier in (
        SPDSparseClassifier(metric),
        SPDSparseClassifier(metric, n_atoms_per_class=3, random_state=0),
        SPDSparseClassifierCV(metric, alphas=[0.1, 0.01], betas=[0.5, 2.0]),
        SPDKNeighborsClassifier(metric=metric),
    ):
        assert classifier.fit(X[train], y[train]).score(X[test], y[test]) > 0.8


@pytest.mark.slow
def test_clusters_and_dictionaries(labelled):
    X, y = labelled
    metric = RootEuclidean()
    kmeans = SPDKMeans(3, metric, random_state=0).fit(X)
    assert (np.diff(kmeans.inertia_history_) <= 1e-12).all()
    learner = SPDDictionaryLearning(4, metric, alpha=0.05, init=X[:4], max_iter=8, tol=0.0).fit(X)
    assert (np.diff(learner.objective_) <= 1e-9).all()
    assert learner.objective_[-1] < 0.98 * learner.objective_[0]
    learner.partial_fit(X[:20])
    atoms, classes = class_dictionary(X, y, 2, metric=metric, random_state=0)
    assert atoms.shape == (6, 3, 3)
    assert_array_equal(np.unique(classes), [0, 1, 2])


def test_dask_arrays(labelled):
    X, _ = labelled
    dask = pytest.importorskip("dask.array")
    chunked, metric = dask.from_array(X, chunks=(25, 3, 3)), RootEuclidean()
    here = SPDDictionaryLearning(4, metric, alpha=0.05, init=X[:4], max_iter=3, tol=0.0)
    there = SPDDictionaryLearning(4, metric, alpha=0.05, init=X[:4], max_iter=3, tol=0.0)
    assert_array_equal(here.fit(X).atoms_, there.fit(chunked).atoms_)
    assert_allclose(there.transform(chunked).compute(), here.transform(X), rtol=1e-9, atol=1e-12)
    kmeans = [SPDKMeans(3, metric, init=X[:3]).fit(data) for data in (X, chunked)]
    assert_array_equal(kmeans[0].labels_, kmeans[1].labels_)
    assert_allclose(kmeans[0].inertia_, kmeans[1].inertia_, rtol=1e-6)


@pytest.mark.parametrize("as_name", [True, False])
def test_files(labelled, registered, as_name, tmp_path):
    X, y = labelled
    metric = "root" if as_name else registered()
    for i, estimator in enumerate(
        [
            SPDSparseClassifier(metric).fit(X, y),
            SPDKNeighborsClassifier(metric=metric).fit(X, y),
            SPDDictionaryLearning(4, metric, alpha=0.05, random_state=0, max_iter=2).fit(X),
            SPDKMeans(3, metric, random_state=0).fit(X),
        ]
    ):
        save(estimator, tmp_path / f"{i}.spdatoms")
        again = load(tmp_path / f"{i}.spdatoms")
        method = "predict" if hasattr(estimator, "predict") else "transform"
        assert_array_equal(getattr(again, method)(X), getattr(estimator, method)(X))


def test_files_need_the_registered_class(labelled, tmp_path, monkeypatch):
    X, y = labelled
    with pytest.raises(StorageError, match="RootEuclidean, which cannot be saved"):
        save(SPDSparseClassifier(RootEuclidean()).fit(X, y), tmp_path / "model")
    with monkeypatch.context() as patch:
        patch.setattr(registry, "_DIVERGENCES", dict(registry._DIVERGENCES))
        register_divergence(RootEuclidean)
        save(SPDSparseClassifier(RootEuclidean()).fit(X, y), tmp_path / "model")
    with pytest.raises(StorageError, match="register_divergence"):
        load(tmp_path / "model")


def test_registration_refuses_what_is_taken(registered):
    assert register_divergence(registered) is registered  # a second time, as a notebook does

    class Other(RootEuclidean):
        name = "logdet"

    with pytest.raises(ValueError, match="not taken, got 'logdet'"):
        register_divergence(Other)
    Other.name = "stein"
    with pytest.raises(ValueError, match="There is a divergence"):
        register_divergence(Other)
    named_alike = type("Stein", (RootEuclidean,), {"__qualname__": "Stein", "name": "stein"})
    with pytest.raises(ValueError, match="There is a divergence"):
        register_divergence(named_alike)
    assert get_divergence("stein").__class__ is Stein
    with pytest.raises(TypeError, match="subclass"):
        register_divergence(RootEuclidean())


def test_an_unknown_kernel_is_not_guaranteed(labelled):
    X, _ = labelled
    options = {"beta": 3.0, "init": X[:5], "max_iter": 1}
    exact = SPDDictionaryLearning(5, PlainStein(), landmarks=None, **options).fit(X)
    assert exact._problem.margin is not None
    plain = SPDDictionaryLearning(5, PlainStein(), **options).fit(X)
    assert isinstance(plain._problem, LandmarkProblem)
    stein = SPDDictionaryLearning(5, "stein", **options).fit(X)
    assert stein._problem.margin is None


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann", "logeuclid", "euclid", "burg"])
@pytest.mark.parametrize("scale", [1e-12, 1.0])
def test_differences_give_the_gradient(metric, scale):
    divergence = get_divergence(metric)
    X, Y = (scale * random_spd(5, 4, seed=seed) for seed in (2, 3))
    exact = divergence.gradient(X, Y)
    assert_allclose(Divergence.gradient(divergence, X, Y), exact, atol=1e-7 * abs(exact).max())
    one = divergence.gradient(X[0], Y)
    assert_allclose(one[0], exact[0], rtol=1e-12)
    assert_allclose(Divergence.gradient(divergence, X[0], Y), one, atol=1e-7 * abs(one).max())


@pytest.mark.slow
def test_gradient_sums_learn_as_well_as_closed_forms(labelled):
    """Sums of gradients need nothing but the divergence, and end where its own sums do."""
    X, _ = labelled
    options = {"alpha": 0.05, "beta": 1.0, "init": X[:6], "max_iter": 30, "tol": 0.0}
    own = SPDDictionaryLearning(6, "stein", **options).fit(X)
    general = SPDDictionaryLearning(6, GradientStein(), **options).fit(X)
    assert (np.diff(general.objective_) <= 1e-9).all()
    assert general.objective_[-1] < 1.02 * own.objective_[-1]


@pytest.mark.parametrize("metric", ["riemann", "euclid"])
def test_every_symmetric_divergence_learns(labelled, metric):
    X, _ = labelled
    learner = SPDDictionaryLearning(4, metric, alpha=0.05, init=X[:4], max_iter=6, tol=0.0).fit(X)
    assert (np.diff(learner.objective_) <= 1e-9).all()
    assert learner.objective_[-1] < 0.98 * learner.objective_[0]


def test_steps_over_parts_lead_to_the_centre_of_all(labelled):
    """By default steps of parts are averaged in the tangent space: near the step over all data."""
    X, _ = labelled
    divergence, C = GradientStein(), mean(X)
    terms = sum(
        divergence.centre_term(divergence.prepare(part), np.ones(len(part)), C)
        for part in np.split(X, 3)
    )
    step = divergence.centre_from_terms(terms, 90.0, C)
    whole = divergence.centre(divergence.prepare(X), np.ones(90), C)
    assert pairwise_divergence([step], [whole])[0, 0] < 1e-4
