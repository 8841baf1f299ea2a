"""Means of a million matrices 3×3: processor time, and memory beside the matrices.

    python benchmarks/million_means.py

Every metric has a process of its own, with one thread. Memory is the rise of the largest resident memory of the
process during the call.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from spdatoms import mean

COUNT, SIZE, BLOCK = 1_000_000, 3, 10_000
METRICS = (
    *("stein", "jeffrey", "riemann", "logeuclid", "euclid", "logchol", "chol", "wasserstein"),
    *("harmonic", "poweuclid"),
)


def peak() -> float:
    """Return the largest resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(metric: str) -> None:
    """Print what the mean takes, as a row."""
    rng, X = np.random.default_rng(0), np.empty((COUNT, SIZE, SIZE))
    for start in range(0, COUNT, BLOCK):  # so that drawing needs no more memory than the matrices
        samples = rng.standard_normal((BLOCK, SIZE, 3 * SIZE))
        X[start : start + BLOCK] = samples @ samples.swapaxes(1, 2)
    mean(X[:10], metric)  # loads
    before, began = peak(), time.process_time()
    mean(X, metric)
    print(f"| {metric} | {time.process_time() - began:.2f} | {peak() - before:.0f} |", flush=True)


def main() -> None:
    """Measure one metric, or start a process for each of all."""
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    print("| metric | seconds | MB beside the matrices |\n|---|---|---|", flush=True)
    for metric in METRICS:
        subprocess.run([sys.executable, __file__, metric], check=True)


if __name__ == "__main__":
    main()
