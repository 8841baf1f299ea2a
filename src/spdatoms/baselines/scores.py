"""Classifiers by a score for every class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.weights import labelled_weights
from spdatoms.base import SPDEstimator, check_labels, per_matrix


def decision_values(scores: Floats) -> Floats:
    """Return scores (m, n_classes) as scikit-learn has them: of two classes, the difference (m,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def penalties(alpha: float, weights: Floats | None) -> float | Floats:
    """Return the penalty α of all atoms or, if they have weights w, α/√w_j of each."""
    return float(alpha) if weights is None else np.asarray(alpha / np.sqrt(weights))


class ScoredClassifier(ClassifierMixin, SPDEstimator):
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


class LabelledAtomsClassifier(ScoredClassifier):
    """A classifier whose training matrices are labelled atoms."""

    atoms_: FloatArray
    atom_weights_: Floats | None = None  # for models of earlier versions
    _atom_classes: Indices

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take the training matrices as labelled atoms.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : array-like of shape (m,)
            Their labels.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is left out, as if
            it were not there. The greater the weight of another, the more it is used as an atom, see the class.

        Returns
        -------
        self : object
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, self.atom_weights_ = labelled_weights(labels, self.classes_, sample_weight)
        self.atoms_, self._atom_classes = X[rows], labels[rows]
        return self
