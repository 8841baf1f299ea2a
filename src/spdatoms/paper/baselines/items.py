"""Classifiers of items that are no SPD matrices: images, sequences of joints, bags of matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.estimator import LabelPredictor, StackEstimator
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import estimator_call
from spdatoms.classification.classifier import decision_values
from spdatoms.descriptors.inputs import as_items, grey_image


class ItemClassifier(LabelPredictor, StackEstimator):
    """The `_best` class of items, and how `_decisions` of a subclass judge them."""

    classes_: Array

    @abstractmethod
    def _decisions(self, X: Any) -> Floats:
        """Return the values of ``decision_function`` for items that were not checked yet."""

    @abstractmethod
    def _best(self, X: Any) -> Indices:
        """Return the places of the labels in ``classes_`` for items that were not checked yet."""

    @estimator_call
    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the classes.

        Parameters
        ----------
        X : sequence
            The items, as those of `fit`.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The scores of the classes; of two classes the second score minus the first.
        """
        check_is_fitted(self)
        return self._decisions(X)

    @estimator_call
    def predict(self, X: Any) -> Array:
        """Return the labels.

        Parameters
        ----------
        X : sequence
            The items, as those of `fit`.

        Returns
        -------
        ndarray of shape (m,)
            The labels.
        """
        check_is_fitted(self)
        labels: Array = self.classes_[self._best(X)]
        return labels


class ScoredItemClassifier(ItemClassifier):
    """argmax_c s_c, by the `_scores` s_c of a subclass."""

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Return the scores, (m, n_classes), of items that were not checked yet."""

    def _decisions(self, X: Any) -> Floats:
        return decision_values(self._scores(X))

    def _best(self, X: Any) -> Indices:
        return np.asarray(self._scores(X).argmax(axis=1))


def grey_images(X: Any) -> list[FloatArray]:
    """Return the grey images that a classifier of images was given, checked."""
    return [grey_image(image, f"X[{i}]") for i, image in enumerate(as_items(X, "images", 2))]
