"""Dictionary learning and coding from Zarr on Dask workers, against the same in memory.

    python benchmarks/scale.py                        # all figures, 300,000 matrices 22×22
    python benchmarks/scale.py --matrices 30000       # a quick look
    python benchmarks/scale.py --only memory,two      # some of the runs
    python benchmarks/scale.py --only codes --matrices 1000000 --size 5 --atoms 256    # and codes to Zarr

Every run is timed after a small one has loaded everything. With ``--json`` the figures that the page on scaling
draws are written to a file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster
from zarr.codecs import BloscCodec

from spdatoms import SPDDictionaryLearning
from spdatoms.scale import block_budget
from spdatoms.scale._dask import DaskStream

N_ATOMS, SIZE, ITERATIONS = 128, 22, 3
CHUNK = 2048
KINDS = 64
#: Dask lets the malloc of workers give back and fault in again every large array; its profiler, and the
#: clock that ticks fifty times a second in every process, take time; and it would spill from 70 % of the
#: limit on, half of which are imported libraries.
WORKERS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.spill": 0.88,
    "distributed.worker.memory.pause": 0.92,
    "distributed.nanny.pre-spawn-environ": {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": str(16 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(32 << 20),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    },
}


def matrices(count: int, seed: int) -> np.ndarray:
    """Return covariances of 60 samples each, of 64 kinds."""
    shapes = np.random.default_rng(0).standard_normal((KINDS, SIZE, 2 * SIZE))
    L = np.linalg.cholesky(shapes @ shapes.swapaxes(1, 2) / (2 * SIZE))
    rng = np.random.default_rng(seed)
    G = L[rng.integers(KINDS, size=count)] @ rng.standard_normal((count, SIZE, 60))
    return np.asarray(G @ G.swapaxes(1, 2) / 60)


def store(path: str, count: int) -> None:
    """Write this many matrices to a Zarr array, chunk by chunk."""
    array = zarr.create_array(
        path,
        shape=(count, SIZE, SIZE),
        chunks=(CHUNK, SIZE, SIZE),
        dtype="f8",
        compressors=BloscCodec(cname="lz4", shuffle="shuffle"),
    )
    for start in range(0, count, CHUNK):
        some = matrices(min(CHUNK, count - start), 1 + start)
        array[start : start + len(some)] = some


def learner(**options: Any) -> Any:
    """Return the learner that all runs use."""
    return SPDDictionaryLearning(
        N_ATOMS,
        init="random",
        max_iter=ITERATIONS,
        tol=0.0,
        random_state=0,
        **options,
    )


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes, and what it returns."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


@contextmanager
def workers(count: int, processes: bool, limit: str) -> Iterator[Client]:
    """Give a client with this many workers of one thread each, or one worker with this many threads."""
    with (
        dask.config.set(WORKERS),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=count if processes else 1,
            threads_per_worker=1 if processes else count,
            processes=processes,
            memory_limit=limit,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def peak_memory() -> int:
    """Return the greatest memory this process has had."""
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) * 1024


def moved(dask_worker: Any) -> tuple[int, int, int, float]:
    """Return bytes a worker has sent to others, results ever spilled, its peak memory and CPU time."""
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    spilled = int(metrics.get(("disk-write", "count"), 0))
    return dask_worker.transfer_outgoing_bytes_total, spilled, peak_memory(), time.process_time()


def warm_up() -> None:
    """Load and compile everything in this process."""
    few = matrices(1000, 0)
    learner().set_params(max_iter=2).fit(few).transform(few)


def report(name: str, seconds: float, count: int, note: str = "") -> None:
    """Print a line."""
    each = seconds / (count * ITERATIONS) * 1e6
    print(f"{name:28s} {seconds:7.1f} s {each:7.1f} us/matrix/iteration  {note}", flush=True)


def codes_to_zarr(X: Any, folder: str, count: int | None, limit: str) -> None:
    """Learn from Zarr, and write the codes to Zarr: by two threads here, or on this many workers; print both."""

    def write() -> Any:
        fitted = learner().fit(X)
        learned.append(time.perf_counter())
        codes = fitted.transform(X)
        codes.to_zarr(os.path.join(folder, f"codes-{count}.zarr"))
        return fitted

    learned: list[float] = []
    client: Any = workers(count, True, limit) if count else dask.config.set(num_workers=2)
    with client as cluster:
        if count:
            cluster.run(warm_up)
        before = cluster.run(moved).values() if count else [(0, 0, 0, time.process_time())]
        began = time.perf_counter()
        seconds, fitted = timed(write)
        after = cluster.run(moved).values() if count else [(0, 0, 0, time.process_time())]
    cpu = sum(value[3] for value in after) - sum(value[3] for value in before)
    peak = max((value[2] for value in after), default=0) or peak_memory()
    name = f"{count} workers, {limit}" if count else "two threads of one process"
    print(
        f"{name}: learning {(learned[0] - began) / 60:.1f} min, codes {(began + seconds - learned[0]) / 60:.1f} min, "
        f"CPU {cpu / 60:.1f} min, peak {peak / 1e6:.0f} MB of each process, objective {fitted.objective_[-1]:.6f}",
        flush=True,
    )


def on_workers(
    X: Any, count: int, processes: bool, limit: str, expected: Any, **options: Any
) -> float:
    """Learn on this many workers; print what it took, and return the seconds."""
    with workers(count, processes, limit) as client:
        client.run(warm_up)
        learner(**options).set_params(max_iter=1).fit(X[: 4 * CHUNK])
        before = client.run(moved)
        seconds, fitted = timed(lambda: learner(**options).fit(X))
        after = client.run(moved)
        sent = sum(after[w][0] - before[w][0] for w in after) / ITERATIONS
        peak = max(value[2] for value in after.values())
        spilled = sum(value[1] for value in after.values())
        cpu = sum(after[w][3] - before[w][3] for w in after)
        note = (
            f"CPU {cpu:.1f} s, between workers {sent / 1e6:.1f} MB/iteration, "
            f"peak {peak / 1e6:.0f} MB, spilled {spilled}"
        )
        if expected is not None:
            error = np.abs(fitted.objective_ / expected.objective_ - 1).max()
            note += f", objective differs by {error:.0e}"
        if options:
            note += f", r = {fitted._problem.space.size}"
        name = f"{count} {'process' if processes else 'thread'} worker(s), {limit}"
        report(name, seconds, len(X), note)
    return seconds


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--matrices", type=int, default=300_000)
    parser.add_argument("--limit", default="600MB", help="memory of a worker")
    parser.add_argument("--landmarks", type=int, default=300)
    parser.add_argument("--size", type=int, default=SIZE, help="of the matrices")
    parser.add_argument("--atoms", type=int, default=N_ATOMS)
    parser.add_argument("--json", type=Path, help="write what is drawn to this file")
    parser.add_argument(
        "--only", default="memory,two,landmarks,one,threads,transform,constant,weak,scheduling"
    )
    options = parser.parse_args()
    globals().update(SIZE=options.size, N_ATOMS=options.atoms)
    runs = set(options.only.split(","))
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="spdatoms-scale-")
    try:
        path, m = os.path.join(folder, "X.zarr"), options.matrices
        store(path, m)
        X = da.from_zarr(path)  # type: ignore[no-untyped-call]
        print(
            f"{m} matrices {SIZE}x{SIZE}, {X.nbytes / 1e9:.2f} GB, N={N_ATOMS}, {ITERATIONS} iterations"
        )
        if "codes" in runs:
            for count in (None, 2):
                codes_to_zarr(X, folder, count, options.limit)
        drawn = run_all(X, m, options.limit, runs, options.landmarks)
        if options.json:
            options.json.write_text(json.dumps({"matrices": m, **drawn}, indent=1) + "\n")
    finally:
        shutil.rmtree(folder)


def run_all(X: Any, m: int, limit: str, runs: set[str], landmarks: int) -> dict[str, Any]:
    """Run the chosen measurements, and return seconds of learning and microseconds per matrix."""
    expected, here, walls, each = None, float("nan"), {}, []
    if "memory" in runs:
        data = X.compute()
        learner(n_jobs=2).set_params(max_iter=1).fit(data[: 4 * CHUNK])
        cpu = time.process_time()
        here, expected = timed(lambda: learner(n_jobs=2).fit(data))
        cpu = time.process_time() - cpu
        note = f"CPU {cpu:.1f} s, coding {coding_cost(expected, data):.1f} us/matrix"
        report("in memory, 2 threads", here, m, note)
        walls["in memory, two threads"] = here
        del data
    if "two" in runs:
        walls["two workers"] = two = on_workers(X, 2, True, limit, expected)
        print(f"  overhead against memory: {100 * (two / here - 1):.0f} %")
        if "landmarks" in runs:
            spanned = on_workers(X, 2, True, limit, None, landmarks=landmarks)
            print(f"  {landmarks} landmarks are {two / spanned:.2f} times as fast")
        if "one" in runs:
            walls["one worker"] = one = on_workers(X, 1, True, limit, expected)
            print(f"  two workers are {one / two:.2f} times as fast as one")
        if "weak" in runs:
            half = on_workers(X[: m // 2], 1, True, limit, None)
            walls["one worker, half of the data"] = half
            print(f"  weak scaling: {100 * half / two:.0f} %")
    if "threads" in runs:
        threads = on_workers(X, 2, False, "2GB", expected)
        walls["one worker of two threads"] = threads
    if "transform" in runs:
        transform(X, expected or learner().fit(X[: 4 * CHUNK].compute()))
    if "constant" in runs:
        warm_up()
        each = constant(X)
    if "scheduling" in runs:
        scheduling()
    return {"seconds": walls, "microseconds": each}


def transform(X: Any, fitted: Any) -> None:
    """Code all matrices, from Zarr by threads, and in memory: the rates."""
    data = X[:60_000].compute()
    fitted.set_params(n_jobs=2)
    fitted.transform(data[:CHUNK])
    seconds, _ = timed(lambda: fitted.transform(data))
    in_memory = len(data) / seconds
    # Each task of Dask has one thread, so there are as many of them.
    streamed = fitted.set_params(n_jobs=1).transform(X)
    seconds, _ = timed(lambda: np.count_nonzero(streamed.sum(axis=1).compute(num_workers=2)))
    rate = len(X) / seconds
    print(
        f"transform: {in_memory:.0f} a second in memory, {rate:.0f} streamed "
        f"({100 * rate / in_memory:.0f} %)",
        flush=True,
    )


def constant(X: Any) -> list[tuple[int, float, float]]:
    """Learn from, and code, more and more matrices in memory: how many, and what one takes in both."""
    found = []
    for count in (*(count for count in (10_000, 30_000, 100_000) if count < len(X)), len(X)):
        data, model = X[:count].compute(), learner(n_jobs=2)
        learning, _ = timed(partial(model.fit, data))
        coding = coding_cost(model, data)
        report(f"in memory, {count} matrices", learning, count, f"coding {coding:.1f} us/matrix")
        found.append((count, learning / (count * ITERATIONS) * 1e6, coding))
    return found


def coding_cost(fitted: Any, data: np.ndarray) -> float:
    """Return what it costs to code one of many matrices in memory, in microseconds."""
    seconds, _ = timed(partial(fitted.transform, data))
    return seconds / len(data) * 1e6


def nothing(matrices: None, span: Any, state: None, *shared: Any) -> tuple[None, np.ndarray]:
    """Return no state, and a term of the size that coding returns."""
    return None, np.ones(N_ATOMS * SIZE * (SIZE + 1) // 2 + N_ATOMS**2)


def term_of_nothing(matrices: None, span: Any, state: None, *shared: Any) -> np.ndarray:
    """Return a small term."""
    return np.ones(N_ATOMS)


def scheduling(spans: int = 1024) -> None:
    """Make passes that neither read nor compute: what the scheduler needs per span, and for a pass at least."""
    parts = [slice(i, i + 1) for i in range(spans)]
    X = da.ones((spans, 2, 2), chunks=(1, 2, 2))
    with workers(2, True, "2GB") as client, block_budget(1_000_000):
        client.run(warm_up)
        many, few = (DaskStream(X[:count]).passes(parts[:count], 1) for count in (spans, 2))
        runs = {
            "sums": partial(many.total, term_of_nothing, None),
            "sums and codes": partial(many.run, nothing, None),
        }
        for name, run in runs.items():
            run()
            cpu = time.process_time()
            seconds, _ = timed(run)
            each, here = seconds / spans * 1e3, (time.process_time() - cpu) / spans * 1e3
            print(f"scheduling, {name}: {each:.2f} ms per span, {here:.2f} of processor time here")
        least = min(timed(partial(few.run, nothing, None))[0] for _ in range(20))
        print(f"a pass over two spans that does nothing: {least * 1e3:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
