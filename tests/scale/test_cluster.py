"""Dictionary learning, k-means and coding on the workers of a Dask cluster, and what they survive."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDKMeans, SPDKNeighborsClassifier
from spdatoms.dictionary import _streamed as coding
from spdatoms.scale import block_budget, open_stream

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    # By default a worker that is away 15 s after it was lost, because it was lost again, is given up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module", autouse=True)
def many_parts():
    """Little data shall be cut into several parts, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spdatoms.scale.parts._PART_ENTRIES", 1 << 15)
        yield


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return random_spd(6000, 4, seed=1)


@pytest.fixture(scope="module")
def stored(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("zarr") / "X.zarr"
    array = zarr.create_array(path, shape=X.shape, chunks=(1000, 4, 4), dtype=X.dtype)
    array[:] = X
    return da.from_zarr(path)


def learner(**parameters):
    return SPDDictionaryLearning(
        **{
            "n_atoms": 32,
            "alpha": 0.2,
            "init": "random",
            "max_iter": 3,
            "tol": 0.0,
            "random_state": 0,
            **parameters,
        }
    )


@pytest.fixture(scope="module")
def expected(X, many_parts):
    return learner().fit(X)


def assert_same(fitted, expected) -> None:
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(fitted.atoms_, expected.atoms_, rtol=1e-8, atol=1e-8)


def test_workers_learn_the_same_dictionary(client, stored, expected) -> None:
    fitted = learner().fit(stored)
    assert_same(fitted, expected)
    codes = fitted.transform(stored)
    assert isinstance(codes, da.Array)
    np.testing.assert_allclose(
        codes[:700].compute(), expected.transform(stored[:700].compute()), atol=1e-9
    )


def test_data_in_the_memory_of_the_workers_is_used_there(client, stored, expected) -> None:
    assert_same(learner().fit(stored.persist()), expected)


def test_the_data_does_not_travel(client, stored) -> None:
    """What comes to this process in a pass is far less than the data."""
    stream = open_stream(stored)
    passes = stream.passes([slice(a, a + 600) for a in range(0, 6000, 600)])

    def look(matrices, span, state):
        return [(os.getpid(), len(matrices))]

    seen = passes.total(look, None)
    assert sum(count for _, count in seen) == len(stored)
    assert {process for process, _ in seen} == set(client.run(os.getpid).values())


def test_tasks_read_more_where_workers_have_more_memory(client, stored, monkeypatch) -> None:
    stream = open_stream(stored)
    limits = client.run(lambda dask_worker: dask_worker.memory_manager.memory_limit)
    monkeypatch.delattr(
        type(client), "run_on_scheduler"
    )  # a stream has asked once, and does not again
    assert stream.task_bytes == max(8 << 20, min(limits.values()) // 64)
    with block_budget(2_000_000):
        assert stream.task_bytes == 2_000_000


def test_workers_find_the_same_clusters(client, X, stored) -> None:
    here, there = (SPDKMeans(6, "stein", max_iter=5, random_state=0).fit(Z) for Z in (X, stored))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-8, atol=1e-8)


def kill_a_worker(client) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_killed_in_an_iteration_is_survived(client, stored, expected, monkeypatch) -> None:
    """It takes its codes with it, and dies while the others of the same pass are computed."""
    killed = []
    original = coding.StreamedCodedData.correlations_of

    def correlations_of(self, *arguments):
        if len(self.codings) == 2 and not killed:
            killed.append(True)
            victim = threading.Timer(0.02, kill_a_worker, [client])
            victim.start()
            result = original(self, *arguments)
            victim.join()
            return result
        return original(self, *arguments)

    monkeypatch.setattr(coding.StreamedCodedData, "correlations_of", correlations_of)
    assert_same(learner().fit(stored), expected)
    assert killed
    client.wait_for_workers(2, timeout=600)


def test_a_fit_that_was_cut_short_is_resumed(client, stored, expected, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    learner(max_iter=2, checkpoint=path).fit(stored)
    resumed = learner(checkpoint=path).fit(stored)
    assert_same(resumed, expected)


def test_an_unfit_matrix_of_one_chunk_is_named_by_its_place(client, X, tmp_path) -> None:
    bad = X.copy()
    bad[5432, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"X\[5432\] is not finite"):
        learner().fit(da.from_array(bad, chunks=(1000, 4, 4)))


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_spans_that_workers_die_of_are_cut_smaller(client, stored, expected, monkeypatch) -> None:
    """Whatever is more than one part kills the worker, as a want of memory would."""
    code = coding._code

    def code_or_die(matrices, span, *arguments):
        if len(span.parts) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return code(matrices, span, *arguments)

    monkeypatch.setattr(coding, "_code", code_or_die)
    allow_failures(client, 1)  # a worker may take an innocent task with it
    with pytest.warns(match="tasks of half the size"):
        fitted = learner().fit(stored.rechunk((1500, 4, 4)))
    allow_failures(client, 3)
    assert_same(fitted, expected)
    client.wait_for_workers(2, timeout=600)


def allow_failures(client, count) -> None:
    def allow(dask_scheduler) -> None:
        dask_scheduler.allowed_failures = count

    client.run_on_scheduler(allow)


def test_grid_searches_run_on_the_workers(client, X) -> None:
    joblib = pytest.importorskip("joblib")
    from sklearn.model_selection import GridSearchCV

    few, y = X[:80], (X[:80, 0, 0] > np.median(X[:80, 0, 0])).astype(int)
    search = GridSearchCV(SPDKNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3)
    alone = search.fit(few, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        together = search.fit(few, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_where_nothing_is_small_enough_an_error_says_what_to_do(
    client, stored, monkeypatch
) -> None:
    monkeypatch.setattr(coding, "_code", lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
    allow_failures(client, 0)
    with pytest.raises(MemoryError, match="more memory or fewer threads, or rechunk X"):
        learner().fit(stored)
    client.wait_for_workers(2, timeout=600)
    allow_failures(client, 3)  # not before: tasks that are still waiting would kill more workers
