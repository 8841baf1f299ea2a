"""How well `SPDNovelty` tells artefacts and new classes from usual matrices: area under the ROC curve, in per cent.

    python benchmarks/novelty.py --data DIR [--sets vowels ssvep myo] [--json results.json]

DIR is the folder of the data sets. A detector is fitted to training matrices, and scores clean queries and spoilt
ones: a broken channel (gain: variance ×10, noise of three times and of once the variance, flat), two channels swapped;
or the class that was left out of training (each of the first four in turn). Peers are pyRiemann's Potato, Mahalanobis
distances of tangent vectors (Ledoit–Wolf), the mean Stein divergence to the three nearest training matrices, and
scikit-learn's IsolationForest of tangent vectors, all with their defaults. *alarms*: the share of clean queries that is
called novel, where 5 % was asked for.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pyriemann.artifact_detection import Potato
from pyriemann.tangentspace import TangentSpace
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from spdatoms import SPDNovelty, pairwise_divergence
from spdatoms.paper.protocols._corruption import FAULTS, with_faults

Scores = Callable[[np.ndarray], np.ndarray]
ALARMS, CLASSES = "alarms", 4


def divisions(name: str, data: Path) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield training matrices and queries, with their labels."""
    if name == "vowels":
        file = np.load(data / "covariances/japanese_vowels.npz")
        X, y, g = file["X"], file["y"], file["g"]
        yield X[g == 0], y[g == 0], X[g == 1], y[g == 1]
    elif name == "ssvep":
        file = np.load(data / "covariances/ssvep.npz")
        for subject in np.unique(file["g"]):
            own = file["g"] == subject
            X, y = file["X"][own], file["y"][own]
            a, b = next(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
            yield X[a], y[a], X[b], y[b]
    else:
        file = np.load(data / "covariances/myo_emg.npz")
        for subject in np.unique(file["g"]):
            own = (file["g"] == subject) & (file["part"] == 0)
            X, y = file["X"][own].astype(float), file["y"][own]
            yield X[::2], y[::2], X[1::2], y[1::2]


def fitted(X: np.ndarray) -> dict[str, Scores]:
    """Return what scores matrices, the greater the less usual, by method; ours first."""
    own = {
        "SPDNovelty": SPDNovelty(false_alarms=0.05),
        "SPDNovelty, logeuclid": SPDNovelty(metric="logeuclid", false_alarms=0.05),
        "SPDNovelty, atoms learned": SPDNovelty(
            max(4, len(X) // 5), false_alarms=0.05, random_state=0
        ),
    }
    found: dict[str, Scores] = {}
    for name, detector in own.items():
        detector.fit(X)
        found[name] = lambda Z, one=detector: -one.decision_function(Z)  # type: ignore[misc]
    tangent, potato = TangentSpace().fit(X), Potato().fit(X)
    vectors = tangent.transform(X)
    gauss, forest = LedoitWolf().fit(vectors), IsolationForest(random_state=0).fit(vectors)
    return found | {
        "Potato": lambda Z: potato.transform(Z).ravel(),
        "Mahalanobis": lambda Z: gauss.mahalanobis(tangent.transform(Z)),
        "3-NN": lambda Z: np.sort(pairwise_divergence(Z, X, metric="stein"))[:, :3].mean(axis=1),
        "IsolationForest": lambda Z: -forest.score_samples(tangent.transform(Z)),
    }


def areas(split: tuple[np.ndarray, ...], seed: int) -> Iterator[tuple[str, str, float]]:
    """Yield case, method and the area under the curve, or the share of alarms."""
    X, y, queries, truth = split
    rng = np.random.default_rng(seed)
    methods = fitted(X)
    usual = {name: score(queries) for name, score in methods.items()}
    for name in methods:
        if name.startswith("SPD"):
            yield ALARMS, name, 100 * float((usual[name] > 0).mean())
    for kind in FAULTS:
        spoilt, _ = with_faults(queries, kind, 2 if kind == "swapped" else 1, rng)
        for name, score in methods.items():
            yield kind, name, area(usual[name], score(spoilt))
    for label in np.unique(y)[:CLASSES]:
        known = truth != label
        for name, score in fitted(X[y != label]).items():
            yield "new class", name, area(score(queries[known]), score(queries[~known]))


def area(usual: np.ndarray, novel: np.ndarray) -> float:
    truth = np.repeat([0, 1], [len(usual), len(novel)])
    return 100 * float(roc_auc_score(truth, np.concatenate([usual, novel])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    sets = ["vowels", "ssvep", "myo"]
    parser.add_argument("--sets", nargs="*", default=sets, choices=sets)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[float]]] = {}
    for name in options.sets:
        for seed, split in enumerate(divisions(name, options.data)):
            for case, method, value in areas(split, seed):
                found.setdefault(f"{name}, {case}", {}).setdefault(method, []).append(value)
    means = {
        case: {method: float(np.mean(values)) for method, values in row.items()}
        for case, row in found.items()
    }
    methods = list(next(row for case, row in means.items() if ALARMS not in case))
    ranked = [row for case, row in means.items() if ALARMS not in case]
    means["mean of areas"] = {m: float(np.mean([row[m] for row in ranked])) for m in methods}
    print("| |", " | ".join(methods), "|\n|---|" + "---|" * len(methods))
    for case, row in means.items():
        cells = " | ".join(f"{row[method]:.1f}" if method in row else "" for method in methods)
        print(f"| {case} | {cells} |")
    if options.json:
        options.json.write_text(json.dumps(means, indent=1) + "\n")


if __name__ == "__main__":
    main()
