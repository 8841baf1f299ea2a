"""Learning in the span of landmarks: the same from memory, memory maps and Dask arrays, and in batches."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, class_dictionary
from spdatoms.dictionary import _samples
from spdatoms.scale import block_budget
from spdatoms.scale.passes import StreamPasses

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")


@pytest.fixture(scope="module", name="X")
def matrices() -> np.ndarray:
    return wishart_classes(12, 60)[0]


def learner(X: np.ndarray, metric: str = "jeffrey", **options) -> SPDDictionaryLearning:
    common = {"alpha": 0.05, "init": X[:10], "max_iter": 4, "tol": 0.0, "landmarks": 80}
    return SPDDictionaryLearning(10, metric, **{**common, **options})


@pytest.fixture
def small_parts(monkeypatch) -> None:
    monkeypatch.setattr("spdatoms.scale.parts._PART_ENTRIES", 1 << 9)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jeffrey", "stein"])
def test_memory_maps_and_dask_arrays_give_the_same_bits(X, metric, small_parts, tmp_path) -> None:
    da = pytest.importorskip("dask.array")
    here = learner(X, metric).fit(X)
    threads = learner(X, metric, n_jobs=2).fit(X)
    np.testing.assert_array_equal(threads.atoms_, here.atoms_)
    chunked = learner(X, metric).fit(da.from_array(X, chunks=(100, 5, 5)))
    np.testing.assert_array_equal(chunked.atoms_, here.atoms_)
    np.testing.assert_array_equal(chunked.objective_, here.objective_)
    np.save(tmp_path / "X.npy", np.concatenate([X] * 8))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with block_budget(1_000_000):
        streamed = learner(X, metric).fit(mapped)
    whole = learner(X, metric).fit(np.array(mapped))
    np.testing.assert_array_equal(streamed.atoms_, whole.atoms_)


def test_features_of_a_long_file_lie_in_another_file(X, tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "X.npy", np.concatenate([X] * 8))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    shapes = []

    class Counted(_samples.StoredArray):
        def __init__(self, array):
            shapes.append(array.shape)
            super().__init__(array)

    monkeypatch.setattr(_samples, "StoredArray", Counted)
    with block_budget(1_000_000):
        in_memory = learner(X).fit(mapped)
        assert shapes == []
        monkeypatch.setattr(_samples, "_SCRATCH_BYTES", 0)
        in_a_file = learner(X).fit(mapped)
    assert sum(rows for rows, _ in shapes) == len(mapped)
    assert {columns for _, columns in shapes} == {in_memory._problem.space.size}
    np.testing.assert_array_equal(in_a_file.atoms_, in_memory.atoms_)
    np.testing.assert_array_equal(in_a_file.objective_, in_memory.objective_)


def test_matrices_are_read_once(X, tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "X.npy", np.concatenate([X] * 8))
    reads = []
    original = StreamPasses._results

    def counted(self, function, states, shared, read, keep):
        if read and self.sources is None:
            reads.append(function.__name__)
        return original(self, function, states, shared, read, keep)

    monkeypatch.setattr(StreamPasses, "_results", counted)
    with block_budget(1_000_000):
        learner(X).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert reads == ["_find_unfit", "_prepare"]


def test_what_dies_with_a_worker_is_computed_again(X, small_parts, monkeypatch) -> None:
    da, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    expected = learner(X).fit(X).atoms_
    original, calls = _samples._code, []

    def coded_or_die(matrices, span, *arguments):
        calls.append(len(span.parts))
        if len(calls) == 5:
            raise distributed.KilledWorker("task", None, 1)
        return original(matrices, span, *arguments)

    monkeypatch.setattr(_samples, "_code", coded_or_die)
    monkeypatch.setattr("spdatoms.scale.stream._SPANS_PER_THREAD", 1)
    with pytest.warns(match="tasks of half the size"):
        found = learner(X).fit(da.from_array(X, chunks=(100, 5, 5)))
    np.testing.assert_array_equal(found.atoms_, expected)


def test_partial_fit_lowers_the_held_out_loss(X) -> None:
    online = learner(X, landmarks="auto")
    for start in range(0, 600, 150):
        online.partial_fit(X[start : start + 150])
    assert online.score(X[600:]) > learner(X, max_iter=1).fit(X[:600]).score(X[600:]) - 0.02
    assert online.batch_losses_[-1] < online.batch_losses_[0]


@pytest.mark.slow
def test_atoms_per_class_follow_the_parameters() -> None:
    X, y = wishart_classes(3, 30)
    atoms, _ = class_dictionary(X, y, 3, beta=0.5, alpha=0.2, random_state=0)
    model = SPDSparseClassifier(beta=0.5, alpha=0.2, n_atoms_per_class=3, random_state=0)
    np.testing.assert_array_equal(model.fit(X, y).atoms_, atoms)
    others, _ = class_dictionary(X, y, 3, beta=0.5, alpha=0.2, random_state=0, landmarks=20)
    assert not np.array_equal(others, atoms)
