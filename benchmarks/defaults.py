"""What codes with nothing but the number of atoms given are worth: `SPDDictionaryLearning(104)` on real data.

    python benchmarks/defaults.py DATA --metric stein

DATA is a folder with ``brodatz``, ``feret_b``, ``hdm05`` and ``covariances`` inside; what is missing is left out.
Printed are the accuracy of the nearest code by its angle, the share of non-zeros in a code, and the β, α and ridge in
use, as means over some first atoms. With ``--linear``: logistic regression on codes of norm one, scaled, with the
default C and with the best of ten, behind `SPDDictionaryLearning` and behind `SPDSparseCoder`.

    python benchmarks/defaults.py DATA --settle --metric stein

settles the constants of the automatic β and α (and τ of landmarks, for a metric that is learned with these) on other
data: Randen's textures, Myo and SSVEP. It prints the mean accuracy of the nearest code over these sets for a grid of
them, the best first. Of those with at most 30 % non-zeros on every set the library takes the best, with one α for all
metrics.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spdatoms import SPDDictionaryLearning, SPDSparseCoder
from spdatoms.dictionary import problem
from spdatoms.divergences import get_divergence
from spdatoms.kernels import bandwidth
from spdatoms.kernels.landmarks import SHARE
from spdatoms.lasso import alpha
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.protocols._columns import load_columns
from spdatoms.paper.protocols.actions import Actions
from spdatoms.paper.protocols.faces import Faces
from spdatoms.paper.protocols.texture_dictionaries import TextureDictionaries

#: The grid of constants: β as a multiple of 1 / median, α as a share of the spread, τ as a share of the spectrum.
_FACTORS, _SPREAD_SHARES, _CUTS = (0.1, 0.2, 0.5, 1.0), (0.02, 0.05, 0.1), (1e-4, 1e-3, 1e-2)
#: The matrices of a development set, half of which train.
_DEVELOPMENT_MATRICES = 800


def tasks(folder: Path, atoms: int) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield the name of a set, and what learns, the gallery and its labels, the probes and theirs."""
    rng = np.random.default_rng(0)
    if (folder / "brodatz").is_dir():
        textures = TextureDictionaries()
        task = textures.task(textures.load(folder)[str(atoms)], 0, rng)
        assert task.learn is not None
        (probes,) = task.tests.values()
        sets = task.learn, task.train, probes
        L, G, P = (views.views[COVARIANCES] for views in sets)
        yield "Brodatz", (L, G, task.train.y, P, probes.y)
    if (folder / "covariances").is_dir():
        with np.load(folder / "covariances" / "japanese_vowels.npz") as file:
            X, y, test = file["X"].astype(np.float64), file["y"], file["g"] == 1
        yield "vowels", (X[~test], X[~test], y[~test], X[test], y[test])
    others: list[tuple[str, str, Any]] = [
        ("FERET", "feret_b", Faces()),
        ("HDM05", "hdm05", Actions()),
    ]
    for name, inside, experiment in others:
        if (folder / inside).is_dir():
            task = experiment.task(next(iter(experiment.load(folder).values())), 0, rng)
            G = task.train.views[COVARIANCES]
            P = np.concatenate([views.views[COVARIANCES] for views in task.tests.values()])
            labels = np.concatenate([views.y for views in task.tests.values()])
            yield name, (G, G, task.train.y, P, labels)


