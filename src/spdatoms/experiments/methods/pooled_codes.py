"""Bags of matrices, described by the largest entries of their codes and classified by a linear SVM."""

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
        Learns a dictionary by `fit` and codes by `transform`. Its ``n_atoms`` is lowered if there are
        fewer matrices.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Sequence[FloatArray], y: NDArray[Any]) -> PooledCodes:
        """Learn a dictionary from the matrices of all bags, and the SVM from the bags.

        Parameters
        ----------
        X : sequence of ndarray of shape (n_matrices, n, n)
            The bags.
        y : ndarray of shape (m,)
            Their labels.

        Returns
        -------
        PooledCodes
            The estimator itself.
        """
        matrices = np.concatenate(list(X))
        atoms = min(self.learner.n_atoms, len(matrices))
        self.learner_ = clone(self.learner).set_params(n_atoms=atoms).fit(matrices)
        svm = make_pipeline(StandardScaler(), LinearSVC(dual=True, random_state=0, max_iter=20000))
        self.classifier_ = svm.fit(self._pooled(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Sequence[FloatArray]) -> NDArray[Any]:
        """Return the label of every bag.

        Parameters
        ----------
        X : sequence of ndarray of shape (n_matrices, n, n)
            The bags.

        Returns
        -------
        ndarray of shape (m,)
        """
        labels: NDArray[Any] = self.classifier_.predict(self._pooled(X))
        return labels

    def _pooled(self, X: Sequence[FloatArray]) -> Floats:
        return np.stack([self.learner_.transform(bag).max(axis=0) for bag in X])
