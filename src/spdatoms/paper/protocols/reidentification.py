"""Person re-identification: the paper's figure of cumulative matching curves on ETHZ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Setting, fitted, timed
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, Task, drawn
from spdatoms.paper.methods.classifiers import ranking_classifiers
from spdatoms.paper.protocols._look_alikes import pedestrians

_TRAINING_IMAGES = 10
_RANKS = (1, 3, 5)
_TEST = "test"


@described
class Reidentification(Experiment):
    """Ten images of each pedestrian train; all pedestrians are ranked for every other image."""

    def embedded_data(self) -> dict[str, LabelledViews]:
        """Return the drawn figures."""
        return {"drawn figures": _people(*pedestrians())}

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        """Return the pedestrians of every sequence."""
        from spdatoms.paper.datasets import load_ethz

        people = load_ethz(self.place(folder), on_error=on_error)
        everyone = _people(people.data, people.labels)
        return {
            f"sequence {name.removeprefix('seq')}": everyone.take(people.groups == name)
            for name in np.unique(people.groups)
        }

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        """Take ten random images of each person to train, the others to test."""
        train, test = drawn(data.y, _TRAINING_IMAGES, rng)
        return Task(data.take(train), {_TEST: data.take(test)})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers that rank all classes."""
        return ranking_classifiers()

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return how often the right person is among the best, for a few ranks and as a curve."""
        model, fit_seconds = fitted(method, task, setting)
        test = task.tests[_TEST]
        scores, predict_seconds = timed(class_scores, model, test.views[method.view])
        curve = matching_curve(scores, model.classes_, test.y)
        ranks = {f"rank {r}": curve[r - 1] for r in _RANKS if r <= len(curve)}
        return Outcome(ranks, fit_seconds, predict_seconds, extra={"cmc": curve})


def _people(images: Any, labels: Array) -> LabelledViews:
    from spdatoms.descriptors import PersonCovariance

    each = [PersonCovariance().fit_transform([image]) for image in images]
    return LabelledViews(labels, {COVARIANCES: np.concatenate(each)})


def class_scores(model: Any, X: Array) -> Array:
    """Return a score for every class, the greatest being the best, (m, n_classes)."""
    scores = np.asarray(model.decision_function(X))
    return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)


def matching_curve(scores: Array, classes: Array, y: Array) -> list[float]:
    """Return the share (%) of queries whose class is among the 1, 2, … classes of the best scores."""
    own = scores[np.arange(len(y)), np.searchsorted(classes, y)]
    # Of classes with equal scores the right one counts as the last: ties bring no advantage.
    rank = (scores >= own[:, None]).sum(axis=1)
    return [100.0 * float(np.mean(rank <= r)) for r in range(1, len(classes) + 1)]
