"""What classifiers share: labels, probabilities and scores of the classes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import softmax

from spdatoms._utils.estimator import LabelPredictor
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, per_matrix


class SPDClassifier(LabelPredictor, SPDEstimator):
    """A classifier whose subclass returns the best class and the probabilities of checked matrices."""

    classes_: Array

    @abstractmethod
    def _best(self, X: FloatArray) -> Indices:
        """Return the index of the class of each matrix."""

    @abstractmethod
    def _probabilities(self, X: FloatArray) -> Floats:
        """Return the probabilities (m, n_classes) of the classes."""

    @per_matrix
    def predict(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Array:
        """Return the label of each matrix.

        Returns
        -------
        ndarray of shape (m,)
            The labels.
        """
        best = self._best(self.check_queries(X))
        labels: Array = self.classes_[best]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return the probabilities of the classes.

        Those of `SPDEnsembleClassifier` and `SPDSparseClassifierCV` are calibrated on left-out training matrices.
        Others are not, and rank the classes only: `SPDKNeighborsClassifier` has the shares of votes,
        `SPDSparseClassifier` softmax(10·scores), `MinimumDistanceToMean` softmax(−d). For these use scikit-learn's
        ``CalibratedClassifierCV``.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The probabilities, one row per matrix.
        """
        return self._probabilities(self.check_queries(X))


class ScoredClassifier(SPDClassifier):
    """argmax_c s_c(X), by the scores s_c of a subclass."""

    @abstractmethod
    def _scores(self, X: FloatArray) -> Floats:
        """Return the scores, (m, n_classes), of matrices that were checked."""

    def _best(self, X: FloatArray) -> Indices:
        return np.asarray(self._scores(X).argmax(axis=1))

    def _probabilities(self, X: FloatArray) -> Floats:
        return np.asarray(softmax(self._scores(X)))

    @per_matrix
    def decision_function(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return the scores of the classes.

        Sparse classifiers score how well each class represents a matrix, by `rule`; `SPDEnsembleClassifier` returns
        logits, whose softmax is `predict_proba`; `MinimumDistanceToMean` returns −d.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The scores of the classes; of two classes the second score minus the first.
        """
        return decision_values(self._scores(self.check_queries(X)))


def decision_values(scores: Floats) -> Floats:
    """Return scores (m, n_classes) as scikit-learn has them: of two classes, the difference (m,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def prior_answers(
    classes: Array, labels: Indices, weights: Floats | None, sharpness: float = 1.0
) -> dict[str, Array]:
    """Return what a classifier says of a matrix of which nothing is known: the weighted shares p of its classes.

    Its scores are log(p) divided by the sharpness that they are multiplied by before their softmax.
    """
    shares = np.bincount(labels, weights, len(classes))[None]
    shares = shares / shares.sum()
    scores = np.log(shares) / sharpness
    return {
        "predict": classes[shares.argmax(axis=1)],
        "predict_proba": shares,
        "decision_function": decision_values(scores),
    }
