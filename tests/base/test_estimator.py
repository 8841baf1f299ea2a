"""`spdatoms.base`: what a user's own estimator builds on."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError

import spdatoms
from _matrices import random_spd
from spdatoms.base import SPDEstimator, check_labels, check_streamable, per_matrix
from spdatoms.divergences import mean, pairwise_divergence
from spdatoms.scale import Stream, block_budget, is_streamed

da = pytest.importorskip("dask.array")
PER_MATRIX = ("transform", "predict", "predict_proba", "decision_function", "_losses")


class NearestMean(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, SPDEstimator):
    """The class whose mean is nearest; on request the second nearest, and so on."""

    def __init__(self, metric="logeuclid"):
        self.metric = metric

    def fit(self, X, y):
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        members = [X[labels == c] for c in range(len(self.classes_))]
        self.means_ = np.stack([mean(Z, self.metric) for Z in members])
        return self

    @per_matrix
    def transform(self, X, scale=1.0, *, root=False):
        divergences = scale * pairwise_divergence(self.check_queries(X), self.means_, self.metric)
        return np.sqrt(divergences) if root else divergences

    @per_matrix
    def predict(self, X, top=1):
        return self.classes_[np.argsort(self.transform(X), axis=1)[:, top - 1]]

    @property
    def _n_features_out(self):
        return len(self.classes_)


class Numbered(NearestMean):
    """Overrides a method, and calls the one it overrides."""

    @per_matrix
    def transform(self, X, scale=1.0, *, root=False, start=100.0):
        return start + super().transform(X, scale, root=root)


class NumberedWithoutDecorator(NearestMean):
    """As `Numbered`, but what it adds, Dask can do itself."""

    def transform(self, X, scale=1.0, *, root=False, start=100.0):
        return start + super().transform(X, scale, root=root)


@pytest.fixture(scope="module")
def data():
    X = random_spd(20_000, 3, seed=0)
    return X, np.array(["ash", "elm", "oak"])[np.arange(len(X)) % 3]


@pytest.fixture
def mapped(data, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    with block_budget(1_000_000):
        assert is_streamed(X)
        yield X


def chunked(X):
    return da.from_array(X, chunks=(7000, 3, 3))


def calls(model):
    """Yield methods with all kinds of arguments."""
    yield lambda X: model.predict(X)
    yield lambda X: model.predict(X, 2)
    yield lambda X: model.predict(X, top=3)
    yield lambda X: model.predict(X=X, top=3)
    yield lambda X: model.transform(X)
    yield lambda X: model.transform(X, 3.0, root=True)
    yield lambda X: model.transform(X, scale=3.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [NearestMean, Numbered, NumberedWithoutDecorator])
def test_a_users_own_estimator_takes_arrays_memory_maps_and_dask_arrays(kind, data, mapped):
    X, y = data
    model = kind().fit(X[:300], y[:300])
    results = []
    for call in calls(model):
        here, lazy = call(X), call(chunked(X))
        assert type(here) is np.ndarray
        np.testing.assert_array_equal(call(mapped), here)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == (7000, 7000, 6000)
        assert (lazy.shape, lazy.dtype) == (here.shape, here.dtype)
        np.testing.assert_array_equal(lazy.compute(), here)
        results.append(here)
    first, second, third = results[:3]
    assert ((first != second) & (second != third) & (first != third)).all()
    base = 0.0 if kind is NearestMean else 100.0
    divergences = pairwise_divergence(X, model.means_, "logeuclid")
    np.testing.assert_allclose(results[4], base + divergences)
    np.testing.assert_allclose(results[5], base + np.sqrt(3.0 * divergences))
    np.testing.assert_allclose(results[6], base + 3.0 * divergences)


@pytest.mark.slow
def test_an_override_may_have_arguments_of_its_own(data, mapped):
    X, y = data
    plain = NearestMean().fit(X[:300], y[:300])
    for kind in (Numbered, NumberedWithoutDecorator):
        model = kind().fit(X[:300], y[:300])
        for Z in (X, mapped, chunked(X)):
            got = np.asarray(model.transform(Z, 2.0, start=-5.0))
            np.testing.assert_array_equal(got, -5.0 + plain.transform(X, 2.0))


def test_a_lazy_result_travels(data):
    """As it does to the workers of a cluster; ``transform`` is wrapped by scikit-learn, too."""
    cloudpickle = pytest.importorskip("cloudpickle")
    X, y = data
    model = Numbered().fit(X[:300], y[:300])
    for call in calls(model):
        lazy = cloudpickle.loads(cloudpickle.dumps(call(chunked(X[:500]))))
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), call(X[:500]))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X, top=2), model.predict(X, top=2))


def test_wrong_arguments_are_refused_as_python_does(data):
    X, y = data
    model = NearestMean().fit(X[:300], y[:300])
    for Z in (X, chunked(X)):
        with pytest.raises(TypeError, match="bottom"):
            model.predict(Z, bottom=1)
        with pytest.raises(IndexError):
            model.predict(Z, top=4)


def test_only_what_is_decorated_is_wrapped(data):
    class Looker(SPDEstimator):
        def predict(self, X):
            return X

    X = chunked(data[0])
    assert Looker().predict(X) is X


def test_a_decorated_method_keeps_its_name_and_docstring():
    class Documented(SPDEstimator):
        @per_matrix
        def predict(self, X, top=1):
            """Say nothing."""

    assert Documented.predict.__name__ == "predict"
    assert Documented.predict.__doc__ == "Say nothing."


def every_subclass(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from every_subclass(sub)


def wrappers(method):
    while method is not None:
        yield method
        method = getattr(method, "__wrapped__", None)


def test_every_method_of_the_package_with_one_result_per_matrix_is_decorated():
    for module in pkgutil.walk_packages(spdatoms.__path__, "spdatoms."):
        # The bridges to torch and JAX need extras, and have no estimators.
        if not module.name.endswith(("__main__", "interop.torch", "interop.jax")):
            importlib.import_module(module.name)
    code = per_matrix(every_subclass).__code__
    seen = 0
    for cls in every_subclass(SPDEstimator):
        for name in set(PER_MATRIX) & set(vars(cls)):
            if cls.__module__.startswith("spdatoms."):
                decorated = [w.__code__ is code for w in wrappers(vars(cls)[name])]
                assert sum(decorated) == 1, f"{cls.__name__}.{name}"
                seen += 1
    assert seen >= 19


def test_checks_of_matrices(data):
    X, y = data
    model = NearestMean()
    with pytest.raises(NotFittedError):
        model.check_queries(X)
    model.fit(X[:9], y[:9])
    assert model.n_features_in_ == 3
    assert model.check_queries(X[:9].tolist()).shape == (9, 3, 3)
    with pytest.raises(ValueError, match="those seen in fit are 3×3"):
        model.check_queries(random_spd(4, 5))
    with pytest.raises(ValueError, match=r"X\[1\] is not positive definite"):
        model.check_training_matrices([np.eye(2), -np.eye(2)])
    assert not hasattr(clone(model), "n_features_in_")


def test_check_streamable(data, mapped):
    X = data[0]
    assert check_streamable(X) is X
    for Z in (mapped, chunked(X)):
        stream = check_streamable(Z, n_jobs=2)
        assert isinstance(stream, Stream)
        assert stream.shape == X.shape


def test_check_labels():
    classes, indices = check_labels(["b", "a", "b"], 3)
    assert classes.tolist() == ["a", "b"]
    assert indices.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="X holds 4 matrices, but y 3 labels"):
        check_labels(["b", "a", "b"], 4)
    with pytest.raises(ValueError, match="requires y to be passed"):
        check_labels(None, 4)
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match=rf"y\[2\] is missing \({missing!s}\), leave its"):
            check_labels(np.array(["b", "a", missing], dtype=object), 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_that_are_not_finite_are_refused_without_a_warning(dtype):
    with pytest.raises(ValueError, match=r"y\[1\] is missing \(nan\), leave its matrix out"):
        check_labels(np.array([1.0, np.nan, np.inf], dtype), 3)
    with pytest.raises(ValueError, match=r"y\[2\] is infinite \(-inf\), leave its matrix out"):
        check_labels(np.array([1.0, 2.0, -np.inf], dtype), 3)
