"""Action recognition from skeletons: the paper's table on HDM05."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.experiments.experiment import (
    ACCURACY,
    COVARIANCES,
    Experiment,
    LabelledViews,
    Method,
    Published,
    Task,
)
from spdatoms.experiments.methods.classifiers import classifiers, cov3dj

_SUBJECTS = "subjects"
_TRAINING_SUBJECTS = 3


class Actions(Experiment):
    """The motions of three people train; the actions of the others are to be named."""

    name = "actions"
    title = "Action recognition from skeletons"
    protocol = (
        "HDM05. A motion becomes the 93×93 covariance of the positions of 31 joints. The motions of three "
        "subjects train, those of the other two are recognised. The paper has one such division and does "
        "not say which; here are all ten, as repeats."
    )
    wants = "HDM05: motions (.amc) with skeletons (.asf), or joints.npz, perhaps inside a folder 'hdm05'"
    subfolder = "hdm05"
    caveat = (
        "The paper uses 14 actions, 140 motions to train and 109 to test; here are the 11 of them that "
        "are at hand. Covariances of takes shorter than 93 frames are singular and "
        "get a small ridge. The deviation is that between divisions, some of which are much harder than "
        "others."
    )
    repeats = 10
    published = (
        Published("logEuc-SC", {ACCURACY: 89.9}),
        Published("Cov3DJ", {ACCURACY: 95.4}),
        Published("RSR-J", {ACCURACY: 98.2}),
        Published("RSR-S", {ACCURACY: 97.3}),
    )

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, LabelledViews]:
        """Return the motions of the paper's actions."""
        from spdatoms.datasets import load_hdm05
        from spdatoms.descriptors import JointCovariance

        if folder is None:
            raise self.no_embedded_data()
        motions = load_hdm05(self.place(folder), actions="paper", on_error=on_error)
        sequences = np.empty(len(motions), dtype=object)
        sequences[:] = list(motions.data)
        views = {
            COVARIANCES: JointCovariance().fit_transform(motions.data),
            "sequences": sequences,
            _SUBJECTS: motions.groups,
        }
        return {"": LabelledViews(motions.labels, views)}

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
