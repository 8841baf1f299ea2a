"""Nearest neighbours that give a score to every class, for cumulative matching curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances

from spdatoms._utils.typing import Array, Floats
from spdatoms.base import check_labels
from spdatoms.classification.scores import nearest_atom_scores
from spdatoms.divergences.pairwise import pairwise_divergence


@dataclass(eq=False, repr=False)
class NearestVectorClass(ClassifierMixin, BaseEstimator):
    """−min_{i∈c} d(x, x_i), the score of class c.

    Parameters
    ----------
    metric : str, default="euclidean"
        The distance d of vectors, as for `sklearn.metrics.pairwise_distances`.
    """

    metric: str = "euclidean"

    def fit(self, X: ArrayLike, y: ArrayLike) -> NearestVectorClass:
        """Keep the samples and their labels.

        Parameters
        ----------
        X : array-like of shape (m, p) or (m, n, n)
            The samples.
        y : array-like of shape (m,)
            Their labels.

        Returns
        -------
        NearestVectorClass
            The estimator itself.
        """
        self._X = np.asarray(X)
        self.classes_, self._labels = check_labels(y, len(self._X))
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return a score (m, n_classes) for every class, given queries X (m, p) or (m, n, n)."""
        return nearest_atom_scores(self._distances(X), self._labels, len(self.classes_))

    def predict(self, X: ArrayLike) -> Array:
        """Return the class (m,) of the sample that is nearest to each query."""
        labels: Array = self.classes_[self.decision_function(X).argmax(axis=1)]
        return labels

    def _distances(self, X: ArrayLike) -> Floats:
        return np.asarray(pairwise_distances(X, self._X, metric=self.metric))


@dataclass(eq=False, repr=False)
class NearestClass(NearestVectorClass):
    """−min_{i∈c} d(X, X_i), the score of class c, for SPD matrices.

    Parameters
    ----------
    metric : str, default="riemann"
        The divergence d.
    n_jobs : int, default=None
        The number of threads.
    """

    metric: str = "riemann"
    n_jobs: int | None = None

    def _distances(self, X: ArrayLike) -> Floats:
        return np.asarray(pairwise_divergence(X, self._X, metric=self.metric, n_jobs=self.n_jobs))
