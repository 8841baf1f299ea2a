"""Broken channels of queries: how often they are found, and what accuracy is left.

    python benchmarks/broken_channels.py --data folder [--sets vowels ssvep feret myo] [--draws 3] [--json results.json]

One or three channels of every query are broken: gain (variance ×10), noise of three times the variance in place of the
signal, noise of its variance, flat (variance ×1e-4), two swapped. *found*: some channel was; *exactly*: those that are
broken and no other. *recalibrated*: the same after ``recalibrate`` on all clean queries, where they are not like
training matrices. What is found in clean queries is a false alarm. Accuracies are those of RSR-S: untreated, with
``robust=True``, and with the right channels left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.io
from sklearn.model_selection import StratifiedKFold

from spdatoms import BrokenChannels, SPDSparseClassifier
from spdatoms.paper.protocols._corruption import FAULTS, with_faults

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: Whether it is so, per query, by case and figure.
Hits = dict[str, dict[str, np.ndarray]]
CASES = [
    ("clean", 0),
    ("gain", 1),
    ("noise", 1),
    ("gain", 3),
    ("noise", 3),
    ("weak noise", 1),
    ("flat", 1),
    ("swapped", 2),
]


def vowels(data: Path) -> Iterator[Split]:
    file = np.load(data / "covariances/japanese_vowels.npz")
    X, y, g = file["X"], file["y"], file["g"]
    yield X[g == 0], y[g == 0], X[g == 1], y[g == 1]


def ssvep(data: Path) -> Iterator[Split]:
    file = np.load(data / "covariances/ssvep.npz")
    for subject in np.unique(file["g"]):
        own = file["g"] == subject
        X, y = file["X"][own], file["y"][own]
        for a, b in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
            yield X[a], y[a], X[b], y[b]


def feret(data: Path) -> Iterator[Split]:
    def read(*poses: str) -> tuple[np.ndarray, np.ndarray]:
        own = [scipy.io.loadmat(data / f"feret_b/{pose}.mat")["features"] for pose in poses]
        X = np.concatenate([one.transpose(2, 0, 1).astype(float) for one in own])
        return X, np.tile(np.arange(200), len(poses))

    X, y = read("bd", "bg", "be", "bf")
    yield *read("ba", "bj", "bk"), X[1::4], y[1::4]


def myo(data: Path, *, same: bool) -> Iterator[Split]:
    file = np.load(data / "covariances/myo_emg.npz")
    for subject in np.unique(file["g"]):
        own = file["g"] == subject
        X, y, part = file["X"][own].astype(float), file["y"][own], file["part"][own]
        first = np.flatnonzero(part == 0)
        a, b = (first[::2], first[1::2]) if same else (first, np.flatnonzero(part > 0))
        yield X[a], y[a], X[b], y[b]


SETS: dict[str, Callable[[Path], Iterator[Split]]] = {
    "vowels": vowels,
    "ssvep": ssvep,
    "feret": feret,
    "myo same session": lambda data: myo(data, same=True),
    "myo other sessions": lambda data: myo(data, same=False),
}

#: Queries are not like training matrices.
SHIFTED = ("feret", "myo other sessions")


def left_out(X: np.ndarray, bad: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[bad] = np.nan
    X.swapaxes(1, 2)[bad] = np.nan
    return X


def measured(
    split: Split, cases: list[tuple[str, int]], seed: int, *, accuracy: bool, shifted: bool
) -> Hits:
    """Return hits and misses per query, by case and figure."""
    Xa, ya, Xb, yb = split
    rng = np.random.default_rng(seed)
    detector = BrokenChannels().fit(Xa)
    again = BrokenChannels().fit(Xa).recalibrate(Xb) if shifted else None
    model = SPDSparseClassifier().fit(Xa, ya)
    found: Hits = {}
    for kind, count in cases:
        Q, bad = with_faults(Xb, kind, count, rng) if count else (Xb, np.zeros(Xb.shape[:2], bool))
        flagged = detector.predict(Q)
        row = {"found": flagged.any(axis=1), "exactly": (flagged == bad).all(axis=1)}
        if again is not None:
            flags = again.predict(Q)
            row |= {"recalibrated: found": flags.any(axis=1)}
            row |= {"recalibrated: exactly": (flags == bad).all(axis=1)}
        if accuracy:
            row["untreated"] = model.predict(Q) == yb
            row["robust"] = model.predict(left_out(Q, flagged)) == yb
            row["told"] = model.predict(left_out(Q, bad)) == yb
        found[f"{kind} × {count}" if count else kind] = row
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--cases", type=int, default=len(CASES), help="only so many cases")
    parser.add_argument("--draws", type=int, default=3, help="how often faults are drawn")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    assert {kind for kind, count in CASES if count} == set(FAULTS)
    results = {}
    for name in options.sets:
        hits: dict[str, dict[str, list[np.ndarray]]] = {}
        for split in SETS[name](options.data):
            cases = CASES[: options.cases]
            accuracy, shifted = "myo" not in name, name in SHIFTED
            for seed in range(options.draws):
                found = measured(split, cases, seed, accuracy=accuracy, shifted=shifted)
                for case, row in found.items():
                    for figure, values in row.items():
                        hits.setdefault(case, {}).setdefault(figure, []).append(values)
        results[name] = {
            case: {
                figure: round(100 * float(np.concatenate(v).mean()), 1) for figure, v in row.items()
            }
            for case, row in hits.items()
        }
        for case, shares in results[name].items():
            print(
                f"{name:20} {case:16}", *(f"{k} {v:5.1f}  " for k, v in shares.items()), flush=True
            )
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
