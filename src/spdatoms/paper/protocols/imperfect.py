"""What is left where data are not perfect: channels missing or broken, labels wrong, ranks deficient."""

from __future__ import annotations

import numpy as np

from spdatoms.paper.experiments.experiment import described
from spdatoms.paper.experiments.method import Method, Outcome, Refitted, Setting, percentage
from spdatoms.paper.experiments.task import COVARIANCES, Task
from spdatoms.paper.methods.peers import ENSEMBLE
from spdatoms.paper.protocols._imperfections import IMPERFECTIONS
from spdatoms.paper.protocols.curves import Curve, Curves

#: The greatest number of queries in a division, drawn at random.
_QUERIES = 200
#: The number of divisions, where it is more than one: of EEG every epoch is asked once.
_DIVISIONS = {"within subjects": 6, "30 per speaker": 3, "5×5 folds": 5}
#: Those of 'classifiers' that are compared: one of each family.
_METHODS = (
    *("RSR-S", ENSEMBLE, "MDM", "FgMDM", "tangent space + LR"),
    *("tangent space + LDA pooled", "kernel SVM Stein", "1-NN Stein"),
)


@described
class Imperfect(Curves):
    """Accuracy where channels are missing or broken, labels are wrong, and ranks are deficient."""

    kinds = tuple(IMPERFECTIONS)

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
        known = super().methods()
        return {name: known[name] for name in _METHODS}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy of every treatment at every level, refitted to the channels that queries have."""
        models, scores, hits = Refitted(method, setting), {}, {}
        for (treatment, level), (train, test) in task.parameters["cases"].items():
            right = models.predict(train, test.views[COVARIANCES]) == test.y
            scores[f"{treatment}: {level}"] = percentage(right)
            hits[f"{treatment}: {level}"] = "".join(map(str, right.astype(int)))
        return models.outcome(scores, hits=hits)
