"""Classifiers of SPD matrices side by side: ten data sets, the same divisions for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import (
    ACCURACY,
    Experiment,
    LabelledViews,
    Method,
    Outcome,
    Setting,
    Task,
    fitted,
    percentage,
    timed,
)
from spdatoms.paper.experiments.methods.peers import (
    CHOSEN,
    ENSEMBLE,
    WEIGHTED,
    compared_classifiers,
)
from spdatoms.paper.experiments.protocols._columns import UNITS, Column, load_columns

#: Columns with this many matrices or more show how well probabilities are calibrated.
_CALIBRATED_FROM = 500
_BINS = 15


class Classifiers(Experiment):
    """Every classifier in every division of ten data sets."""

    name = "classifiers"
    title = "Classifiers side by side"
    protocol = (
        "Ten data sets, the same divisions for all methods. Brodatz 10 and 16c, Randen 16 and 5v: 5×5 "
        "covariances of texture blocks, five random ones of each texture train, ten repeats. FERET: 43×43 "
        "covariances of 200 people, three frontal images train, four turned poses are recognised together. "
        "HDM05: 93×93 covariances of joints as captured, headings not aligned; the motions of three subjects "
        "train, those of two are recognised, all ten divisions. EEG left/right and hands/feet: 45 "
        "covariances 64×64 of executed movements of one subject, 5×5 stratified folds. SSVEP: 24×24, four "
        "stratified folds within each of twelve subjects. Vowels: 12×12, nine speakers, the published "
        "division and nine random ones with 30 per speaker. Parameters that a method chooses it "
        "chooses on training matrices alone."
    )
    wants = (
        "folders 'brodatz', 'randen', 'feret_b', 'hdm05', and 'covariances' with japanese_vowels.npz, "
        "ssvep.npz, eeg_s001_left_right.npz and eeg_s001_hands_feet.npz (arrays X, y, g), or some of them"
    )
    subfolder = "covariances"
    caveat = (
        "Standard errors are over the repeats; for FERET over people, for SSVEP over subjects, for EEG over its 45 "
        "epochs, each of which is classified five times. Repeats share matrices: these are errors of the division, "
        "less than those of a new data set. The best peer of a column is the one with the "
        "greatest accuracy on its test matrices, a choice that favours the peers. "
        "So does that of the forms of LDA and of the grids of the kernel machines, which were settled after "
        "looking at test accuracies. Where tangent vectors have more dimensions than there are training "
        "matrices, all methods but the last two LDA are fitted in the span of the training vectors, which "
        "changes LDA with shrinkage='auto' and FgMDM. The cells of SPDEnsembleClassifier and the grid of "
        "SPDSparseClassifierCV were settled on test matrices of these columns; `benchmarks/cells.py` settles "
        "them anew without each column in turn, and says what its accuracy is then. With 16 classes FgMDM "
        "projects on all 15 dimensions of tangent vectors of 5×5 matrices, and is MDM. Calibration is of columns "
        "with 500 matrices and more. Seconds are processor time of one thread; methods take turns in every repeat."
    )
    table = "comparison"
    repeats = 48
    reference = WEIGHTED
    own = ("RSR-S", "RSR-J", CHOSEN, ENSEMBLE, WEIGHTED)

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Column]:
        """Return the columns that the folder has data of."""
        if folder is None:
            raise self.no_embedded_data()
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
