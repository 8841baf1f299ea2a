"""An experiment on random covariances, for the tests of runs, reports and commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms import SPDSparseClassifier
from spdatoms.paper.experiments import (
    Experiment,
    LabelledViews,
    Method,
    Outcome,
    Published,
    Setting,
    Task,
)
from spdatoms.paper.experiments.task import halves


def two_kinds(count: int = 20, seed: int = 0) -> LabelledViews:
    samples = np.random.default_rng(seed).standard_normal((2 * count, 3, 12))
    samples[count:, 2] *= 3.0
    covariances = samples @ samples.swapaxes(1, 2) / 12
    return LabelledViews(np.repeat(["round", "long"], count), {"covariances": covariances})


class Toy(Experiment):
    """Two kinds of random covariances; half of them are known."""

    name, title, protocol = "toy", "A toy", "Half of them are known."
    wants, subfolder, repeats = "nothing", "toy", 3
    published = (
        Published("RSR-S", {"accuracy": 91.25}, {"accuracy": 1.5}),
        Published("Oracle", {"accuracy": 100.0}, cited=True),
    )
    evaluations = 0

    def embedded_data(self) -> dict[str, LabelledViews]:
        return {"": two_kinds(seed=0)}

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        return {"": two_kinds(seed=1)}

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        train, test = halves(data.y, rng)
        return Task(data.take(train), {"accuracy": data.take(test)})

    def methods(self) -> dict[str, Method]:
        made = (
            Method("RSR-S", lambda setting: SPDSparseClassifier("stein")),
            Method("RSR-J", lambda setting: SPDSparseClassifier("jeffrey")),
        )
        return {method.name: method for method in made}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        Toy.evaluations += 1
        return super().evaluate(method, task, setting)
