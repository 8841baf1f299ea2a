"""``python -m tests.fuzz.load``: threads, processes, kills, a full disk and a million queries."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _matrices import random_spd, three_classes
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, SPDSparseCoder, save

SETTINGS = {"n_atoms": 16, "alpha": 0.02, "max_iter": 12, "tol": 0.0, "random_state": 0}
LEARN = f"""
import sys
import numpy as np
from spdatoms import SPDDictionaryLearning
print("learning", flush=True)
data, checkpoint = sys.argv[1:]
SPDDictionaryLearning(checkpoint=checkpoint, **{SETTINGS!r}).fit(np.load(data))
"""


def eight_threads(times: int) -> None:
    """Eight threads that share a fitted estimator get what one gets."""
    X, y = three_classes()
    model = SPDSparseClassifier(n_jobs=2).fit(X, y)
    expected = model.predict_proba(X)
    wrong: list[int] = []

    def ask(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(times):
            some = rng.permutation(len(X))[: rng.integers(1, len(X))]
            if not np.array_equal(model.predict_proba(X[some]), expected[some]):
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, f"threads {wrong} got other results"


def _ask(arguments: tuple[Any, np.ndarray]) -> np.ndarray:
    model, X = arguments
    return np.asarray(model.predict_proba(X))


def forked_and_spawned(times: int) -> None:
    """Processes that are forked or spawned after kernels were called get what this one gets."""
    X, y = three_classes()
    model = SPDSparseClassifier(n_jobs=2).fit(X, y)
    expected = model.predict_proba(X)
    for method in ("fork", "spawn")[:times]:
        with multiprocessing.get_context(method).Pool(2) as pool:
            for found in pool.map_async(_ask, [(model, X)] * 4).get(timeout=300):
                assert np.array_equal(found, expected), f"{method} gives other results"


def killed(times: int) -> None:
    """Learning that is killed at random moments ends with the same bits."""
    X = random_spd(2000, 5, seed=1)
    rng = np.random.default_rng(0)
    expected = SPDDictionaryLearning(**SETTINGS).fit(X).atoms_
    with tempfile.TemporaryDirectory() as folder:
        data, checkpoint = Path(folder, "X.npy"), Path(folder, "checkpoint")
        np.save(data, X)
        for _ in range(times):
            command = [sys.executable, "-c", LEARN, str(data), str(checkpoint)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 1.0))
            process.kill()
            process.wait()
        learner = SPDDictionaryLearning(checkpoint=checkpoint, **SETTINGS).fit(X)
        assert np.array_equal(learner.atoms_, expected), "the atoms are others after kills"


def full_disk(times: int) -> None:
    """A model that does not fit on the disk is an error, and the file from before stays."""
    X, y = three_classes()
    model = SPDSparseClassifier().fit(X, y)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save(model, path)
        before = path.read_bytes()
        for number in range(times):
            room = len(before) * number // (times + 1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
            try:
                save(model, path)
            except OSError:
                pass
            else:
                raise AssertionError("a model was saved without room for it")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert path.read_bytes() == before, "the old file is gone"
            assert os.listdir(folder) == ["model"], "a part of a file was left behind"


def many_queries(times: int) -> None:
    """Memory beside input and output does not grow with the number of queries of one call."""
    atoms = random_spd(8, 3, seed=0)
    coder = SPDSparseCoder(atoms, alpha=0.1).fit(atoms)
    queries = np.tile(random_spd(1000, 3, seed=1), (times, 1, 1))
    coder.transform(queries[:1000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    codes = coder.transform(queries)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < 2.5 * codes.nbytes + (400 << 20), f"{grown >> 20} MB for {codes.nbytes >> 20}"
    assert np.array_equal(codes[-1000:], codes[:1000]), "equal queries have different codes"


#: How often in the long form, and in tests.
LOADS: dict[str, tuple[Callable[[int], None], int, int]] = {
    "eight_threads": (eight_threads, 200, 3),
    "forked_and_spawned": (forked_and_spawned, 2, 1),
    "killed": (killed, 30, 0),
    "full_disk": (full_disk, 50, 3),
    "many_queries": (many_queries, 1000, 20),
}


def main() -> None:
    """Run the loads in their long form."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.load", description=__doc__)
    parser.add_argument("--only", choices=LOADS, nargs="*", default=list(LOADS))
    for name in parser.parse_args().only:
        load, times, _ = LOADS[name]
        start = time.monotonic()
        load(times)
        print(f"{name}: {times} times in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
