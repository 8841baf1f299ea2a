"""Action recognition from skeletons: the paper's table on HDM05."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task, sequences
from spdatoms.paper.methods.classifiers import classifiers, cov3dj

_SUBJECTS = "subjects"
_CAPTURED, ALIGNED = "as captured", "heading aligned"
_TRAINING_SUBJECTS = 3
#: The joints of the hips, left and right, and the coordinate that points up.
HIPS, VERTICAL = (1, 6), 1


@described
class Actions(Experiment):
    """The motions of three people train; the actions of the others are to be named."""

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        """Return the motions of the paper's actions."""
        from spdatoms.descriptors import JointCovariance
        from spdatoms.descriptors.joints import with_heading
        from spdatoms.paper.datasets import load_hdm05

        motions = load_hdm05(self.place(folder), actions="paper", on_error=on_error)
        # In double precision: covariances of motions are nearly singular.
        captured = [motion.astype(np.float64) for motion in motions.data]
        aligned = [with_heading(motion, HIPS, VERTICAL, "motion") for motion in captured]
        return {
            name: LabelledViews(
                motions.labels,
                {
                    COVARIANCES: JointCovariance().fit_transform(positions),
                    "sequences": sequences(positions),
                    _SUBJECTS: motions.groups,
                },
            )
            for name, positions in ((_CAPTURED, captured), (ALIGNED, aligned))
        }

    def most_repeats(self, data: LabelledViews) -> int:
        """Return the number of ways to choose three subjects that leave somebody to test."""
        return len(training_subjects(data.views[_SUBJECTS]))

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        """Take the motions of three subjects to train, those of the others to test."""
        subjects = data.views[_SUBJECTS]
        seen = np.isin(subjects, training_subjects(subjects)[repeat])
        return Task(data.take(seen), {ACCURACY: data.take(~seen)})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers, and Cov3DJ on the positions themselves."""
        return classifiers(cov3dj())


def training_subjects(subjects: Array) -> list[tuple[str, ...]]:
    """Return all ways to choose three subjects that leave somebody to test."""
    people = np.unique(subjects)
    if len(people) <= _TRAINING_SUBJECTS:
        raise ValueError(
            f"{_TRAINING_SUBJECTS} subjects train and others are needed to test on, but the data have "
            f"{len(people)}."
        )
    return list(combinations(people, _TRAINING_SUBJECTS))
