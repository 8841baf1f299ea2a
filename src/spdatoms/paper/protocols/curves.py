"""Where sparse representation is a good choice: accuracy against what makes classification hard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Refitted, Setting, percentage
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, Task, drawn
from spdatoms.paper.methods.peers import compared_classifiers
from spdatoms.paper.protocols import _corruption as corruption
from spdatoms.paper.protocols._columns import Column, load_columns

SIZES = (1, 2, 5, 10, 20)
SHARES = (0.0, 0.1, 0.2, 0.3)
TRAINING_SIZE, MISLABELLED = "training size", "mislabelled"
OUTLIERS, NOISE = "outlier channel", "noise"
KINDS = (TRAINING_SIZE, MISLABELLED, OUTLIERS, NOISE)
#: By which multiple of itself the variance of channels is increased.
FACTORS = {OUTLIERS: (0.0, 1.0, 10.0, 100.0), NOISE: (0.0, 0.01, 0.1, 1.0)}
#: Data sets that are asked this many queries in every division need fewer divisions.
_MANY_QUERIES, _FEW_DIVISIONS = 50, 3
#: What a classifier learns from and what it is asked, by the level of what makes it hard.
Levels = Mapping[str, tuple[LabelledViews, LabelledViews]]


@dataclass(frozen=True)
class Curve:
    """A column of the comparison, and what is made hard about it."""

    column: Column
    kind: str


@described
class Curves(Experiment):
    """Accuracy against the number of training matrices, wrong labels, and two kinds of corrupted queries."""

    #: What is made hard.
    kinds: ClassVar[tuple[str, ...]] = KINDS

    def read(self, folder: Path, on_error: str) -> dict[str, Curve]:
        """Return every kind of difficulty for every column that the folder has data of."""
        columns = load_columns(folder, on_error).items()
        return {
            f"{name}: {kind}": Curve(data, kind) for name, data in columns for kind in self.kinds
        }

    def most_repeats(self, data: Curve) -> int:
        """Return the number of divisions, few of them where each has many queries."""
        _, test = data.column.divide(0, np.random.default_rng(0))
        most = _FEW_DIVISIONS if len(test) >= _MANY_QUERIES else data.column.repeats
        return min(most, data.column.repeats)

    def task(self, data: Curve, repeat: int, rng: np.random.Generator) -> Task:
        """Divide the matrices by the rule of the column, and make them harder level by level."""
        train, test = data.column.divide(repeat, rng)
        if data.kind == TRAINING_SIZE:
            if data.column.rule == "five per class":
                samples = data.column.samples
                pool, rest = drawn(samples.y, SIZES[-1], rng)
                train, test = samples.take(pool), samples.take(rest)
            else:
                train = train.take(rng.permutation(len(train)))
        return Task(train, {}, parameters={"levels": levels(data.kind, train, test, rng)})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers of 'classifiers'."""
        return compared_classifiers()

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy at every level; a classifier is fitted once for levels that differ in queries.

        One that refuses a single matrix of each class has no accuracy there.
        """
        models, scores = Refitted(method, setting), {}
        for level, (train, test) in task.parameters["levels"].items():
            try:
                predicted = models.predict(train, test.views[COVARIANCES])
            except ValueError:
                if len(np.unique(train.y)) < len(train):
                    raise
                continue
            scores[level] = percentage(predicted == test.y)
        return models.outcome(scores)


def levels(
    kind: str, train: LabelledViews, test: LabelledViews, rng: np.random.Generator
) -> Levels:
    """Return the training and test matrices of every level of one kind of difficulty."""
    if kind == TRAINING_SIZE:
        most = np.unique(train.y, return_counts=True)[1].max()
        sizes = [size for size in SIZES if size <= most]
        return {
            str(size): (train.take(corruption.some_per_class(train.y, size)), test)
            for size in sizes
        }
    # The same numbers at every level: matrices that are wrong at 10 % are wrong at 20 %, too.
    X, seed = test.views[COVARIANCES], rng.integers(2**32)
    draws = partial(np.random.default_rng, seed)
    if kind == MISLABELLED:
        wrong = {share: corruption.mislabelled(train.y, share, draws()) for share in SHARES}
        return {f"{share:.0%}": (replace(train, y=y), test) for share, y in wrong.items()}
    if kind == OUTLIERS:
        spoilt = {f: corruption.with_outlier_channel(X, f, draws()) for f in FACTORS[kind]}
    else:
        spoilt = {factor: corruption.with_noise(X, factor) for factor in FACTORS[kind]}
    return {f"{factor:g}": (train, test.with_covariances(Q)) for factor, Q in spoilt.items()}
