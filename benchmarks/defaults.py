"""What codes with nothing but the number of atoms given are worth: `SPDDictionaryLearning(104)` on real data.

    python benchmarks/defaults.py DATA --metric stein

DATA is a folder with ``brodatz``, ``feret_b``, ``hdm05`` and ``covariances`` inside; what is missing is left out.
Printed are the accuracy of the nearest code by its angle, the share of non-zeros in a code, and the β, α and ridge in
use, as means over some first atoms. With ``--linear``: logistic regression on codes of norm one, scaled, with the
default C and with the best of ten.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spdatoms import SPDDictionaryLearning
from spdatoms.paper.experiments.experiment import COVARIANCES
from spdatoms.paper.experiments.protocols.actions import Actions
from spdatoms.paper.experiments.protocols.faces import Faces
from spdatoms.paper.experiments.protocols.texture_dictionaries import TextureDictionaries


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


def nearest(folder: Path, metric: str, atoms: int, repeats: int) -> None:
    """Print the accuracy of the nearest code."""
    print("| set | accuracy | non-zeros | β | α | ridge |\n|---|---|---|---|---|---|")
    for name, (learn, gallery, labels, probes, truth) in tasks(folder, atoms):
        rows = []
        for seed in range(repeats):
            model = SPDDictionaryLearning(atoms, metric, random_state=seed, normalise=True)
            codes = model.fit(learn).transform(probes)
            right = labels[(codes @ model.transform(gallery).T).argmax(axis=1)] == truth
            share = np.count_nonzero(codes) / codes.size
            rows.append([100 * right.mean(), 100 * share, model.beta_, model.alpha_, model.ridge_])
        accuracy, share, *used = np.mean(rows, axis=0)
        numbers = " | ".join(f"{value:.3g}" for value in used)
        print(f"| {name} | {accuracy:.1f} | {share:.0f} % | {numbers} |", flush=True)


def linear(folder: Path, metric: str) -> None:
    """Print how far the default C of logistic regression on codes is from the best one."""
    print("| set | default C | best C |\n|---|---|---|")
    for path in sorted((folder / "covariances").glob("*.npz")):
        with np.load(path) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        some = np.random.default_rng(0).permutation(len(X))[:640]
        scores = []
        for model in (
            LogisticRegression(max_iter=1000),
            LogisticRegressionCV(Cs=10, max_iter=1000),
        ):
            learner = SPDDictionaryLearning(16, metric, random_state=0, normalise=True)
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            pipeline = make_pipeline(learner, StandardScaler(), model)
            scores.append(100 * cross_val_score(pipeline, X[some], y[some], cv=folds).mean())
        print(f"| {path.stem} | {scores[0]:.1f} | {scores[1]:.1f} |", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--metric", default="stein")
    parser.add_argument("--atoms", type=int, default=104)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--linear", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.linear:
        linear(arguments.folder, arguments.metric)
    else:
        nearest(arguments.folder, arguments.metric, arguments.atoms, arguments.repeats)


if __name__ == "__main__":
    main()
