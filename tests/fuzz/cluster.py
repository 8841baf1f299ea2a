"""Kills while a cluster learns: of the process that asked for it, or of a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from _matrices import random_spd
from fuzz.campaign import expect
from spdatoms import SPDDictionaryLearning

#: Four parts, and iterations that take long enough to be killed in.
SETTINGS = {"n_atoms": 64, "alpha": 0.2, "init": "random", "max_iter": 6, "tol": 0.0}
SETTINGS |= {"random_state": 0}
LEARN = """
import sys, distributed
from fuzz.cluster import learned
address, data, checkpoint = sys.argv[1:]
with distributed.Client(address):
    print("learning", flush=True)
    learned(data, checkpoint)
"""


def learned(data: Path | str, checkpoint: Path | str) -> np.ndarray:
    """Return the atoms that are learned from the chunks of a file, on the cluster of the client."""
    import dask.array as da

    X = da.from_array(np.load(data), chunks=(2048, 3, 3))
    return SPDDictionaryLearning(checkpoint=checkpoint, **SETTINGS).fit(X).atoms_


@cache
def undisturbed() -> tuple[np.ndarray, np.ndarray]:
    """Return matrices, and the atoms that are learned from them without a cluster."""
    X = random_spd(10_000, 3, seed=1)
    return X, SPDDictionaryLearning(**SETTINGS).fit(X).atoms_


def killed_on_cluster(rng: np.random.Generator) -> Counter[str]:
    """A cluster learns six times, with a kill at a random moment each: the atoms have the same bits."""
    import dask
    import distributed

    X, atoms = undisturbed()
    with (
        tempfile.TemporaryDirectory() as folder,
        # By default a worker that is away 15 s after it was lost, because it was lost again, is given up.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        data = Path(folder, "X.npy")
        np.save(data, X)
        for number in range(6):
            checkpoint, moment = Path(folder, f"{number}"), float(rng.uniform(0.0, 1.5))
            kill = kill_process if rng.random() < 0.5 else kill_worker
            with distributed.Client(cluster) as client, kill(client, data, checkpoint, moment):
                found = learned(data, checkpoint)
            expect(found == atoms, f"other atoms, {kill.__name__} at {moment:.3f} s")
    return Counter(law=6)


@contextmanager
def kill_process(client: Any, data: Path, checkpoint: Path, moment: float) -> Iterator[None]:
    """Before what is in the context, learn in a process that is killed."""
    command = [sys.executable, "-c", LEARN, client.scheduler.address, str(data), str(checkpoint)]
    paths = os.pathsep.join(sys.path)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moment)
        process.kill()
    yield


@contextmanager
def kill_worker(client: Any, data: Path, checkpoint: Path, moment: float) -> Iterator[None]:
    """During what is in the context, kill a worker."""

    def kill() -> None:
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Timer(moment, kill)
    killer.start()
    try:
        yield
    finally:
        killer.join()
