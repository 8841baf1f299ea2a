"""Which training labels the other training matrices contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms.classification.ensemble import SPDEnsembleClassifier

_LISTED = 10


@dataclass(frozen=True)
class SuspectLabels:
    """Training matrices, those whose label is most doubtful first.

    Attributes
    ----------
    indices : ndarray of shape (m,)
        Their rows in the training set.
    probabilities : ndarray of shape (m,)
        How probable it is that the label is wrong: one minus its probability, given the other matrices.
    labels : ndarray of shape (m,)
        The labels they have.
    suggestions : ndarray of shape (m,)
        The most probable other labels.
    """

    indices: Indices
    probabilities: Floats
    labels: Array
    suggestions: Array

    def above(self, probability: float = 0.5) -> Indices:
        """Return the rows of the matrices whose label is wrong with more than this probability.

        Parameters
        ----------
        probability : float, default=0.5
            Between 0 and 1.

        Returns
        -------
        ndarray of int
        """
        return self.indices[self.probabilities > probability]

    def __str__(self) -> str:
        rows = zip(self.indices, self.labels, self.suggestions, self.probabilities, strict=True)
        listed = [
            f"#{index} is {label}, probably {other}: {100 * p:.0f} %"
            for index, label, other, p in list(rows)[:_LISTED]
            if p > 0.5
        ]
        return "\n".join(listed) or "no label is more probably wrong than right"


@allow.checks(
    estimator=allow.NONE
    | allow.Allowed(
        ("an SPDEnsembleClassifier",), lambda value: isinstance(value, SPDEnsembleClassifier)
    ),
    n_jobs=allow.N_JOBS,
)
def suspect_labels(
    X: ArrayLike, y: ArrayLike, *, estimator: Any = None, n_jobs: int | None = None
) -> SuspectLabels:
    """Return which labels of training matrices the others contradict, with probabilities.

    Each matrix is classified by an ensemble that was fitted without it. A label is suspect if its
    calibrated probability is small.

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices.
    y : array-like of shape (m,)
        Their labels, some of which may be wrong.
    estimator : SPDEnsembleClassifier or None, default=None
        The ensemble; None stands for one with its defaults. Folds are those of its ``cv``.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.

    Returns
    -------
    SuspectLabels
        All matrices, the most doubtful first.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import suspect_labels
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 3.0
    >>> X, y = samples @ samples.swapaxes(1, 2) / 20, np.repeat(["round", "long"], 20)
    >>> y[7] = "long"
    >>> int(suspect_labels(X, y).indices[0])
    7
    """
    y = np.asarray(y)
    model = SPDEnsembleClassifier() if estimator is None else clone(estimator)
    model.set_params(n_jobs=n_jobs).fit(X, y)
    others = np.delete(np.arange(len(y)), model.atom_indices_)  # they had no part in the fit
    probabilities = np.empty((len(y), len(model.classes_)))
    probabilities[model.atom_indices_] = model.left_out_probabilities_
    if len(others):
        probabilities[others] = model.predict_proba(np.asarray(X)[others])
    own = np.searchsorted(model.classes_, y)
    rows = np.arange(len(own))
    wrong = 1.0 - probabilities[rows, own]
    probabilities[rows, own] = -1.0
    order = np.argsort(-wrong, kind="stable")
    suggestions = model.classes_[probabilities.argmax(axis=1)]
    return SuspectLabels(order, wrong[order], y[order], suggestions[order])
