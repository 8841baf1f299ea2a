"""Sports actions: the paper's table and confusion matrices on UCF sports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Array
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.paper.baselines import LogEuclideanKSVD, MaxPoolingClassifier
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Setting, by_name, percentage, timed
from spdatoms.paper.experiments.task import ACCURACY, LabelledViews, Task, sequences
from spdatoms.paper.protocols._look_alikes import films as drawn_films

VOLUMES = "volumes"
_BLOCK, _STEP = (15, 32, 32), 8
_ATOMS, _ATOMS_EMBEDDED = 256, 16


@dataclass(frozen=True)
class Films(LabelledViews):
    """Films as the covariances of their volumes, and the number of atoms to describe them with."""

    n_atoms: int = _ATOMS


@described
class Sports(Experiment):
    """All films but one train; the action of that one is to be named."""

    def embedded_data(self) -> dict[str, Films]:
        """Return the covariances of the volumes of drawn films."""
        return {"drawn films": _films(*drawn_films(), _ATOMS_EMBEDDED)}

    def read(self, folder: Path, on_error: str) -> dict[str, Films]:
        """Return the covariances of the volumes of every film."""
        from spdatoms.paper.datasets import load_ucf_sports

        films = load_ucf_sports(self.place(folder), on_error=on_error)
        rgb2gray = import_extra("skimage.color", extra="vision").rgb2gray
        return {"": _films(map(rgb2gray, films.data), films.labels, _ATOMS)}

    def most_repeats(self, data: LabelledViews) -> int:
        """Return the number of films."""
        return len(data)

    def task(self, data: Films, repeat: int, rng: np.random.Generator) -> Task:
        """Leave one film out."""
        others = np.arange(len(data)) != repeat
        tests = {ACCURACY: data.take(~others)}
        return Task(data.take(others), tests, parameters={"n_atoms": data.n_atoms})

    def methods(self) -> dict[str, Method]:
        """Return the dictionaries whose codes are pooled."""
        stein, jeffrey = (partial(SPDDictionaryLearning, metric=m) for m in ("stein", "jeffrey"))
        return by_name(
            Method("RSR-S", _pooled(stein), "dictionary learning, Stein", view=VOLUMES),
            Method("RSR-J", _pooled(jeffrey), "dictionary learning, Jeffrey", view=VOLUMES),
            Method("logEuc-SC", _pooled(LogEuclideanKSVD), "K-SVD on logarithms", view=VOLUMES),
        )

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return whether the prediction for the film is right, and the prediction."""
        model, test = method.make(setting), task.tests[ACCURACY]
        model.learner.set_params(**task.parameters)
        _, fit_seconds = timed(model.fit, task.train.views[method.view], task.train.y)
        predicted, predict_seconds = timed(model.predict, test.views[method.view])
        extra = {"truth": test.y.tolist(), "predicted": np.asarray(predicted).tolist()}
        scores = {ACCURACY: percentage(predicted == test.y)}
        return Outcome(scores, fit_seconds, predict_seconds, extra)


def _films(films: Iterable[Array], labels: Array, n_atoms: int) -> Films:
    volumes = [volume_covariances(film) for film in films]
    return Films(labels, {VOLUMES: sequences(volumes)}, n_atoms)


def volume_covariances(film: Array) -> Array:
    """Return the 12×12 covariances of the volumes of a grey film (frames, height, width).

    A film too short for a volume of 15 frames is one volume long.
    """
    from spdatoms.descriptors import KinematicCovariance

    frames = min(_BLOCK[0], len(film) - 1)
    descriptor = KinematicCovariance(block=(frames, *_BLOCK[1:]), step=_STEP)
    return np.asarray(descriptor.fit_transform([film]))


def _pooled(learner: Callable[..., Any]) -> Callable[[Setting], Any]:
    return lambda setting: MaxPoolingClassifier(
        learner(_ATOMS, random_state=setting.seed, n_jobs=setting.n_jobs)
    )
