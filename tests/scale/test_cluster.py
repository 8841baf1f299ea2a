"""Dictionary learning, k-means and coding on the workers of a Dask cluster."""

from __future__ import annotations

import os

import numpy as np
import pytest

from _learned import assert_same, learner
from fuzz.cluster import kill_process, learned, undisturbed
from spdatoms import SPDKMeans, SPDKNeighborsClassifier
from spdatoms.scale import block_budget, open_stream

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("many_parts"),
]


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


def test_a_fit_that_was_cut_short_is_resumed(client, stored, expected, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    learner(max_iter=2, checkpoint=path).fit(stored)
    resumed = learner(checkpoint=path).fit(stored)
    assert_same(resumed, expected)


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a matter of POSIX")
def test_a_process_that_was_killed_is_resumed_to_the_same_bits(client, tmp_path) -> None:
    data = tmp_path / "X.npy"
    X, atoms = undisturbed()
    np.save(data, X)
    with kill_process(client, data, tmp_path / "checkpoint", 0.3):
        found = learned(data, tmp_path / "checkpoint")
    np.testing.assert_array_equal(found, atoms)


def test_an_unfit_matrix_of_one_chunk_is_named_by_its_place(client, X, tmp_path) -> None:
    bad = X.copy()
    bad[5432, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"X\[5432\] is not finite"):
        learner().fit(da.from_array(bad, chunks=(1000, 4, 4)))


def test_grid_searches_run_on_the_workers(client, X) -> None:
    joblib = pytest.importorskip("joblib")
    from sklearn.model_selection import GridSearchCV

    few, y = X[:80], (X[:80, 0, 0] > np.median(X[:80, 0, 0])).astype(int)
    search = GridSearchCV(SPDKNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3)
    alone = search.fit(few, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        together = search.fit(few, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(together, alone)
