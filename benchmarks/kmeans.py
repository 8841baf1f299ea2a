"""`SPDKMeans` against pyRiemann's `Kmeans`: one table, one JSON file.

Both start from the same centres, given as an array, once drawn at random and once by k-means++, for
several seeds. Both run until they say that they have converged, within 100 iterations, on one thread
(BLAS too), in turns in one process; the best of `--repeats` runs counts. The inertia of both is
Σ min_j d(X_i, C_j) with the same d, for the centres that they return. (pyRiemann reports a sum of
distances that are not squared.) Two runs of k-means from the same start may end in different local
minima, hence the several seeds. Ours goes on by Hartigan's rule where Lloyd's algorithm stops; that
time is included.

    python benchmarks/kmeans.py [--json kmeans.json] [--seeds 3] [--repeats 1]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_times, machine
from numpy.typing import NDArray
from pyriemann.clustering import Kmeans
from threadpoolctl import threadpool_limits

from spdatoms import SPDKMeans, pairwise_divergence
from spdatoms.divergences import get_divergence
from spdatoms.divergences.seeds import Sample, plus_plus_seeds, random_seeds

MATRICES, SIZE, CLUSTERS = 2000, 12, 32
#: Our name and pyRiemann's.
METRICS = {"stein": "logdet", "riemann": "riemann"}
STARTS = {"random": random_seeds, "k-means++": plus_plus_seeds}


def wishart(m: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return covariances of 2n + 2 Gaussian samples."""
    samples = rng.standard_normal((m, n, 2 * n + 2))
    return np.asarray(samples @ samples.swapaxes(1, 2) / (2 * n + 2))


def wishart_clusters(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return L W Lᵀ with one of as many L as there are clusters: they overlap."""
    L = np.linalg.cholesky(wishart(CLUSTERS, SIZE, rng))[rng.integers(CLUSTERS, size=MATRICES)]
    X = L @ wishart(MATRICES, SIZE, rng) @ L.swapaxes(1, 2)
    return np.asarray(0.5 * (X + X.swapaxes(1, 2)))


def measure(metric: str, start: str, seed: int, repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = wishart_clusters(rng)
    sample = Sample(get_divergence(metric), X, np.ones(len(X)))
    centres = X[STARTS[start](sample, CLUSTERS, rng)]
    ours = SPDKMeans(CLUSTERS, metric=metric, init=centres, max_iter=100)
    theirs = Kmeans(CLUSTERS, metric=METRICS[metric], init=centres, n_init=1)
    times = best_times({"ours": lambda: ours.fit(X), "theirs": lambda: theirs.fit(X)}, repeats)
    inertia = pairwise_divergence(X, theirs.centroids(), metric).min(axis=1).sum()
    return {
        "metric": metric,
        "start": start,
        "seed": seed,
        "seconds": times["ours"],
        "seconds_pyriemann": times["theirs"],
        "iterations": ours.n_iter_,
        "inertia": ours.inertia_,
        "inertia_pyriemann": float(inertia),
    }


def line(runs: list[dict[str, Any]]) -> str:
    seconds, theirs, inertia, inertia_theirs = (
        np.array([run[key] for run in runs])
        for key in ("seconds", "seconds_pyriemann", "inertia", "inertia_pyriemann")
    )
    return (
        f"{runs[0]['metric']:>8} {runs[0]['start']:>10} {seconds.mean():8.3f} {theirs.mean():10.2f} "
        f"{theirs.sum() / seconds.sum():6.1f}× {(theirs / seconds).min():6.1f}× "
        f"{inertia.sum() / inertia_theirs.sum():9.4f} {(inertia / inertia_theirs).max():9.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{MATRICES} matrices {SIZE}×{SIZE}, {CLUSTERS} clusters, one thread")
    print("                        ours  pyRiemann   speed   least   inertia / pyRiemann's")
    print("  metric      start       s           s    mean            mean     worst")
    runs = []
    with threadpool_limits(1):
        for metric in METRICS:
            for start in STARTS:
                some = [
                    measure(metric, start, seed, arguments.repeats)
                    for seed in range(arguments.seeds)
                ]
                print(line(some), flush=True)
                runs += some
    if arguments.json:
        figures = {"machine": machine(), "runs": runs}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
