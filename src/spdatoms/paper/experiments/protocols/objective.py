"""How the objective of dictionary learning falls, by the update of atoms and by the first ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import (
    COVARIANCES,
    Experiment,
    LabelledViews,
    Method,
    Outcome,
    Setting,
    Task,
    timed,
)
from spdatoms.paper.experiments.protocols import _texture_blocks as blocks
from spdatoms.paper.experiments.protocols.texture_dictionaries import TextureDictionaries

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


class Objective(Experiment):
    """The mean loss of a texture block after every half-step of learning."""

    name = "objective"
    title = "Objective of dictionary learning"
    protocol = (
        "Of each texture 20 blocks of 32×32 pixels are cut at random places and described by 5×5 covariances, and 24 "
        "atoms are learned from all of them in 15 iterations with α = 0.05 and the automatic β. The objective is the "
        "mean of ‖φ(X) − Σ_j y_j φ(D_j)‖² + α‖y‖₁ over the blocks, in % of ‖φ(X)‖² = 1. It is recorded after every "
        "half-step, coding and update of the atoms in turn."
    )
    wants = TextureDictionaries.wants
    subfolder = TextureDictionaries.subfolder
    embedded = "The blocks are of six photographs that come with scikit-image, not of the 111 plates of the paper."
    caveat = (
        "The paper shows no such curve. It learns from random first atoms or from intrinsic k-means, and proposes "
        "closed-form updates in place of gradient descent. By default Jeffrey's kernel is learned in the span of "
        "landmarks. There atoms may move towards the closed form or downhill, whichever is better, so that the rows "
        "'closed form' and 'gradient' are nearly the same; the paper's comparison is the one without landmarks."
    )
    repeats = 3
    repeats_embedded = 2
    figure = "descent"
    table = "descent"

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Plates]:
        """Return the plates, for both divergences."""
        plates = next(iter(TextureDictionaries().load(folder, on_error).values()))
        return {name: Plates(plates.images, learning) for name, learning in _PARTS.items()}

    def task(self, data: Plates, repeat: int, rng: np.random.Generator) -> Task:
        """Cut the blocks to learn from."""
        X = np.concatenate([blocks.at_random(image, _BLOCKS, rng) for image in data.images])
        learned_from = LabelledViews(np.zeros(len(X), dtype=int), {COVARIANCES: X})
        return Task(learned_from, {}, parameters=data.learning)

    def methods(self) -> dict[str, Method]:
        """Return two updates of atoms, and three choices of the first atoms."""
        found = (
            Method("closed form", _learner(), note="weighted centres, first atoms drawn at random"),
            Method(
                "gradient",
                _learner(update="gradient"),
                note="Riemannian gradient descent, the same first atoms",
            ),
            Method(
                "from k-means",
                _learner(init="kmeans"),
                note="weighted centres, first atoms by k-means with the same divergence",
            ),
            Method(
                "from intrinsic k-means",
                _learner(init="kmeans-riemann"),
                note="weighted centres, first atoms by affine-invariant k-means",
            ),
        )
        return {method.name: method for method in found}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the last objective, and the objective after every half-step."""
        X = task.train.views[method.view]
        learner, seconds = timed(method.make(setting).set_params(**task.parameters).fit, X)
        objective = 100.0 * learner.objective_ / len(X)
        return Outcome(
            {"objective": float(objective[-1])}, seconds, 0.0, {"objective": objective.tolist()}
        )


def _learner(**options: Any) -> Any:
    def make(setting: Setting) -> Any:
        from spdatoms.dictionary.learning import SPDDictionaryLearning

        parameters = {**_SETTINGS, "init": "random", **options}
        return SPDDictionaryLearning(**parameters, random_state=setting.seed, n_jobs=setting.n_jobs)

    return make
