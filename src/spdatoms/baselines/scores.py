"""Classifiers by one score for each class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, per_matrix


class ScoredClassifier(ClassifierMixin, SPDEstimator):
    """argmax_c s_c(X): what follows from the scores s_c, which a subclass gives."""

    classes_: NDArray[Any]

    @abstractmethod
    def _scores(self, X: FloatArray) -> Floats:
        """Return the scores, (m, n_classes), of matrices that were checked."""

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes for X (m, n, n), (m, n_classes), or (m,) for two classes."""
        scores = self._scores(self.check_queries(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @per_matrix
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each of the matrices X (m, n, n)."""
        scores = self._scores(self.check_queries(X))
        labels: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the softmax of the scores of X (m, n, n), (m, n_classes): a ranking, not calibrated."""
        return np.asarray(softmax(self._scores(self.check_queries(X)), axis=1))
