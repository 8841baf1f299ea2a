"""Time: what the paper says about sparse coding and about nearest neighbours under AIRM, in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method
from spdatoms.paper.experiments.task import ACCURACY, LabelledViews, Task
from spdatoms.paper.methods.classifiers import classifiers
from spdatoms.paper.protocols.actions import ALIGNED, Actions

_TRAINING, _QUERIES = 140, 109


@described
class Time(Experiment):
    """As many motions as in the paper train and are recognised; seconds count."""

    wants, subfolder = Actions.wants, Actions.subfolder

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        """Return the motions, turned to a common heading."""
        return {"": Actions().load(folder, on_error)[ALIGNED]}

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        """Draw the same motions in every repeat: only the seconds differ."""
        order = np.random.default_rng(0).permutation(len(data))
        count = min(_TRAINING, len(data) * _TRAINING // (_TRAINING + _QUERIES))
        queries = data.take(order[count : count + _QUERIES])
        return Task(data.take(order[:count]), {ACCURACY: queries})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers that the paper timed, and nearest neighbours under Stein."""
        known = classifiers()
        return {name: known[name] for name in ("RSR-S", "RSR-J", "1-NN Stein", "1-NN AIRM")}
