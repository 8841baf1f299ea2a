"""Memory maps and Dask arrays in every estimator, without a cluster."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import (
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseCoder,
)
from spdatoms.divergences import get_divergence
from spdatoms.scale import Stream, block_budget, is_streamed, open_stream
from spdatoms.scale.parts import part_slices

da = pytest.importorskip("dask.array")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def X():  # noqa: N802
    rng = np.random.default_rng(0)
    scales = np.exp(rng.normal(size=(700, 4)))
    return random_spd(700, 4, seed=1) * scales[:, :, None] * scales[:, None, :]


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    """Small data shall be cut into several parts, too, and into no multiple of the chunks."""
    monkeypatch.setattr("spdatoms.scale.parts._PART_ENTRIES", 1 << 9)


@pytest.fixture
def mapped(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.fixture
def tiny_budget(monkeypatch):
    monkeypatch.setattr("spdatoms.scale.budget.block_bytes", lambda: 8192)
    monkeypatch.setattr("spdatoms.scale.stream.block_bytes", lambda: 8192)
    monkeypatch.setattr("spdatoms.scale.blocks.block_bytes", lambda: 8192)


def chunked(X, rows=130):
    return da.from_array(X, chunks=(rows, *X.shape[1:]))


def learner(**parameters):
    return SPDDictionaryLearning(
        **{"n_atoms": 6, "alpha": 0.1, "max_iter": 3, "tol": 0.0, "random_state": 0, **parameters}
    )


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
@pytest.mark.parametrize("options", [{"init": "random"}, {"block_size": 2}, {"update": "gradient"}])
def test_a_dictionary_from_chunks_is_the_same_to_the_last_bit(X, metric, options) -> None:
    here = learner(metric=metric, **options).fit(X)
    there = learner(metric=metric, **options).fit(chunked(X))
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    np.testing.assert_array_equal(there.objective_, here.objective_)


def test_unused_atoms_are_reseeded_alike(X) -> None:
    init = np.concatenate([X[:4], X[:1] * 1e6, X[:1] * 1e7])
    here, there = (learner(init=init, metric="stein", alpha=0.3).fit(Z) for Z in (X, chunked(X)))
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    assert not np.array_equal(here.atoms_[4], init[4])  # it was replaced: the case was met


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_dictionary_from_a_memory_map(X, tmp_path, tiny_budget, dtype) -> None:
    np.save(tmp_path / "X.npy", X.astype(dtype))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert is_streamed(mapped)
    here, there = (learner(n_jobs=2).fit(Z) for Z in (X.astype(dtype), mapped))
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    assert there.atoms_.dtype == dtype
    codes, rounding = here.transform(X.astype(dtype)), 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(there.transform(mapped), codes, atol=rounding)


@pytest.mark.parametrize("metric", ["riemann", "stein", "jeffrey", "logeuclid", "euclid", "burg"])
def test_clusters_from_chunks(X, metric) -> None:
    weights = np.random.default_rng(3).random(len(X))
    weights[::5] = 0.0
    for w in (None, weights):
        kmeans = {"metric": metric, "max_iter": 6, "random_state": 0}
        here = SPDKMeans(7, **kmeans).fit(X, sample_weight=w)
        there = SPDKMeans(7, **kmeans).fit(chunked(X), sample_weight=w)
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-9)
        np.testing.assert_allclose(there.inertia_history_, here.inertia_history_, rtol=1e-12)
        assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-12)


def test_empty_clusters_are_moved_alike(X) -> None:
    init = np.concatenate([X[:3], X[:1] * 1e8, X[:1] * 1e9])
    runs = [SPDKMeans(5, "stein", init=init, max_iter=40).fit(Z) for Z in (X, chunked(X))]
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)
    assert set(runs[0].labels_) == set(range(5))


@pytest.mark.parametrize("metric", ["riemann", "stein", "jeffrey", "logeuclid", "euclid", "burg"])
def test_steps_of_a_centre_add_up_over_parts(X, metric) -> None:
    divergence, C = get_divergence(metric), X[:20].mean(axis=0)
    weights = np.random.default_rng(1).random(60)
    weights[20:40] = 0.0  # a part without members
    whole = divergence.centre(divergence.prepare(X[:60]), weights, C)
    terms = sum(
        divergence.centre_term(divergence.prepare(X[rows]), weights[rows], C)
        for rows in (slice(0, 20), slice(20, 40), slice(40, 60))
    )
    step = divergence.centre_from_terms(terms, weights.sum(), C)
    np.testing.assert_allclose(step, whole, rtol=1e-9, atol=1e-12 * abs(whole).max())


def fitted_estimators(X):
    y = np.where(X[:, 0, 0] > np.median(X[:, 0, 0]), "large", "small")
    yield SPDSparseCoder().fit(chunked(X[:40], 15))
    yield SPDSparseClassifier().fit(chunked(X[:40], 15), da.from_array(y[:40]))
    yield SPDKNeighborsClassifier(3).fit(X[:40], y[:40])
    yield SPDKMeans(3, random_state=0).fit(X[:40])
    yield learner().fit(X)


def test_what_is_computed_for_chunks_is_lazy_and_the_same(X, tiny_budget, mapped) -> None:
    methods = ("transform", "predict", "predict_proba", "decision_function")
    seen = set()
    for estimator in fitted_estimators(X):
        for name in methods:
            if not hasattr(estimator, name):
                continue
            seen.add(name)
            here = getattr(estimator, name)(X)
            lazy = getattr(estimator, name)(chunked(X))
            assert isinstance(lazy, da.Array)
            assert lazy.shape == here.shape
            assert lazy.dtype == here.dtype
            assert lazy.chunks[0] == chunked(X).chunks[0]
            values = lazy.compute()
            if here.dtype.kind == "f":
                np.testing.assert_allclose(values, here, rtol=1e-9, atol=1e-10)
                np.testing.assert_allclose(
                    getattr(estimator, name)(mapped), here, rtol=1e-9, atol=1e-10
                )
            else:
                np.testing.assert_array_equal(values, here)
                np.testing.assert_array_equal(getattr(estimator, name)(mapped), here)
    assert seen == set(methods)


def test_scores_of_chunks(X) -> None:
    y = np.where(X[:, 0, 0] > np.median(X[:, 0, 0]), 1, 0)
    classifier = SPDKNeighborsClassifier().fit(X[::2], y[::2])
    assert classifier.score(chunked(X), y) == classifier.score(X, y)
    for estimator in (SPDKMeans(3, random_state=0).fit(X), learner().fit(X)):
        assert estimator.score(chunked(X)) == pytest.approx(estimator.score(X), rel=1e-12)


def test_a_lazy_result_is_of_the_estimator_as_it_was(X) -> None:
    kmeans = SPDKMeans(3, random_state=0).fit(X)
    lazy, expected = kmeans.predict(chunked(X)), kmeans.predict(X)
    kmeans.set_params(n_clusters=2).fit(X[:50])
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_an_unfit_matrix_is_named_by_its_place_in_the_whole(X) -> None:
    bad = X.copy()
    bad[[444, 501, 699], 1, 1] = -1.0
    for estimator in (learner(), SPDKMeans(3), SPDSparseCoder()):
        with pytest.raises(
            ValueError, match=r"^X\[444\] is not positive definite.*\(2 more of the 700"
        ):
            estimator.fit(chunked(bad))
    lazy = learner().fit(X).transform(chunked(bad))
    with pytest.raises(ValueError, match=r"^X\[444\] is not.*\(1 more of X\[390:520\] are unfit\)"):
        lazy[390:520].compute()


def test_wrong_shapes_and_types_are_refused_before_anything_is_computed(X) -> None:
    fitted = learner().fit(X)
    for call in (fitted.transform, learner().fit, SPDKMeans(2).fit):
        with pytest.raises(ValueError, match=r"shape \(m, n, n\)"):
            call(chunked(X)[:, 0])
        with pytest.raises(ValueError, match="square"):
            call(chunked(X)[:, :2])
        with pytest.raises(TypeError, match="must hold numbers"):
            call(chunked(X).astype(object))
    with pytest.raises(ValueError, match="those seen in fit are 4×4"):
        fitted.transform(chunked(X)[:, :3, :3])


def test_chunks_may_be_cut_anyhow(X) -> None:
    odd = da.from_array(X, chunks=((1, 300, 399), (2, 2), 4))
    unknown = chunked(X)[chunked(X)[:, 0, 0] > 0]
    here = learner().fit(X)
    for Z in (odd, unknown):
        np.testing.assert_array_equal(learner().fit(Z).atoms_, here.atoms_)
    np.testing.assert_allclose(here.transform(odd).compute(), here.transform(X), atol=1e-10)


def test_a_chunk_may_be_empty(X) -> None:
    known = da.from_array(X, chunks=((50, 0, 650), 4, 4))
    keep = (np.arange(len(X)) < 130) | (np.arange(len(X)) >= 270)
    masked = chunked(X)[da.from_array(keep, chunks=130)]  # nothing is left of the second chunk
    for estimator in fitted_estimators(X):
        for name in ("transform", "predict"):
            if hasattr(estimator, name):
                of = getattr(estimator, name)
                for Z, there in ((known, X), (masked, X[keep])):
                    values, here = of(Z).compute(), of(there)
                    assert values.dtype == here.dtype
                    if name == "predict":
                        np.testing.assert_array_equal(values, here)
                    else:
                        np.testing.assert_allclose(values, here, rtol=1e-9, atol=1e-10)


def test_behind_a_mask_an_unfit_matrix_is_named_by_its_place_in_the_chunk(X) -> None:
    bad = X.copy()
    bad[[444, 501], 1, 1] = np.nan
    keep = np.arange(len(X)) % 2 == 0
    keep[501] = True
    masked = chunked(bad)[da.from_array(keep, chunks=130)]
    for of in (SPDKMeans(3, random_state=0).fit(X).predict, learner().fit(X).transform):
        with pytest.raises(
            ValueError,
            match=r"^X\.blocks\[3\]\[27\] is not finite.*\(1 more of X\.blocks\[3\]\[0:66\] are unfit",
        ):
            of(masked).compute()
    np.testing.assert_array_equal(masked.blocks[3].compute()[27], bad[444])


def test_integers_become_floating_point() -> None:
    X = np.array([[[2, 1], [1, 2]], [[3, 0], [0, 1]], [[5, 1], [1, 1]]])
    np.testing.assert_array_equal(
        learner(n_atoms=2).fit(chunked(X, 2)).atoms_, learner(n_atoms=2).fit(X).atoms_
    )


def test_rows_of_a_stream(X) -> None:
    stream = open_stream(chunked(X))
    assert isinstance(stream, Stream)
    np.testing.assert_array_equal(stream[np.array([400, 3, 3, 131])], X[[400, 3, 3, 131]])
    np.testing.assert_array_equal(stream[::7], X[::7])


def test_a_pass_reads_no_more_than_the_budget(X, tmp_path) -> None:
    stream = open_stream(chunked(X, 50))
    parts = part_slices(len(X), 4, 64)
    spans = stream.passes(parts).spans
    assert [part for span in spans for part in span.parts] == parts
    with (
        pytest.raises(ValueError, match="size must be a number of bytes, at least a million"),
        block_budget(1000),
    ):
        pass
    with block_budget(1_000_000):
        big = np.lib.format.open_memmap(tmp_path / "b.npy", "w+", float, (8000, 8, 8))
        big[:] = np.eye(8)
        mapped = open_stream(big)
        spans = mapped.passes(part_slices(8000, 8, 16)).spans
        assert max(span.rows.stop - span.rows.start for span in spans) * 512 <= 1_000_000


def test_a_checkpoint_serves_data_here_and_there(X, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    whole = learner(max_iter=5).fit(X)
    learner(max_iter=2, checkpoint=path).fit(X)
    resumed = learner(max_iter=4, checkpoint=path).fit(chunked(X))
    assert resumed.n_iter_ == 4
    np.testing.assert_array_equal(learner(max_iter=5, checkpoint=path).fit(X).atoms_, whole.atoms_)
    other = X.copy()
    other[3] *= 1.5
    with pytest.raises(ValueError, match="other data"):
        learner(max_iter=5, checkpoint=path).fit(chunked(other))


_PEAK = """
import sys
import numpy as np
from spdatoms import SPDDictionaryLearning, SPDKMeans

def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) * 1024

def fit(X):
    SPDDictionaryLearning(4, init=X[:4], alpha=0.5, max_iter=1).fit(X).score(X)
    SPDKMeans(2, "stein", init=X[:2], max_iter=1).fit(X)

X = np.load(sys.argv[1], mmap_mode="r")
fit(np.array(X[:50]))
before = peak()
fit(X)
print(peak() - before, X.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak memory")
def test_memory_is_bounded_by_the_budget_not_by_the_data(tmp_path) -> None:
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", float, (64_000, 20, 20))
    few = random_spd(500, 20, seed=2)
    for i in range(0, len(X), 500):
        X[i : i + 500] = few
    X.flush()
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PEAK, str(tmp_path / "X.npy")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    more, size = map(int, output.split())
    assert size == 204_800_000
    assert more < 4.5 * (32 << 20)
