"""Accuracy and cost of `SPDEnsembleClassifier` as the number of training matrices grows.

    python benchmarks/scaling.py --data DIR

Larger training sets hold the smaller ones, and queries are the same for all. Drawn data are covariances of 25 samples
each, 6×6, of eight classes that differ little. Textures are 5×5 covariances of blocks at random places of the
111 Brodatz plates (folder ``brodatz`` of DIR): training blocks from the upper two thirds of a plate, queries from the
rest. Seconds are of one processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spdatoms import SPDEnsembleClassifier
from spdatoms.geometry import expm
from spdatoms.paper.datasets import load_brodatz
from spdatoms.paper.protocols._texture_blocks import at_random

SIZES = (500, 1000, 1499, 1500, 1501, 2000, 3000, 10_000, 30_000, 100_000)
QUERIES = 4000
#: Of drawn data: the size of matrices, classes, samples, and how far classes are apart.
N, CLASSES, SAMPLES, SPREAD = 6, 8, 25, 0.04
#: Rows of a plate that training blocks are cut from.
TRAINING_ROWS = 200


@dataclass(frozen=True)
class Data:
    """Training matrices with labels, and queries."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    queries: NDArray[np.float64]
    truth: NDArray[np.intp]


def drawn(count: int, seed: int) -> Data:
    """Return Wishart matrices of classes whose centres are drawn, too."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((CLASSES, N, N))
    roots = expm(SPREAD * (G + G.swapaxes(1, 2)) / np.sqrt(2.0))
    y = rng.integers(CLASSES, size=count + QUERIES)
    samples = roots[y] @ rng.standard_normal((len(y), N, SAMPLES))
    X = samples @ samples.swapaxes(1, 2) / SAMPLES
    return Data(X[QUERIES:], y[QUERIES:], X[:QUERIES], y[:QUERIES])


def textures(folder: Path, count: int, seed: int) -> Data:
    """Return blocks of the plates, in a random order."""
    rng = np.random.default_rng(seed)
    plates = [np.asarray(image) for image in load_brodatz(folder / "brodatz").data]
    sides = []
    for rows, wanted in (
        (slice(None, TRAINING_ROWS), count),
        (slice(TRAINING_ROWS, None), QUERIES),
    ):
        each = -(-wanted // len(plates))
        X = np.concatenate([at_random(plate[rows], each, rng) for plate in plates])
        order = rng.permutation(len(X))[:wanted]
        sides += [X[order], np.repeat(np.arange(len(plates)), each)[order]]
    return Data(*sides)


def measure(
    data: Data, sizes: Sequence[int], weights: str
) -> dict[int, tuple[float, float, float]]:
    """Return the accuracy in per cent, and the seconds of fit and predict, by the number of training matrices."""
    SPDEnsembleClassifier(weights).fit(data.X[:100], data.y[:100]).predict(data.queries[:10])
    found = {}
    for size in sizes:
        start = time.process_time()
        model = SPDEnsembleClassifier(weights).fit(data.X[:size], data.y[:size])
        fitted = time.process_time()
        accuracy = 100.0 * np.mean(model.predict(data.queries) == data.truth)
        found[size] = float(accuracy), fitted - start, time.process_time() - fitted
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="with a folder 'brodatz'")
    parser.add_argument("--weights", choices=("uniform", "cv"), default="uniform")
    parser.add_argument("--largest", type=int, default=max(SIZES))
    parser.add_argument("--draws", type=int, default=4)
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.largest]
    sources: dict[str, Callable[[int], Data]] = {"drawn": lambda seed: drawn(sizes[-1], seed)}
    if options.data:
        sources["textures"] = lambda seed: textures(options.data, sizes[-1], seed)
    for name, source in sources.items():
        runs = [measure(source(seed), sizes, options.weights) for seed in range(options.draws)]
        print(f"{name}, {options.draws} draws\n       N accuracy  ±     fit s  predict s")
        for size in sizes:
            accuracy, fit, predict = np.transpose([run[size] for run in runs])
            # The error of differences between rows: what a draw has in common is taken out.
            common = np.mean([[run[one][0] for one in sizes] for run in runs], axis=1)
            error = np.std(accuracy - common, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else 0.0
            print(
                f"{size:8d} {accuracy.mean():8.2f} {error:5.2f} {fit.mean():8.2f} {predict.mean():8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
