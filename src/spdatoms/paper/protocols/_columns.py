"""Ten data sets of SPD matrices, each with its division into training and test matrices.

A column is what a table of classifiers has one number for: four of textures, faces, skeletons, two of
movements and one of flickering targets in EEG, and vowels. Data that a folder does not hold are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold

from spdatoms._utils.typing import Array, Indices
from spdatoms.datasets.dataset import Dataset
from spdatoms.paper.experiments.experiment import NoDataError
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, drawn
from spdatoms.paper.protocols import actions, faces, textures

#: The view with what counts as one observation in a standard error; without it that is a repeat.
UNITS = "units"
#: The view that divisions look at: poses, subjects, parts.
GROUPS = "groups"

Division = tuple[Indices, Indices]


@dataclass(frozen=True)
class Column:
    """Labelled matrices, and the name of the rule that divides them.

    Parameters
    ----------
    samples : LabelledViews
        The matrices, their groups, and perhaps the units of standard errors.
    rule : str
        A key of `RULES`.
    """

    samples: LabelledViews
    rule: str

    @property
    def repeats(self) -> int:
        """The number of divisions."""
        return RULES[self.rule].repeats(self.samples)

    def divide(self, repeat: int, rng: np.random.Generator) -> tuple[LabelledViews, LabelledViews]:
        """Return the training and the test matrices of a repeat.

        Parameters
        ----------
        repeat : int
            The number of the repeat.
        rng : Generator
            The source of randomness, for rules that draw the training matrices.

        Returns
        -------
        tuple of LabelledViews
        """
        train, test = RULES[self.rule].divide(self.samples, repeat, rng)
        return self.samples.take(train), self.samples.take(test)


@dataclass(frozen=True)
class Rule:
    """How often samples are divided, and how, and what counts as one observation: a repeat, or what is named."""

    repeats: Callable[[LabelledViews], int]
    divide: Callable[[LabelledViews, int, np.random.Generator], Division]
    units: Literal["repeats", "labels", "groups", "matrices"] = "repeats"


def _five_per_class(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    return drawn(samples.y, textures.TRAINING_BLOCKS, rng)


def _by_pose(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    poses = samples.views[GROUPS]
    train, test = np.isin(poses, faces.TRAINING), np.isin(poses, faces.TESTS)
    return np.flatnonzero(train), np.flatnonzero(test)


def _subjects(samples: LabelledViews) -> Array:
    return np.unique(samples.views[GROUPS])


def _by_subjects(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    subjects = samples.views[GROUPS]
    seen = np.isin(subjects, actions.training_subjects(subjects)[repeat])
    return np.flatnonzero(seen), np.flatnonzero(~seen)


_FOLDS, _ROUNDS = 5, 5


def _in_five_folds(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    """Return one of 5×5 stratified folds, whatever the seed of the run."""
    return _fold(samples.y, _FOLDS, fold=repeat % _FOLDS, shuffle=repeat // _FOLDS)


_FOLDS_WITHIN = 4


def _within_subject(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    """Return one of four stratified folds of a subject; subjects take turns."""
    fold, subject = divmod(repeat, len(_subjects(samples)))
    own = np.flatnonzero(samples.views[GROUPS] == _subjects(samples)[subject])
    train, test = _fold(samples.y[own], _FOLDS_WITHIN, fold=fold, shuffle=subject)
    return own[train], own[test]


def _fold(y: Array, folds: int, fold: int, shuffle: int) -> Division:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=shuffle)
    train, test = list(splitter.split(y, y))[fold]
    return train, test


_PER_SPEAKER = 30


def _published_or_drawn(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    """Return the published division first, then random ones with as many training matrices."""
    return drawn(samples.y, _PER_SPEAKER, rng) if repeat else _published(samples, repeat, rng)


def _published(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    training = samples.views[GROUPS] == 0
    return np.flatnonzero(training), np.flatnonzero(~training)


def _all_but_one(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    left_out = samples.views[GROUPS] == _subjects(samples)[repeat]
    return np.flatnonzero(~left_out), np.flatnonzero(left_out)


def _half_of_subjects(samples: LabelledViews, repeat: int, rng: np.random.Generator) -> Division:
    """Return the samples of a random half of the subjects and of the others, whatever the seed of the run."""
    subjects = np.random.default_rng(repeat).permutation(_subjects(samples))
    seen = np.isin(samples.views[GROUPS], subjects[: len(subjects) // 2])
    return np.flatnonzero(seen), np.flatnonzero(~seen)


RULES: Mapping[str, Rule] = {
    "five per class": Rule(lambda samples: 10, _five_per_class),
    "poses": Rule(lambda samples: 1, _by_pose, units="labels"),
    "three subjects": Rule(
        lambda samples: len(actions.training_subjects(samples.views[GROUPS])), _by_subjects
    ),
    # Folds share the epochs of one subject: 25 folds are no 25 observations.
    "5×5 folds": Rule(lambda samples: _FOLDS * _ROUNDS, _in_five_folds, units="matrices"),
    "within subjects": Rule(
        lambda samples: _FOLDS_WITHIN * len(_subjects(samples)), _within_subject, units="groups"
    ),
    "30 per speaker": Rule(lambda samples: 10, _published_or_drawn),
    "published": Rule(lambda samples: 1, _published, units="matrices"),
    "all but one subject": Rule(
        lambda samples: len(_subjects(samples)), _all_but_one, units="groups"
    ),
    "half of the subjects": Rule(lambda samples: 10, _half_of_subjects, units="groups"),
}

_TEXTURES = {
    "10": "Brodatz 10",
    "16c": "Brodatz 16c",
    "16c patches": "Randen 16",
    "5v patches": "Randen 5v",
}
#: Files of ready covariances: the column, and how it is divided.
_READY = {
    "eeg_s001_left_right": ("EEG left/right", "5×5 folds"),
    "eeg_s001_hands_feet": ("EEG hands/feet", "5×5 folds"),
    "ssvep": ("SSVEP", "within subjects"),
    "japanese_vowels": ("vowels", "30 per speaker"),
}


def load_columns(folder: Path, on_error: str) -> dict[str, Column]:
    """Return the columns whose data a folder holds, in the order of the table.

    Parameters
    ----------
    folder : Path
        With folders ``brodatz``, ``randen``, ``feret_b``, ``hdm05`` and ``covariances``, or some of them.
    on_error : {"raise", "warn"}
        What to do about files that are missing or cannot be read.

    Returns
    -------
    dict of str to Column
    """
    loaders = {
        "brodatz": _textures,
        "feret_b": _faces,
        "hdm05": _actions,
        "covariances": _ready,
    }
    found: dict[str, Column] = {}
    for name, load in loaders.items():
        if (folder / name).is_dir():
            found |= load(folder, on_error)
    if not found:
        raise NoDataError(f"{folder} has none of the folders {', '.join(loaders)}.")
    return found


def _textures(folder: Path, on_error: str) -> dict[str, Column]:
    mosaics = textures.Textures().load(folder, on_error)
    return {
        column: Column(mosaics[mosaic], "five per class")
        for mosaic, column in _TEXTURES.items()
        if mosaic in mosaics
    }


def _faces(folder: Path, on_error: str) -> dict[str, Column]:
    from spdatoms.paper.datasets import load_feret

    ready = load_feret(folder / "feret_b", kind="covariances", on_error=on_error)
    return {"FERET": column_of(ready, ready.data, "poses")}


def _actions(folder: Path, on_error: str) -> dict[str, Column]:
    from spdatoms.descriptors import JointCovariance
    from spdatoms.paper.datasets import load_hdm05

    motions = load_hdm05(folder / "hdm05", actions="paper", on_error=on_error)
    # In double precision: covariances of short takes are nearly singular.
    positions = [motion.astype(np.float64) for motion in motions.data]
    X = JointCovariance().fit_transform(positions)
    return {"HDM05": column_of(motions, X, "three subjects")}


def _ready(folder: Path, on_error: str) -> dict[str, Column]:
    from spdatoms.paper.datasets import load_covariances

    files = load_covariances(folder / "covariances", on_error=on_error)
    return {
        column: column_of(files[file], files[file].data, rule)
        for file, (column, rule) in _READY.items()
        if file in files
    }


def column_of(data: Dataset, X: Any, rule: str) -> Column:
    """Return the column of matrices with the labels and groups of a data set, divided by a rule."""
    views = {COVARIANCES: np.asarray(X), GROUPS: data.groups}
    units = {"labels": data.labels, "groups": data.groups, "matrices": np.arange(len(X))}
    if RULES[rule].units in units:
        views[UNITS] = units[RULES[rule].units]
    return Column(LabelledViews(data.labels, views), rule)