def development_tasks(folder: Path) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield the sets that constants are settled on, one half of each trains."""
    columns = load_columns(folder, "raise")
    sets = {
        name: (columns[name].samples.views[COVARIANCES], columns[name].samples.y)
        for name in ("Randen 16", "Randen 5v", "SSVEP")
    }
    with np.load(folder / "covariances" / "myo_emg.npz") as file:
        sets["Myo"] = file["X"].astype(np.float64), file["y"]
    for name, (X, y) in sets.items():
        some = np.random.default_rng(0).permutation(len(X))[:_DEVELOPMENT_MATRICES]
        train, test = some[::2], some[1::2]
        yield name, (X[train], X[train], y[train], X[test], y[test])


def nearest_codes(task: tuple[np.ndarray, ...], metric: str, atoms: int, seed: int) -> list[float]:
    """Return accuracy and share of non-zeros in %, β, α and ridge."""
    learn, gallery, labels, probes, truth = task
    model = SPDDictionaryLearning(atoms, metric, random_state=seed, normalise=True)
    codes = model.fit(learn).transform(probes)
    right = labels[(codes @ model.transform(gallery).T).argmax(axis=1)] == truth
    share = np.count_nonzero(codes) / codes.size
    return [100 * right.mean(), 100 * share, model.beta_, model.alpha_, model.ridge_]


def settle(folder: Path, metric: str, atoms: int, repeats: int) -> None:
    """Print the mean accuracy on the development sets over a grid of constants, the best first."""
    never_sound = not get_divergence(metric).kernel_is_guaranteed(np.inf, 2)
    sets = dict(development_tasks(folder))
    rows = []
    grid = product(_FACTORS, _SPREAD_SHARES, _CUTS if never_sound else (SHARE,))
    for factor, share, cut in grid:
        with (
            patch.object(bandwidth, "_CODING_FACTORS", (factor,)),
            patch.object(bandwidth, "_NEVER_SOUND_FACTOR", factor),
            patch.object(alpha, "_SPREAD_SHARE", share),
            patch.object(problem, "SHARE", cut),
        ):
            found = np.array(
                [
                    np.mean([nearest_codes(task, metric, atoms, k) for k in range(repeats)], axis=0)
                    for task in sets.values()
                ]
            )
        rows.append((found[:, 0].mean(), found[:, :2], (factor, share, cut)))
        print(f"{factor} {share} {cut}: {rows[-1][0]:.2f}", file=sys.stderr, flush=True)
    print(f"| β·median | α | τ | mean | {' | '.join(sets)} |\n|{'---|' * (4 + len(sets))}")
    for mean, found, constants in sorted(rows, key=lambda row: -row[0]):
        cells = [f"{accuracy:.1f} ({share:.0f} %)" for accuracy, share in found]
        print("|", " | ".join([*map(str, constants), f"{mean:.2f}", *cells]), "|")


def nearest(folder: Path, metric: str, atoms: int, repeats: int) -> None:
    """Print the accuracy of the nearest code."""
    print("| set | accuracy | non-zeros | β | α | ridge |\n|---|---|---|---|---|---|")
    for name, task in tasks(folder, atoms):
        rows = [nearest_codes(task, metric, atoms, seed) for seed in range(repeats)]
        accuracy, share, *used = np.mean(rows, axis=0)
        numbers = " | ".join(f"{value:.3g}" for value in used)
        print(f"| {name} | {accuracy:.1f} | {share:.0f} % | {numbers} |", flush=True)


def linear(folder: Path, metric: str) -> None:
    """Print how far the default C of logistic regression on codes is from the best one."""
    print(
        "| set | learner, default C | best C | coder, default C | best C |\n|---|---|---|---|---|"
    )
    for path in sorted((folder / "covariances").glob("*.npz")):
        with np.load(path) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        some = np.random.default_rng(0).permutation(len(X))[:640]
        learner = SPDDictionaryLearning(16, metric, random_state=0, normalise=True)
        atoms = learner.fit(X[some]).atoms_  # without labels, so that the folds may share them
        scores = []
        for codes in (learner, SPDSparseCoder(atoms, metric, normalise=True)):
            for model in (
                LogisticRegression(max_iter=1000),
                LogisticRegressionCV(Cs=10, max_iter=1000),
            ):
                folds = StratifiedKFold(5, shuffle=True, random_state=0)
                pipeline = make_pipeline(codes, StandardScaler(), model)
                scores.append(100 * cross_val_score(pipeline, X[some], y[some], cv=folds).mean())
        print(f"| {path.stem} |", *(f"{score:.1f} |" for score in scores), flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--metric", default="stein")
    parser.add_argument("--atoms", type=int, default=104)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--settle", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.linear:
        linear(arguments.folder, arguments.metric)
    else:
        measure = settle if arguments.settle else nearest
        measure(arguments.folder, arguments.metric, arguments.atoms, arguments.repeats)


if __name__ == "__main__":
    main()
