"""Bags of matrices, described by the largest entries of their codes and told apart by a linear SVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from spdatoms._utils.typing import FloatArray, Floats


class PooledCodes(ClassifierMixin, BaseEstimator):
    """v_j = max_i y_ij over the matrices X_i of a bag, with y_i their codes, and a linear SVM on v.

    Parameters
    ----------
    learner : estimator
        Learns a dictionary in `fit`, gives codes by `transform`. If there are fewer matrices than it
        has ``n_atoms``, that is lowered.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Sequence[FloatArray], y: NDArray[Any]) -> PooledCodes:
        """Learn a dictionary from all matrices of the bags X, and the SVM from the bags."""
        matrices = np.concatenate(list(X))
        atoms = min(self.learner.n_atoms, len(matrices))
        self.learner_ = clone(self.learner).set_params(n_atoms=atoms).fit(matrices)
        svm = make_pipeline(StandardScaler(), LinearSVC(dual=True, random_state=0, max_iter=20000))
        self.classifier_ = svm.fit(self._pooled(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Sequence[FloatArray]) -> NDArray[Any]:
        """Return the label of every bag."""
        labels: NDArray[Any] = self.classifier_.predict(self._pooled(X))
        return labels

    def _pooled(self, X: Sequence[FloatArray]) -> Floats:
        return np.stack([self.learner_.transform(bag).max(axis=0) for bag in X])
