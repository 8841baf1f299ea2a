"""Channels that are missing: accuracy, completion and time, beside peers that get the best treatment known to us.

    python benchmarks/missing_channels.py queries --data DATA      # training complete
    python benchmarks/missing_channels.py training --data DATA     # training and queries, each its own
    python benchmarks/missing_channels.py completion --data DATA
    python benchmarks/missing_channels.py time --data DATA

DATA holds feret_b/ and covariances/, as `spdatoms.paper.datasets` reads them; without it there are drawn matrices only.
Every choice (patterns, divisions) is that of a seed. Peers of ``queries`` are refitted to the channels of each group
of queries, which is the fair treatment, or get matrices imputed by regression on the mean.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from spdatoms import (
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDImputer,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseCoder,
    divergence,
    mean,
)
from spdatoms.divergences.incomplete import completed
from spdatoms.geometry import invsqrtm, logm, vech
from spdatoms.geometry.channels import cut, known_channels

Division = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class TangentVectors:
    """Half-vectors of log(M^-½ X M^-½) at the mean M of the training matrices."""

    def fit(self, X: np.ndarray, y: Any = None) -> TangentVectors:
        self.root = invsqrtm(mean(X, "riemann", max_iter=50))
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return vech(logm(self.root @ X @ self.root))

    def fit_transform(self, X: np.ndarray, y: Any = None) -> np.ndarray:
        return self.fit(X).transform(X)


def tangent_lda() -> Any:
    return make_pipeline(
        TangentVectors(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    )


PEERS: dict[str, Callable[[], Any]] = {
    "tangent LDA": tangent_lda,
    "MDM": lambda: MinimumDistanceToMean(),
    "1-NN": lambda: SPDKNeighborsClassifier(1, metric="stein"),
}
OURS: dict[str, Callable[[], Any]] = {
    "RSR-S": SPDSparseClassifier,
    "ensemble": SPDEnsembleClassifier,
}


def feret(data: Path, people: int = 200, every: int = 4) -> Iterator[Division]:
    from scipy.io import loadmat

    def pose(name: str) -> np.ndarray:
        found: np.ndarray = loadmat(data / f"feret_b/{name}.mat")["features"]
        return found.transpose(2, 0, 1).astype(float)[:people]

    y = np.arange(people)
    train, test = (
        np.concatenate([pose(p) for p in poses])
        for poses in (("ba", "bj", "bk"), ("bd", "bg", "be", "bf"))
    )
    yield train, np.tile(y, 3), test[::every], np.tile(y, 4)[::every]


def vowels(data: Path) -> Iterator[Division]:
    d = np.load(data / "covariances/japanese_vowels.npz")
    X, y, test = d["X"], d["y"], d["g"] == 1
    yield X[~test], y[~test], X[test], y[test]


def ssvep(data: Path) -> Iterator[Division]:
    d = np.load(data / "covariances/ssvep.npz")
    for subject in np.unique(d["g"]):
        X, y = d["X"][d["g"] == subject].astype(float), d["y"][d["g"] == subject]
        for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
            yield X[train], y[train], X[test], y[test]


def connectomes(regions: int = 40, change: float = 0.15, seed: int = 0) -> Iterator[Division]:
    """Draw correlations of regions in modules: three groups, subjects that differ, 120 samples each."""
    rng = np.random.default_rng(seed)
    n, groups, per_group = regions, 3, 60
    modules = rng.standard_normal((n, 8)) * (rng.random((n, 8)) < 0.3)
    y = np.repeat(np.arange(groups), per_group)
    changes = change * rng.standard_normal((groups, n, 8)) * (rng.random((groups, n, 8)) < 0.2)
    X = np.empty((len(y), n, n))
    for i, group in enumerate(y):
        loadings = modules + changes[group] + 0.1 * rng.standard_normal((n, 8))
        samples = loadings @ rng.standard_normal((8, 120)) + rng.standard_normal((n, 120))
        S = np.cov(samples)
        scale = 1.0 / np.sqrt(S.diagonal())
        X[i] = S * scale * scale[:, None]
    test = np.arange(len(y)) % 2 == 1
    yield X[~test], y[~test], X[test], y[test]


def groups_of(
    count: int, n: int, share: float, number: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows, and the mask of channels that they have: ``number`` patterns in turn."""
    rng = np.random.default_rng(seed)
    for p in range(number):
        mask = np.ones(n, bool)
        mask[rng.permutation(n)[: int(share * n)]] = False
        yield np.arange(p, count, number), mask


def without(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, ~mask] = np.nan
    X[:, :, ~mask] = np.nan
    return X


