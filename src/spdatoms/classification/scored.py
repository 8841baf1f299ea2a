"""Classifiers by a score for every class."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from spdatoms._utils.estimator import LabelPredictor
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.base import SPDEstimator, per_matrix


def decision_values(scores: Floats) -> Floats:
    """Return scores (m, n_classes) as scikit-learn has them: of two classes, the difference (m,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class ScoredClassifier(LabelPredictor, SPDEstimator):
    """argmax_c s_c(X), by the scores s_c of a subclass."""

    classes_: Array

    @abstractmethod
    def _scores(self, X: FloatArray) -> Floats:
        """Return the scores, (m, n_classes), of matrices that were checked."""

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
        """
        return decision_values(self._scores(self.check_queries(X)))

    @per_matrix
    def predict(self, X: ArrayLike) -> Array:
        """Return the labels of matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m,)
        """
        scores = self._scores(self.check_queries(X))
        labels: Array = self.classes_[scores.argmax(axis=1)]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the softmax of the scores: a ranking of the classes, not calibrated.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        return np.asarray(softmax(self._scores(self.check_queries(X)), axis=1))
