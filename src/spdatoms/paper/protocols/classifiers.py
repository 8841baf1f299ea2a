"""Classifiers of SPD matrices side by side: ten data sets, the same divisions for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Setting, fitted, percentage, timed
from spdatoms.paper.experiments.task import ACCURACY, LabelledViews, Task
from spdatoms.paper.methods.peers import compared_classifiers
from spdatoms.paper.protocols._columns import UNITS, Column, load_columns

#: Columns with this many matrices or more show how well probabilities are calibrated.
_CALIBRATED_FROM = 500
_BINS = 15


@described
class Classifiers(Experiment):
    """Every classifier in every division of ten data sets."""

    def read(self, folder: Path, on_error: str) -> dict[str, Column]:
        """Return the columns that the folder has data of."""
        return load_columns(folder, on_error)

    def most_repeats(self, data: Column) -> int:
        """Return the number of divisions."""
        return data.repeats

    def task(self, data: Column, repeat: int, rng: np.random.Generator) -> Task:
        """Divide the matrices by the rule of the column."""
        train, test = data.divide(repeat, rng)
        calibrated = len(data.samples) >= _CALIBRATED_FROM
        return Task(train, {ACCURACY: test}, parameters={"calibrated": calibrated})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers of this library and their peers."""
        return compared_classifiers()

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy, that of every unit, and the calibration of probabilities."""
        model, fit_seconds = fitted(method, task, setting)
        test = task.tests[ACCURACY]
        X = test.views[method.view]
        predicted, predict_seconds = timed(model.predict, X)
        hits = np.asarray(predicted) == test.y
        extra: dict[str, Any] = {"units": _hits_of_units(hits, test)}
        if task.parameters["calibrated"] and hasattr(model, "predict_proba"):
            extra["calibration"] = calibration_bins(model.predict_proba(X).max(axis=1), hits)
        return Outcome({ACCURACY: percentage(hits)}, fit_seconds, predict_seconds, extra)


def _hits_of_units(hits: Array, test: LabelledViews) -> dict[str, list[int]]:
    """Return how many matrices of every unit are right, and of how many; empty if a repeat is the unit."""
    if UNITS not in test.views:
        return {}
    units = test.views[UNITS]
    own = {str(unit): hits[units == unit] for unit in np.unique(units)}
    return {unit: [int(of.sum()), len(of)] for unit, of in own.items()}


def calibration_bins(confidence: Array, hits: Array) -> list[list[float]]:
    """Return for fifteen equal bins of confidence: predictions, their summed confidence, and hits."""
    bins = np.minimum((np.asarray(confidence) * _BINS).astype(int), _BINS - 1)
    return [
        [float(of.sum()), float(confidence[of].sum()), float(hits[of].sum())]
        for of in (bins == b for b in range(_BINS))
    ]
