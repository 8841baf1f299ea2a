"""A cluster that does nothing any more ends in a clear error, and the fit goes on from its checkpoint."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning
from spdatoms.dictionary._checkpoint import Checkpoint
from spdatoms.exceptions import ClusterError
from spdatoms.scale import cluster as scale_cluster
from spdatoms.scale import worker_timeout

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


def hide_the_package() -> None:
    """Let a worker be without the package."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "spdatoms"]:
        del sys.modules[name]
    sys.modules["spdatoms"] = None  # type: ignore[assignment]


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_what_a_cluster_lacks_is_said(cluster, tmp_path, monkeypatch):
    """One cluster, because starting one takes long: a worker that stops, none, none with the package."""
    X = random_spd(2000, 3)
    path = tmp_path / "checkpoint"

    def learner(max_iter):
        parameters = {"init": "random", "tol": 0.0, "random_state": 0, "checkpoint": path}
        return SPDDictionaryLearning(4, max_iter=max_iter, **parameters)

    with distributed.Client(cluster) as client:
        stream = da.from_array(X, chunks=(500, 3, 3))
        learner(1).fit(stream)
        (process,) = client.run(os.getpid).values()
        write = Checkpoint.write

        def write_and_stop_the_worker(*arguments):
            write(*arguments)
            os.kill(process, signal.SIGSTOP)

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "write", write_and_stop_the_worker)
            with worker_timeout(2), pytest.raises(ClusterError, match="goes on from there"):
                learner(10**6).fit(stream)
        os.kill(process, signal.SIGCONT)
        # A task of the fit that failed would close the worker as soon as the package is hidden.
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            gc.collect()  # the frames of the error may hold futures
            threading.Event().wait(0.05)
        client.run(hide_the_package)
        with (
            worker_timeout(60),
            pytest.raises(ClusterError, match="1 of 1 workers of the cluster cannot import"),
        ):
            learner(2).fit(stream)
        cluster.scale(0)
        while client.nthreads():
            threading.Event().wait(0.05)
        with worker_timeout(1), pytest.raises(ClusterError, match="has no workers, so start some"):
            learner(10**6).fit(stream)
        closing = threading.Timer(0.3, cluster.close)
        closing.start()
        with pytest.raises(ClusterError, match="was lost, or the cluster was closed"):
            learner(10**6).fit(stream)
        closing.join()
    # The checkpoint holds all iterations that were finished, and goes on here.
    path.rename(tmp_path / "later")
    learner(3).fit(X)


@pytest.fixture
def scheduler(tmp_path):
    """Return a scheduler in a process of its own, and its file."""
    file = tmp_path / "scheduler.json"
    options = ["--port", "0", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file]
    with subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *map(str, options)],
        stderr=subprocess.DEVNULL,
    ) as process:
        yield process, file
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_scheduler_that_is_frozen_does_not_answer(scheduler, monkeypatch):
    process, file = scheduler
    monkeypatch.setattr(scale_cluster, "_ANSWER", 0.5)
    with distributed.Client(scheduler_file=str(file), timeout=600):
        process.send_signal(signal.SIGSTOP)
        stream = da.from_array(random_spd(2000, 3), chunks=(500, 3, 3))
        with pytest.raises(ClusterError, match="does not answer: look at its process"):
            SPDDictionaryLearning(4, init="random").fit(stream)
        process.kill()


def test_the_time_to_wait_is_positive():
    for seconds in (0, -1, float("nan")):
        with (
            pytest.raises(ValueError, match="seconds must be a number > 0 or infinity"),
            worker_timeout(seconds),
        ):
            pass


def test_errors_of_files_stay_as_they_are_without_a_cluster():
    def read(block_info=None):
        raise FileNotFoundError(2, "No such file", "part.npy")

    X = da.map_blocks(read, chunks=((4,), (2,), (2,)), dtype=np.float64, meta=np.empty((0, 0, 0)))
    with pytest.raises(FileNotFoundError, match=r"part\.npy"):
        SPDDictionaryLearning(2).fit(X)
