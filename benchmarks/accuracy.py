"""Accuracy of sparse-representation classification beside its rivals, on faces, textures and actions.

    python benchmarks/accuracy.py --data FOLDER --out docs/accuracy.md

FOLDER holds ``feret_b`` (one .mat file of 43×43 covariances a pose), ``brodatz`` (D1.png …) and
``hdm05/joints.npz`` (joint positions by ``subject__action__take``). Nothing is tuned to a data set:
every method runs with its defaults.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.io
from numpy.typing import NDArray
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from scipy.ndimage import correlate1d
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseClassifierCV
from spdatoms.geometry import regularise

Array: TypeAlias = NDArray[Any]

METHODS: dict[str, Callable[[], Any]] = {
    "RSR-S": lambda: SPDSparseClassifier("stein"),
    "RSR-J": lambda: SPDSparseClassifier("jeffrey"),
    "RSR-S, β and α chosen": lambda: SPDSparseClassifierCV("stein"),
    "RSR-J, β and α chosen": lambda: SPDSparseClassifierCV("jeffrey"),
    "RSR-S, sum rule": lambda: SPDSparseClassifier("stein", rule="sum"),
    "RSR-S, max rule": lambda: SPDSparseClassifier("stein", rule="max"),
    "RSR-J, sum rule": lambda: SPDSparseClassifier("jeffrey", rule="sum"),
    "RSR-J, max rule": lambda: SPDSparseClassifier("jeffrey", rule="max"),
    "kernel log-Euclidean": lambda: SPDSparseClassifier("logeuclid"),
    "1-NN, AIRM": lambda: SPDKNeighborsClassifier(metric="riemann"),
    "1-NN, Stein": lambda: SPDKNeighborsClassifier(metric="stein"),
    "MDM (pyRiemann)": lambda: MDM(metric="riemann"),
    "tangent space + logistic regression": lambda: make_pipeline(
        TangentSpace(metric="riemann"), LogisticRegression(max_iter=2000)
    ),
}


@dataclass
class Split:
    """One division of a data set; several test sets are scored one by one and averaged."""

    X: Array
    y: Array
    tests: list[tuple[Array, Array]]


def feret(folder: Path) -> Iterator[Split]:
    """Train on poses ba, bj, bk of 200 people; test on bd, be, bf, bg."""

    def pose(name: str) -> Array:
        features = scipy.io.loadmat(folder / "feret_b" / f"{name}.mat")["features"]
        return np.ascontiguousarray(features.transpose(2, 0, 1), dtype=np.float64)

    people = np.arange(200)
    train = np.concatenate([pose(name) for name in ("ba", "bj", "bk")])
    tests = [(pose(name), people) for name in ("bd", "be", "bf", "bg")]
    yield Split(train, np.tile(people, 3), tests)


MOSAICS = {
    "5c": (84, 77, 53, 24, 55),
    "16c": (4, 55, 5, 29, 21, 84, 68, 6, 77, 33, 32, 57, 24, 54, 9, 3),
}


def texture_covariances(path: Path) -> Array:
    """Return the 5×5 covariances of (I, |Ix|, |Iy|, |Ixx|, |Iyy|) over the 64 blocks of 32×32 pixels."""
    from skimage.io import imread

    image = imread(path, as_gray=True)[:256, :256].astype(np.float64)

    def derivative(weights: list[int], axis: int) -> Array:
        return np.asarray(np.abs(correlate1d(image, weights, axis=axis, mode="nearest")))

    first, second = [-1, 0, 1], [-1, 2, -1]
    features = np.stack(
        [
            image,
            derivative(first, 1),
            derivative(first, 0),
            derivative(second, 1),
            derivative(second, 0),
        ]
    )
    blocks = features.reshape(5, 8, 32, 8, 32).transpose(1, 3, 0, 2, 4).reshape(64, 5, 1024)
    blocks = blocks - blocks.mean(axis=2, keepdims=True)
    return np.asarray(blocks @ blocks.swapaxes(1, 2) / 1023)


def brodatz(folder: Path, mosaic: str, repeats: int = 20) -> Iterator[Split]:
    """Train on 5 random blocks of each texture, test on the other 59; so often."""
    textures = [texture_covariances(folder / "brodatz" / f"D{i}.png") for i in MOSAICS[mosaic]]
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        orders = [rng.permutation(64) for _ in textures]
        train = np.concatenate([x[o[:5]] for x, o in zip(textures, orders, strict=True)])
        test = np.concatenate([x[o[5:]] for x, o in zip(textures, orders, strict=True)])
        labels = np.arange(len(textures))
        yield Split(train, np.repeat(labels, 5), [(test, np.repeat(labels, 59))])


def hdm05(folder: Path) -> Iterator[Split]:
    """All ten ways to train on three subjects and test on the other two."""
    sequences = np.load(folder / "hdm05" / "joints.npz")
    keys = [key.split("__") for key in sequences]
    joints = [sequences[key].reshape(len(sequences[key]), -1) for key in sequences]
    X = regularise(np.stack([np.cov(positions, rowvar=False) for positions in joints]))
    subject, action = np.array([k[0] for k in keys]), np.array([k[1] for k in keys])
    for training in itertools.combinations(np.unique(subject), 3):
        seen = np.isin(subject, training)
        yield Split(X[seen], action[seen], [(X[~seen], action[~seen])])


DATA_SETS: dict[str, Callable[[Path], Iterator[Split]]] = {
    "FERET b, 43×43, 200 people": feret,
    "Brodatz 5c, 5×5, 20 repeats": lambda folder: brodatz(folder, "5c"),
    "Brodatz 16c, 5×5, 20 repeats": lambda folder: brodatz(folder, "16c"),
    "HDM05, 93×93, 11 actions, 10 splits": hdm05,
}


def evaluate(make: Callable[[], Any], splits: list[Split]) -> tuple[list[float], float]:
    """Return the accuracy (%) of each split, and seconds for all of them."""
    start, accuracies = time.perf_counter(), []
    for split in splits:
        model = make().fit(split.X, split.y)
        scores = [100.0 * np.mean(model.predict(X) == y) for X, y in split.tests]
        accuracies.append(float(np.mean(scores)))
    return accuracies, time.perf_counter() - start


def table(folder: Path, name: str, methods: list[str]) -> str:
    splits = list(DATA_SETS[name](folder))
    lines = [f"## {name}", "", "| method | accuracy (%) | seconds |", "|---|---|---|"]
    for method in methods:
        accuracies, seconds = evaluate(METHODS[method], splits)
        spread = f" ± {np.std(accuracies):.1f}" if len(accuracies) > 1 else ""
        lines.append(f"| {method} | {np.mean(accuracies):.2f}{spread} | {seconds:.1f} |")
        print(name, "|", lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--out", type=Path, help="a Markdown file for the tables")
    parser.add_argument("--sets", nargs="*", default=list(DATA_SETS), choices=list(DATA_SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    command = "python benchmarks/accuracy.py --data FOLDER --out docs/accuracy.md"
    parts = [f"# Accuracy\n\nMade by `{command}`; {(__doc__ or '').splitlines()[0]}"]
    for name in arguments.sets:
        parts.append(table(arguments.data, name, arguments.methods))
        if arguments.out:
            arguments.out.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
