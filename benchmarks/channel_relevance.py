"""Whether relevant channels matter: accuracy as channels are taken away, in three orders.

    python benchmarks/channel_relevance.py --data DIR

DIR has the folder ``covariances``. `SPDEnsembleClassifier` is fitted to training matrices, and the channels of each
query are taken away one after the other, up to half of them: the most relevant first (``explain(X).channels``), those
with the largest variance first, or in a random order (the mean of three). A channel that is taken away is replaced by
its regression on the others, by the mean of the training matrices: it says nothing about the query any more. The figure
is the area under the curve of accuracy, in per cent: the lower, the more the channels that were taken away mattered.
Differences have the standard error over queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from spdatoms import SPDEnsembleClassifier, mean
from spdatoms.divergences.incomplete import completed

FILES = ("japanese_vowels", "ssvep", "eeg_s001_left_right", "eeg_s001_hands_feet", "myo_emg")


def divisions(name: str, data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield indices of training and of test matrices."""
    y, groups = data["y"], data["g"] if "g" in data else np.zeros(len(data["y"]))
    if name == "japanese_vowels":
        yield np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)
    elif name == "myo_emg":
        for g in np.unique(groups):
            own = groups == g
            yield (
                np.flatnonzero(own & (data["part"] == 0)),
                np.flatnonzero(own & (data["part"] == 1)),
            )
    else:
        for g in np.unique(groups):
            own = np.flatnonzero(groups == g)
            folds = StratifiedKFold(4, shuffle=True, random_state=0)
            for train, test in folds.split(own, y[own]):
                yield own[train], own[test]


def areas(model: Any, M: Any, Z: Any, y: Any, orders: Any) -> Any:
    """Return the mean over the numbers of channels that are taken away of whether each query is classified rightly."""
    n = Z.shape[-1]
    steps = np.unique(np.linspace(1, n // 2, min(8, n // 2)).astype(int))
    right = []
    for k in steps:
        known = np.ones(Z.shape[:2], bool)
        np.put_along_axis(known, orders[:, :k], False, axis=1)
        right.append(model.predict(completed(Z, known, M)) == y)
    return np.mean(right, axis=0)


def of_set(name: str, data: Any, queries: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    parts = list(divisions(name, data))
    each = -(-queries // len(parts))
    found: dict[str, list[Any]] = {
        "all channels": [],
        "relevance": [],
        "variance": [],
        "random": [],
    }
    for train, test in parts:
        chosen = rng.permutation(test)[:each]
        X, Z = (np.asarray(data["X"][rows], np.float64) for rows in (train, chosen))
        y = data["y"][chosen]
        model, M = SPDEnsembleClassifier().fit(X, data["y"][train]), mean(X, "jeffrey")
        relevance = model.explain(Z).channels.channels
        variances = Z.diagonal(axis1=1, axis2=2)
        random = [
            rng.permuted(np.tile(np.arange(Z.shape[-1]), (len(Z), 1)), axis=1) for _ in range(3)
        ]
        found["all channels"].append(model.predict(Z) == y)
        found["relevance"].append(areas(model, M, Z, y, np.argsort(-relevance, axis=1)))
        found["variance"].append(areas(model, M, Z, y, np.argsort(-variances, axis=1)))
        found["random"].append(np.mean([areas(model, M, Z, y, order) for order in random], axis=0))
    return {key: 100.0 * np.concatenate(values) for key, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=48, help="about this number of each set")
    options = parser.parse_args()
    print(
        "| data | queries | all channels | relevance | variance | random | − variance | − random |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in FILES:
        with np.load(options.data / "covariances" / f"{name}.npz") as data:
            found = of_set(name, dict(data), options.queries)
        cells = [f"{values.mean():.1f}" for values in found.values()]
        for other in ("variance", "random"):
            difference = found["relevance"] - found[other]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            cells.append(f"{difference.mean():+.1f} ± {error:.1f}")
        print(f"| {name} | {len(found['relevance'])} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
