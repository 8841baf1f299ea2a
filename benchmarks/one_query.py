"""How long a fitted estimator takes to answer one matrix: p50 and p99, in microseconds of processor time.

    python benchmarks/one_query.py
    python benchmarks/one_query.py --methods "RSR-S,ensemble" --sizes 2

Training matrices and queries are covariances of 4·n samples each, n×n, of five classes. Every query is a call of its
own, with an array (1, n, n). Beside the library's estimators: pyRiemann's MDM, where it is installed.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processor time is of one thread

import numpy as np
from numpy.typing import NDArray

from spdatoms import (
    SPDEnsembleClassifier,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseCoder,
)

#: The sizes n of matrices, and the numbers N of atoms.
SIZES = ((8, 100), (22, 1000), (64, 1000))
CLASSES = 5
Ask = Callable[[NDArray[np.float64]], Any]


def drawn(n: int, count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return covariances whose classes differ in the variances of their channels."""
    rng = np.random.default_rng(seed)
    roots = np.exp(0.2 * np.random.default_rng(0).standard_normal((CLASSES, n)))
    y = np.arange(count) % CLASSES
    samples = rng.standard_normal((count, n, 4 * n)) * roots[y][:, :, None]
    return samples @ samples.swapaxes(1, 2) / (4 * n), y


def fitted(name: str, X: NDArray[np.float64], y: NDArray[np.intp]) -> Ask:
    """Return what answers a query."""
    if name == "coder":
        return SPDSparseCoder().fit(X).transform
    if name == "RSR-S":
        return SPDSparseClassifier().fit(X, y).predict
    if name == "ensemble":
        return SPDEnsembleClassifier().fit(X, y).predict
    if name == "nearest neighbours":
        return SPDKNeighborsClassifier().fit(X, y).predict
    if name == "k-means":
        return SPDKMeans(10, random_state=0).fit(X).predict
    from pyriemann.classification import MDM

    mdm: Any = MDM().fit(X, y)
    return lambda query: mdm.predict(query)


METHODS = ("coder", "RSR-S", "ensemble", "nearest neighbours", "k-means", "MDM of pyRiemann")


def latencies(ask: Ask, queries: NDArray[np.float64], seconds: float) -> NDArray[np.float64]:
    """Return microseconds of processor time, one call after the other, until the seconds are over."""
    for i in range(min(20, len(queries))):
        ask(queries[i : i + 1])
    found, start = [], time.process_time()
    while time.process_time() - start < seconds:
        for i in range(len(queries)):
            before = time.process_time_ns()
            ask(queries[i : i + 1])
            found.append(time.process_time_ns() - before)
    return np.array(found) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each method at each size")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| method | (n, N) | p50 µs | p99 µs |\n|---|---|---|---|")
    for n, count in SIZES[: options.sizes]:
        X, y = drawn(n, count, 1)
        queries, _ = drawn(n, 200, 2)
        for name in options.methods.split(","):
            try:
                ask = fitted(name, X, y)
            except ImportError:
                continue
            p50, p99 = np.percentile(latencies(ask, queries, options.seconds), (50, 99))
            print(f"| {name} | ({n}, {count}) | {p50:.0f} | {p99:.0f} |", flush=True)


if __name__ == "__main__":
    main()