def each_without(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return matrices that lack channels, every one other channels."""
    X = X.copy()
    for one in X:
        missing = rng.permutation(len(one))[: round(share * len(one))]
        one[missing] = one[:, missing] = np.nan
    return X


def report(table: dict[str, list[float]], unit: str = "%") -> None:
    for name, values in table.items():
        found = np.array(values)
        error = f" ± {found.std(ddof=1) / np.sqrt(len(found)):.2f}" if len(found) > 1 else ""
        print(f"    {name:32s} {found.mean():7.2f}{error} {unit}", flush=True)


def queries(sets: dict[str, Any], seeds: int, shares: list[float]) -> None:
    """Training matrices are complete, queries lack channels."""
    for name, divisions in sets.items():
        for share in shares:
            table: dict[str, list[float]] = defaultdict(list)
            for seed in range(seeds):
                right: dict[str, list[float]] = defaultdict(list)
                for division, (X, y, Z, t) in enumerate(divisions):
                    S = mean(X, "stein")
                    masked = Z.copy()
                    groups = list(groups_of(len(Z), X.shape[-1], share, 6, seed + 1000 * division))
                    for rows, mask in groups:
                        masked[rows] = without(Z[rows], mask)
                    for label, make in OURS.items():
                        right[label].extend(make().fit(X, y).predict(masked) == t)
                    filled = completed(masked, known_channels(masked), S)
                    for label, make in (PEERS | {"RSR-S": SPDSparseClassifier}).items():
                        right[f"{label}, imputed"].extend(make().fit(X, y).predict(filled) == t)
                    for rows, mask in groups:
                        for label, make in PEERS.items():
                            model = make().fit(cut(X, mask), y)
                            right[f"{label}, refitted"].extend(
                                model.predict(cut(Z[rows], mask)) == t[rows]
                            )
                for label, hits in right.items():
                    table[label].append(100.0 * float(np.mean(hits)))
            print(f"{name}, {share:.0%} of the channels missing in queries")
            report(table)


def training(sets: dict[str, Any], seeds: int, shares: list[float]) -> None:
    """Training matrices and queries lack channels, each its own."""
    for name, share in product(sets, shares):
        divisions = sets[name]
        table: dict[str, list[float]] = defaultdict(list)
        for seed in range(seeds):
            right: dict[str, list[float]] = defaultdict(list)
            for division, (X, y, Z, t) in enumerate(divisions):
                rng = np.random.default_rng(seed + 1000 * division)
                A, B = each_without(X, share, rng), each_without(Z, share, rng)
                for kind, imputer in (
                    ("local", SPDImputer()),
                    ("global", SPDImputer(global_share=1.0)),
                ):
                    train, test = imputer.fit_transform(A), imputer.transform(B)
                    for label, make in (OURS | PEERS).items():
                        if label != "1-NN":
                            right[f"{label}, {kind}"].extend(
                                make().fit(train, y).predict(test) == t
                            )
            for label, hits in right.items():
                table[label].append(100.0 * float(np.mean(hits)))
        for label in [label for label in table if label.endswith("local")]:
            other = table[label.replace("local", "global")]
            table[label.replace("local", "local − global")] = list(np.subtract(table[label], other))
        print(f"{name}, {share:.0%} of the channels missing in training and queries")
        report(table)


def completion(sets: dict[str, Any], seeds: int, shares: list[float]) -> None:
    """The Stein divergence between a matrix and what it is completed to, training complete."""
    for name, divisions in sets.items():
        divisions = list(divisions)[::4] if name == "SSVEP" else divisions
        for share in shares:
            table: dict[str, list[float]] = defaultdict(list)
            for seed in range(seeds):
                errors: dict[str, list[float]] = defaultdict(list)
                for division, (X, y, Z, t) in enumerate(divisions):
                    Z, t = Z[:200], t[:200]
                    masked = Z.copy()
                    for rows, mask in groups_of(
                        len(Z), X.shape[-1], share, 6, seed + 1000 * division
                    ):
                        masked[rows] = without(Z[rows], mask)
                    known = known_channels(masked)
                    means = np.stack([mean(X[y == label], "stein") for label in np.unique(t)])
                    learner = SPDDictionaryLearning(
                        min(64, len(X) // 2), random_state=0, max_iter=20
                    )
                    found = {
                        "regression on the mean": completed(masked, known, mean(X, "stein")),
                        "on the mean of the true class": completed(
                            masked, known, means[np.searchsorted(np.unique(t), t)]
                        ),
                        "SPDImputer": SPDImputer().fit(X).transform(masked),
                        "SPDSparseCoder.complete": SPDSparseCoder().fit(X).complete(masked),
                        "SPDDictionaryLearning.complete": learner.fit(X).complete(masked),
                    }
                    for label, filled in found.items():
                        errors[label].extend(np.ravel(divergence(filled, Z, "stein")))
                for label, values in errors.items():
                    table[label].append(float(np.mean(values)))
            print(f"{name}, {share:.0%} of the channels missing")
            report(table, "")


def time(sets: dict[str, Any], seeds: int, shares: list[float]) -> None:
    """Processor time of predictions for 20 patterns, the first time and the next, relative to complete queries."""
    for name in ("vowels", "FERET"):
        if name not in sets:
            continue
        X, y, Z, _ = sets[name][0]
        Z = np.concatenate([Z] * 4) if name == "FERET" else Z
        for label, make in OURS.items():
            for share in shares:
                model = make().fit(X, y)
                masked = Z.copy()
                for rows, mask in groups_of(len(Z), X.shape[-1], share, 20, 0):
                    masked[rows] = without(Z[rows], mask)
                model.predict(Z[:2])
                times = []
                for batch in (Z, masked, masked):
                    start = process_time()
                    model.predict(batch)
                    times.append(process_time() - start)
                first, kept = times[1] / times[0], times[2] / times[0]
                print(
                    f"{name}, {label}, {len(Z)} queries, {share:.0%} missing: complete {times[0]:.3f} s, "
                    f"first {first:.1f}×, kept {kept:.1f}×",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["queries", "training", "completion", "time"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shares", type=float, nargs="*", default=[0.25, 0.5, 0.75])
    parser.add_argument("--sets", nargs="*", help="FERET, vowels, SSVEP, connectomes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets: dict[str, Any] = {"connectomes": list(connectomes())}
    if options.data is not None:
        people, every = (100, 1) if options.what == "training" else (200, 4)
        sets = {
            "vowels": list(vowels(options.data)),
            "FERET": list(feret(options.data, people, every)),
            "SSVEP": list(ssvep(options.data)),
        } | sets
    sets = {name: found for name, found in sets.items() if not options.sets or name in options.sets}
    globals()[options.what](sets, options.seeds, options.shares)


if __name__ == "__main__":
    main()
