"""What is left where data are not perfect: channels missing or broken, labels wrong, ranks deficient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.channels import Mask, cut, known_channels, patterns
from spdatoms.paper.experiments.experiment import (
    COVARIANCES,
    Experiment,
    Method,
    Outcome,
    Setting,
    Task,
    percentage,
    timed,
)
from spdatoms.paper.experiments.methods.peers import ENSEMBLE, compared_classifiers
from spdatoms.paper.experiments.protocols._columns import load_columns
from spdatoms.paper.experiments.protocols._imperfections import IMPERFECTIONS
from spdatoms.paper.experiments.protocols.curves import Curve

#: The greatest number of queries in a division, drawn at random.
_QUERIES = 200
#: The number of divisions, where it is more than one.
_DIVISIONS = {"within subjects": 6, "30 per speaker": 3}
#: The rules of columns that are left out: with 64 and 93 channels each set of channels takes peers seconds to fit.
_SLOW = ("three subjects", "5×5 folds")
#: Those of 'classifiers' that are compared: one of each family.
_METHODS = (
    *("RSR-S", ENSEMBLE, "MDM", "FgMDM", "tangent space + LR"),
    *("tangent space + LDA pooled", "kernel SVM Stein", "1-NN Stein"),
)


class Imperfect(Experiment):
    """Accuracy where channels are missing or broken, labels are wrong, and ranks are deficient."""

    name = "imperfect"
    title = "Data that are not perfect"
    protocol = (
        "Data sets of 'classifiers', at most 200 queries of a division: three divisions of vowels, a fold of each of "
        "six subjects of SSVEP, and one division of the others; HDM05 and EEG are left out for time. One "
        "classifier of each family; it is always refitted to the channels that a query is left with; those of "
        "this library do so by themselves. Missing channels: every query lacks a share of its channels, one of five "
        "random sets; refitted, or queries filled in by local regression (SPDImputer). Missing everywhere: training "
        "matrices lack channels, too, each its own; filled in by local or by global regression. "
        "Broken channels, 60 queries of each division, 20 of more than 32 channels: one or three channels, one of five "
        "random sets, have ten times the variance (gain), only noise of three times the variance, or no signal (flat), "
        "or two are swapped; untreated, without channels of unusual variance (log variances farther off than in 99 % "
        "of training matrices), without those that BrokenChannels finds, and without the right ones (told). Wrong "
        "labels: a share of the training matrices gets labels of other classes; trained with all, without those "
        "that suspect_labels finds more probably wrong than right, and without those that are wrong (told). Deficient "
        "ranks: matrices referenced to the average, and with copies of two channels; on the common range (SPDRange, "
        "told the rank), or shrunk by 0.01 towards the identity."
    )
    wants = "the folders of 'classifiers', or some of them"
    subfolder = "covariances"
    figure = "imperfect"
    table = "imperfect"
    reference = ENSEMBLE
    in_figure = (
        *("RSR-S", ENSEMBLE, "MDM", "tangent space + LDA pooled"),
        *("kernel SVM Stein", "1-NN Stein"),
    )
    repeats = 6

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Curve]:
        """Return every imperfection of every column that the folder has data of."""
        if folder is None:
            raise self.no_embedded_data()
        columns = load_columns(folder, on_error)
        return {
            f"{name}: {i}": Curve(column, i)
            for name, column in columns.items()
            for i in IMPERFECTIONS
            if column.rule not in _SLOW
        }

    def most_repeats(self, data: Curve) -> int:
        """Return the number of divisions."""
        return min(_DIVISIONS.get(data.column.rule, 1), data.column.repeats)

    def task(self, data: Curve, repeat: int, rng: np.random.Generator) -> Task:
        """Divide the matrices by the rule of the column, and make them imperfect."""
        train, test = data.column.divide(repeat, rng)
        test = test.take(rng.permutation(len(test))[:_QUERIES])
        return Task(train, {}, parameters={"cases": IMPERFECTIONS[data.kind](train, test, rng)})

    def methods(self) -> dict[str, Method]:
        """Return one classifier of each family."""
        known = compared_classifiers()
        return {name: known[name] for name in _METHODS}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy of every treatment at every level, refitted to the channels that queries have."""
        scores, hits, fit_seconds, predict_seconds = {}, {}, 0.0, 0.0
        fitted: dict[tuple[int, bytes], Any] = {}
        for (treatment, level), (train, test) in task.parameters["cases"].items():
            X, Q = train.views[COVARIANCES], test.views[COVARIANCES]
            right = np.empty(len(Q), np.bool_)
            for known, rows in patterns(known_channels(Q)):
                key = id(train), known.tobytes()
                if key not in fitted:
                    model = method.make(setting)
                    _, seconds = timed(model.fit, _cut(X, known), train.y)
                    fitted[key], fit_seconds = model, fit_seconds + seconds
                found, seconds = timed(fitted[key].predict, _cut(Q[rows], known))
                right[rows], predict_seconds = found == test.y[rows], predict_seconds + seconds
            scores[f"{treatment}: {level}"] = percentage(right)
            hits[f"{treatment}: {level}"] = "".join(map(str, right.astype(int)))
        return Outcome(scores, fit_seconds, predict_seconds, {"hits": hits})


def _cut(X: FloatArray, known: Mask) -> FloatArray:
    return X if known.all() else cut(X, known)
