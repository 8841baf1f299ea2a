"""Predictions of every labelled matrix by a classifier that was trained without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Array


@dataclass(frozen=True)
class HeldOut:
    """What classifiers say of matrices that they were not trained on.

    Attributes
    ----------
    probabilities : ndarray of shape (m, n_classes)
        Of every matrix, by the classifier of its fold.
    classes : ndarray of shape (n_classes,)
        The labels.
    folds : ndarray of int, shape (m,)
        The fold of every matrix.
    """

    probabilities: Array
    classes: Array
    folds: Array

    @property
    def predicted(self) -> Array:
        """The predicted labels."""
        return np.asarray(self.classes[self.probabilities.argmax(axis=1)])


def cross_validate(
    classifier: Any, X: Array, y: Array, cv: int, seed: int, *, shown: bool
) -> HeldOut:
    """Divide the matrices into folds with equal shares of the classes, and predict each by all others."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < cv:
        raise ValueError(
            f"--cv {cv} needs {cv} matrices of every class or more, but the class {classes[counts.argmin()]} has "
            f"{counts.min()}."
        )
    probabilities = np.empty((len(X), len(classes)))
    folds = np.empty(len(X), dtype=np.int64)
    division = StratifiedKFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(X)), y)
    with progress_bar(cv, "cross-validation", shown) as advance:
        for number, (others, fold) in enumerate(division):
            fitted = clone(classifier).fit(X[others], y[others])
            probabilities[fold] = fitted.predict_proba(X[fold])
            folds[fold] = number
            advance()
    return HeldOut(probabilities, classes, folds)
