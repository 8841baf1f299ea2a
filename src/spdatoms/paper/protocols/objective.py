"""How the objective of dictionary learning falls, by the update of atoms and by the first ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.paper.experiments.experiment import described
from spdatoms.paper.experiments.method import Method, Outcome, Setting, by_name, timed
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, Task
from spdatoms.paper.methods.classifiers import noted
from spdatoms.paper.protocols import _texture_blocks as blocks
from spdatoms.paper.protocols.texture_dictionaries import TextureDictionaries

_BLOCKS = 20
#: The same for all, so that objectives can be compared.
_SETTINGS = {"n_atoms": 24, "alpha": 0.05, "max_iter": 15, "tol": 0.0}
_PARTS: dict[str, dict[str, Any]] = {
    "Stein": {"metric": "stein"},
    "Jeffrey": {"metric": "jeffrey"},
    "Jeffrey without landmarks": {"metric": "jeffrey", "landmarks": None},
}


@dataclass(frozen=True)
class Plates:
    """Whole images, and how dictionaries of their blocks are learned: parameters of `SPDDictionaryLearning`."""

    images: tuple[Array, ...]
    learning: dict[str, Any]


@described
class Objective(TextureDictionaries):
    """The mean loss of a texture block after every half-step of learning."""

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Any]:
        """Return the images of the texture dictionaries, for both divergences."""
        found = super().load(folder, on_error)
        images = next(iter(found.values())).images
        return {name: Plates(images, learning) for name, learning in _PARTS.items()}

    def task(self, data: Any, repeat: int, rng: np.random.Generator) -> Task:
        """Cut the blocks to learn from."""
        X = np.concatenate([blocks.at_random(image, _BLOCKS, rng) for image in data.images])
        learned_from = LabelledViews(np.zeros(len(X), dtype=int), {COVARIANCES: X})
        return Task(learned_from, {}, parameters=data.learning)

    def methods(self) -> dict[str, Method]:
        """Return two updates of atoms, and three choices of the first atoms."""
        return by_name(
            _learner("closed form"),
            _learner("gradient", update="gradient"),
            _learner("from k-means", init="kmeans"),
            _learner("from intrinsic k-means", init="kmeans-riemann"),
        )

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the last objective, and the objective after every half-step."""
        X = task.train.views[method.view]
        learner, seconds = timed(method.make(setting).set_params(**task.parameters).fit, X)
        objective = 100.0 * learner.objective_ / len(X)
        return Outcome(
            {"objective": float(objective[-1])}, seconds, 0.0, {"objective": objective.tolist()}
        )


def _learner(name: str, **options: Any) -> Method:
    make = partial(SPDDictionaryLearning, **{**_SETTINGS, "init": "random", **options})
    return noted(name, lambda s: make(random_state=s.seed, n_jobs=s.n_jobs))
