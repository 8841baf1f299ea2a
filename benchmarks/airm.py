"""Squared affine-invariant distances of all pairs, against pyRiemann: one table, one JSON file.

Both sides start from raw matrices (factoring them is included) and run in this process, in turns;
the best of several runs counts. BLAS is held at one thread throughout: "1 thread" compares one
thread of ours with pyRiemann's one, "2 threads" compares two of ours with the same one.

    python benchmarks/airm.py [--json airm.json] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from pyriemann.geometry.distance import pairwise_distance
from threadpoolctl import threadpool_limits

from spdatoms.divergences import AffineInvariant

#: Sizes n, and how many matrices are on each side.
CASES = {3: 400, 5: 400, 12: 300, 22: 200, 43: 120, 64: 80, 93: 50}


def wishart(m: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return covariances of 2n + 2 Gaussian samples."""
    samples = rng.standard_normal((m, n, 2 * n + 2))
    return np.asarray(samples @ samples.swapaxes(1, 2) / (2 * n + 2))


def ours(X: NDArray[np.floating], Y: NDArray[np.floating], n_jobs: int) -> None:
    airm = AffineInvariant()
    airm.pairwise(airm.prepare(X), airm.prepare(Y), n_jobs=n_jobs)


def best_times(contenders: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Return the best time of each contender, run in turns after one run that does not count."""
    best = dict.fromkeys(contenders, np.inf)
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            start = perf_counter()
            run()
            if turn:
                best[name] = min(best[name], perf_counter() - start)
    return best


def measure(n: int, m: int, rounds: int) -> dict[str, float]:
    rng = np.random.default_rng(n)
    X, Y = wishart(m, n, rng), wishart(m, n, rng)
    X32, Y32 = X.astype(np.float32), Y.astype(np.float32)
    times = best_times(
        {
            "pyriemann": lambda: pairwise_distance(X, Y, metric="riemann", squared=True),
            "one": lambda: ours(X, Y, 1),
            "two": lambda: ours(X, Y, 2),
            "single": lambda: ours(X32, Y32, 1),
        },
        rounds,
    )
    return {
        "n": n,
        "m": m,
        "pyriemann_ns_per_pair": 1e9 * times["pyriemann"] / m**2,
        "ns_per_pair": 1e9 * times["one"] / m**2,
        "ratio_1_thread": times["pyriemann"] / times["one"],
        "ratio_2_threads": times["pyriemann"] / times["two"],
        "second_thread": times["one"] / times["two"],
        "float32_ns_per_pair": 1e9 * times["single"] / m**2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--rounds", type=int, default=5, help="runs, of which the best counts")
    arguments = parser.parse_args()
    print("| n | matrices | pyRiemann, ns | ours, ns | float32, ns | 1 thread | 2 threads |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    with threadpool_limits(1, user_api="blas"):
        for n, m in CASES.items():
            row = measure(n, m, arguments.rounds)
            rows.append(row)
            print(
                f"| {n} | {m} | {row['pyriemann_ns_per_pair']:.0f} | {row['ns_per_pair']:.0f} | "
                f"{row['float32_ns_per_pair']:.0f} | {row['ratio_1_thread']:.1f}× | "
                f"{row['ratio_2_threads']:.1f}× |",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
