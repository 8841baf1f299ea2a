"""A worker that really runs out of its memory: half a minute, so only on request.

SPDATOMS_SLOW_TESTS=1 python -m pytest tests/scale/test_out_of_memory.py
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning
from spdatoms.scale import block_budget

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("SPDATOMS_SLOW_TESTS" not in os.environ, reason="takes half a minute"),
    pytest.mark.skipif(os.name != "posix", reason="workers have no memory limit elsewhere"),
    pytest.mark.filterwarnings("ignore"),
]


def learner():
    return SPDDictionaryLearning(8, alpha=0.2, init="random", max_iter=1, tol=0.0, random_state=0)


def test_a_worker_that_runs_out_of_its_memory_is_restarted(monkeypatch) -> None:
    """A task with all matrices, 537 MB, is too much for a worker of 750 MB; smaller ones are not."""
    kinds = random_spd(64, 32, seed=3)

    def some(block_info=None):
        (start, stop), *_ = block_info[None]["array-location"]
        rows = np.arange(start, stop)
        return kinds[rows % 64] * (1 + rows / 65536)[:, None, None]

    X = da.map_blocks(some, chunks=((2048,) * 32, (32,), (32,)), dtype=np.float64)
    monkeypatch.setattr("spdatoms.scale.stream._SPANS_PER_THREAD", 1)
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        # By default a worker that is away 15 s after it was lost, because it was lost again, is given up.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="750MB",
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
        block_budget(1 << 30),
    ):
        first = client.run(os.getpid)
        with pytest.warns(match="tasks of half the size"):
            fitted = learner().fit(X)
        assert client.run(os.getpid) != first
    expected = learner().fit(X.compute(scheduler="threads"))
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(fitted.atoms_, expected.atoms_, rtol=1e-8, atol=1e-8)
