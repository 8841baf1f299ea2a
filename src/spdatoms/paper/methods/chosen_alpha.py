"""The penalty α of a classifier, chosen on training samples."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from spdatoms._utils.typing import Array
from spdatoms.paper.methods.kernel_machines import FewFolds


def with_alpha(model: Any, alpha: float) -> Any:
    """Return a fitted estimator that codes with another α over the same atoms."""
    found = copy(model).set_params(alpha=alpha)
    if hasattr(found, "alpha_"):
        found.alpha_ = alpha
    return found


@dataclass(eq=False, repr=False)
class ChosenAlpha(ClassifierMixin, BaseEstimator):
    """A classifier with the α of the most right answers in stratified folds of the training samples.

    Where predictions take long, some of the samples that a fold leaves out are enough.

    Parameters
    ----------
    classifier : estimator
        It has a parameter ``alpha``.
    alphas : tuple of float, default=(0.01, 0.001, 0.1)
        The α to try. Of equal ones the first is taken.
    queries : int, default=200
        The most training samples that are left out and classified with each α.
    """

    classifier: Any
    alphas: tuple[float, ...] = (0.01, 0.001, 0.1)
    queries: int = 200

    def fit(self, X: Any, y: Array) -> ChosenAlpha:
        """Choose α, and fit the classifier with it to all samples."""
        y, hits = np.asarray(y), np.zeros(len(self.alphas))
        rng, folds = np.random.default_rng(0), FewFolds()
        each = max(1, self.queries // folds.get_n_splits(X, y))
        for train, test in folds.split(X, y):
            asked = np.sort(rng.permutation(test)[:each])
            model = clone(self.classifier).fit(X[train], y[train])
            hits += [
                np.sum(with_alpha(model, a).predict(X[asked]) == y[asked]) for a in self.alphas
            ]
        self.alpha_ = self.alphas[int(hits.argmax())]
        self.model_ = with_alpha(clone(self.classifier).fit(X, y), self.alpha_)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Array:
        """Return the labels of samples."""
        return np.asarray(self.model_.predict(X))

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes."""
        return np.asarray(self.model_.decision_function(X))
