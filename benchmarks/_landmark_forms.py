"""Textures, faces and actions learned in the exact form and with landmarks: a part of `landmarks.py`."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from spdatoms import SPDDictionaryLearning
from spdatoms.coding.blocks import CodedBlock, for_coded_blocks
from spdatoms.dictionary.initial import first_atoms
from spdatoms.divergences import get_divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels.bandwidth import subsample_beta
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.paper.experiments import get_experiment

Floats = NDArray[np.float64]

LANDMARKS = 400
#: Of `compare`: iterations, α, and β as a multiple of the automatic one.
COMPARED_ITERATIONS, COMPARED_ALPHA, BETA_FACTORS = 15, 0.003, (0.1, 1.0)


@dataclass(frozen=True)
class Gallery:
    """Matrices to learn from, and labelled ones whose codes are compared."""

    learn: Floats
    train: Floats
    train_labels: NDArray[Any]
    test: Floats
    test_labels: NDArray[Any]
    n_atoms: int


def textures(folder: Path, n_atoms: int) -> Gallery:
    """Return blocks of Brodatz's textures, as in the experiment."""
    experiment = get_experiment("texture-dictionaries")
    plates = experiment.load(folder)["24"]
    task = experiment.task(plates, 0, np.random.default_rng(0))
    assert task.learn is not None
    learn, train, test = (
        part.views["covariances"] for part in (task.learn, task.train, task.tests["accuracy"])
    )
    return Gallery(learn, train, task.train.y, test, task.tests["accuracy"].y, n_atoms)


def faces(folder: Path, n_atoms: int) -> Gallery:
    """Return the frontal faces of FERET to learn from, and the turned ones."""
    from spdatoms.paper.datasets import load_feret

    found = load_feret(folder / "feret_b", kind="covariances")
    X, frontal = np.asarray(found.data), np.isin(found.groups, ("ba", "bj", "bk"))
    return Gallery(
        X[frontal], X[frontal], found.labels[frontal], X[~frontal], found.labels[~frontal], n_atoms
    )


def actions(folder: Path, n_atoms: int) -> Gallery:
    """Return the motions of three people of HDM05 to learn from, and those of the others."""
    experiment = get_experiment("actions")
    task = experiment.task(experiment.load(folder)[""], 0, np.random.default_rng(0))
    train, test = task.train, task.tests["accuracy"]
    X = train.views["covariances"]
    return Gallery(X, X, train.y, test.views["covariances"], test.y, n_atoms)


def compared(gallery: Gallery, metric: str, beta_factor: float) -> dict[str, Any]:
    """Learn in both forms from the same first atoms; return accuracy, loss and seconds of each."""
    divergence = get_divergence(metric)
    beta = beta_factor * subsample_beta(gallery.learn, divergence, "auto")
    atoms = first_atoms(
        gallery.learn, "kmeans", gallery.n_atoms, divergence, np.random.default_rng(0), None
    )
    found: dict[str, Any] = {}
    ridge = 0.0
    for form, landmarks in (("exact", None), ("landmarks", LANDMARKS)):
        learner = SPDDictionaryLearning(
            gallery.n_atoms,
            metric,
            beta,
            COMPARED_ALPHA,
            init=atoms,
            max_iter=COMPARED_ITERATIONS,
            tol=0.0,
            landmarks=landmarks,
        )
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            learner.fit(gallery.learn)
        seconds = time.perf_counter() - start
        ridge = max(ridge, learner.ridge_)  # that of the exact form, for both
        kernel = RidgeKernel(metric, beta, ridge).fit_checked(learner.atoms_)
        blocks: list[CodedBlock] = []
        for_coded_blocks(blocks.append, gallery.learn, kernel, COMPARED_ALPHA)
        neighbours = KNeighborsClassifier(1).fit(
            learner.transform(gallery.train), gallery.train_labels
        )
        found[form] = {
            "accuracy": float(
                neighbours.score(learner.transform(gallery.test), gallery.test_labels)
            ),
            "loss": float(np.concatenate([block.losses for block in blocks]).mean()),
            "seconds": seconds,
        }
    return found


#: Of `compare`: what learns how many atoms.
SETS = (
    ("textures", textures, 24),
    ("textures", textures, 104),
    ("faces", faces, 64),
    ("actions", actions, 32),
)


def compare(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """Compare the two forms where the exact one is sound."""
    print(
        f"\nα = {COMPARED_ALPHA}, {COMPARED_ITERATIONS} iterations, {LANDMARKS} landmarks: accuracy of codes (%), "
        "mean loss of the kernel itself, seconds; exact / landmarks"
    )
    print(f"{'':12} {'N':>4} {'':9} {'β/auto':>6} {'accuracy':>11} {'loss':>15} {'seconds':>13}")
    rows = []
    for name, load, n_atoms in (row for row in SETS if row[0] in names):
        gallery = load(folder, n_atoms)
        for metric in ("stein", "logeuclid"):
            for factor in BETA_FACTORS:
                row = compared(gallery, metric, factor)
                exact, span = row["exact"], row["landmarks"]
                rows.append(
                    {"data": name, "n_atoms": n_atoms, "metric": metric, "beta_factor": factor}
                    | row
                )
                print(
                    f"{name:12} {n_atoms:4} {metric:9} {factor:6} "
                    f"{100 * exact['accuracy']:5.1f}/{100 * span['accuracy']:5.1f} "
                    f"{exact['loss']:7.4f}/{span['loss']:7.4f} "
                    f"{exact['seconds']:6.1f}/{span['seconds']:6.1f}",
                    flush=True,
                )
    return rows
