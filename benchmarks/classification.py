"""Classification end to end against nearest neighbours under AIRM, and the cost of choosing β and α.

    python benchmarks/classification.py --json classification.json

The paper's headline: 93×93 matrices, 140 to train and 109 to classify, the training Gram matrix
included, one thread. The yardstick is pyRiemann's matrix of AIRM distances between queries and
training matrices, which is all a nearest-neighbour search needs; our own AIRM search stands beside it.
Then: a 6×6 grid of β and α by leave-one-out on 600 matrices of 43×43 in 200 classes, in units of one
plain fit with a prediction of 800.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_times, machine
from numpy.typing import NDArray
from pyriemann.geometry.distance import pairwise_distance
from threadpoolctl import threadpool_limits

from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseClassifierCV

Floats = NDArray[np.float64]

BETAS = tuple(0.095 * factor for factor in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0))
ALPHAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def wishart_classes(
    rng: np.random.Generator, n: int, labels: NDArray[np.intp], spread: float
) -> Floats:
    """Return Wishart matrices, one for each label, around the centres of their classes."""
    roots = np.eye(n) + spread * rng.standard_normal((labels.max() + 1, n, n)) / np.sqrt(n)
    samples = roots[labels] @ rng.standard_normal((len(labels), n, 3 * n))
    return np.asarray(samples @ samples.swapaxes(1, 2) / (3 * n))


def headline(repeats: int) -> dict[str, float]:
    """Return seconds of each way to classify the queries."""
    labels = np.arange(249) % 14
    X = wishart_classes(np.random.default_rng(0), 93, labels, 0.5)
    train, query, y = X[:140], X[140:], labels[:140]

    def run(make: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: make().fit(train, y).predict(query)

    return best_times(
        {
            "pyriemann": lambda: pairwise_distance(query, train, metric="riemann"),
            "airm": run(lambda: SPDKNeighborsClassifier(metric="riemann")),
            "stein": run(lambda: SPDSparseClassifier("stein")),
            "jeffrey": run(lambda: SPDSparseClassifier("jeffrey", correction="clip")),
        },
        repeats,
    )


def grid_cost(repeats: int) -> dict[str, float]:
    """Return seconds of a plain run and of the whole grid."""
    people = np.arange(1400) % 200
    X = wishart_classes(np.random.default_rng(1), 43, people, 0.3)
    train, y, query = X[:600], people[:600], X[600:]
    plain = SPDSparseClassifier(alpha=0.01)
    grid = SPDSparseClassifierCV("stein", BETAS, ALPHAS, cv="loo")
    return best_times(
        {"plain": lambda: plain.fit(train, y).predict(query), "grid": lambda: grid.fit(train, y)},
        repeats,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with threadpool_limits(1):
        seconds, grid = headline(options.repeats), grid_cost(options.repeats)
    pairs = 140 * 109
    print(f"pyRiemann's AIRM distances: {1e3 * seconds['pyriemann'] / pairs:.3f} ms per pair")
    for name in ("stein", "jeffrey"):
        print(
            f"{name}: {1e3 * seconds[name]:.1f} ms, {seconds['pyriemann'] / seconds[name]:.0f}× "
            f"pyRiemann's AIRM, {seconds['airm'] / seconds[name]:.1f}× our own"
        )
    ratio = grid["grid"] / grid["plain"]
    print(f"6×6 grid: {grid['grid']:.2f} s, {ratio:.1f} plain runs of {grid['plain']:.2f} s")
    if options.json:
        figures = {"machine": machine(), "headline": seconds, "grid": grid}
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
