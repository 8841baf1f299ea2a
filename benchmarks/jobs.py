"""Two threads against one: all pairs, coding, prediction, learning and k-means.

    python benchmarks/jobs.py --json jobs.json
    python benchmarks/jobs.py --few-large

Wall clock, both in turns in one process, the best of several runs. Where other programs use the cores a
second thread gains less than the library could give.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_times, machine
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from classification import wishart_classes
from spdatoms import (
    SPDDictionaryLearning,
    SPDKMeans,
    SPDSparseClassifier,
    SPDSparseCoder,
    pairwise_divergence,
)

CLASSES = 16
#: What is timed, each a function of the number of threads.
Tasks = dict[str, Callable[[int], Callable[[], Any]]]


def few_large() -> Tasks:
    """Return all pairs of few large matrices."""

    def pairs(X: NDArray[np.float64], metric: str, jobs: int) -> Callable[[], Any]:
        return partial(pairwise_divergence, X, metric=metric, n_jobs=jobs)

    found: Tasks = {}
    for n in (128, 256):
        for m in (4, 8):
            X = wishart_classes(np.random.default_rng(n), n, np.arange(m), 0.5)
            for metric in ("stein", "riemann", "logeuclid"):
                found[f"{m} of {n}×{n}, {metric}"] = partial(pairs, X, metric)
    return found


def tasks(n: int, atoms: int, queries: int) -> Tasks:
    """Return what users do with matrices of one size."""
    labels = np.arange(atoms + queries) % CLASSES
    X = wishart_classes(np.random.default_rng(0), n, labels, 0.5)
    D, y, Q = X[:atoms], labels[:atoms], X[atoms:]

    def transform(jobs: int) -> Callable[[], Any]:
        coder = SPDSparseCoder(D, n_jobs=jobs).fit(D)
        return lambda: coder.transform(Q)

    def predict(jobs: int) -> Callable[[], Any]:
        classifier = SPDSparseClassifier("stein", n_jobs=jobs).fit(D, y)
        return lambda: classifier.predict(Q[: len(Q) // 4])

    def learn(jobs: int) -> Callable[[], Any]:
        learner = SPDDictionaryLearning(
            64, init="random", max_iter=3, tol=0.0, random_state=0, n_jobs=jobs
        )
        return lambda: learner.fit(Q)

    def cluster(jobs: int) -> Callable[[], Any]:
        means = SPDKMeans(16, metric="stein", n_init=1, max_iter=3, random_state=0, n_jobs=jobs)
        return lambda: means.fit(Q)

    def pairs(jobs: int) -> Callable[[], Any]:
        return lambda: pairwise_divergence(Q, D, n_jobs=jobs)

    return {
        "all pairs": pairs,
        "coding": transform,
        "prediction": predict,
        "learning": learn,
        "k-means": cluster,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=12, help="n")
    parser.add_argument("--atoms", type=int, default=512)
    parser.add_argument("--queries", type=int, default=4000)
    parser.add_argument(
        "--few-large", action="store_true", help="all pairs of few large matrices, nothing else"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print("| | one thread, s | two threads, s | times as fast |\n|---|---|---|---|")
    with threadpool_limits(1):
        own = (
            few_large()
            if options.few_large
            else tasks(options.size, options.atoms, options.queries)
        )
        for name, make in own.items():
            times = best_times({str(jobs): make(jobs) for jobs in (1, 2)}, options.repeats)
            ratio = times["1"] / times["2"]
            rows.append({"what": name, "measured": ratio, "unit": "×"})
            print(f"| {name} | {times['1']:.4f} | {times['2']:.4f} | {ratio:.2f} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
