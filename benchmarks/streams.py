"""How far `partial_fit` ends above the loss of batch learning, by the order of the stream.

    python benchmarks/streams.py japanese_vowels.npz --atoms 32 --batch 64

The file holds ``X`` (m, n, n) and ``y`` (m,). Both learners have the same β = 1/median and α = 0.1, and both losses are
those of all matrices by `SPDDictionaryLearning.score`. Printed is their ratio after every epoch.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.base import clone

from spdatoms import SPDDictionaryLearning
from spdatoms.divergences import get_divergence
from spdatoms.kernels.bandwidth import subsample_beta


def orders(y: np.ndarray) -> dict[str, np.ndarray]:
    """Return the orders of a stream: at random, by class, backwards, and in ten blocks of classes at random."""
    rng = np.random.default_rng(1)
    by_class = np.argsort(y, kind="stable")
    blocks = np.array_split(by_class, 10)
    return {
        "shuffled": rng.permutation(len(y)),
        "sorted": by_class,
        "reversed": by_class[::-1],
        "blocks": np.concatenate([blocks[i] for i in rng.permutation(10)]),
    }


def main() -> None:
    """Measure all orders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--metric", default="stein")
    parser.add_argument("--atoms", type=int, default=32)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.load(arguments.file) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    beta, alpha = subsample_beta(X, get_divergence(arguments.metric), "auto"), 0.1
    learner = SPDDictionaryLearning(arguments.atoms, arguments.metric, beta, alpha, random_state=0)
    least = learner.fit(X).score(X)
    print("| order |" + "".join(f" epoch {k + 1} |" for k in range(arguments.epochs)))
    print("|---" * (arguments.epochs + 1) + "|")
    for name, order in orders(y).items():
        online = clone(learner)
        row = []
        for _ in range(arguments.epochs):
            for start in range(0, len(X), arguments.batch):
                online.partial_fit(X[order[start : start + arguments.batch]])
            row.append(online.score(X) / least)
        print(f"| {name} |" + "".join(f" {ratio:.3f} |" for ratio in row))


if __name__ == "__main__":
    main()
