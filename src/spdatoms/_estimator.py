"""What the estimators on stacks of SPD matrices share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spdatoms.kernel import check_size
from spdatoms.validation import FloatArray, check_spd


class SPDEstimator(BaseEstimator):
    """An estimator whose input has the shape (m, n, n)."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _check_training_matrices(self, X: ArrayLike) -> FloatArray:
        X = check_spd(X)
        self.n_features_in_ = X.shape[-1]
        return X

    def _check_queries(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return check_size(check_spd(X), self.n_features_in_)


def check_labels(y: ArrayLike, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and, for each of ``count`` labels, the index of its class."""
    if y is None:
        raise ValueError("y is missing: a classifier needs a label for every matrix of X.")
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) != count:
        raise ValueError(f"X holds {count} matrices, but y {len(labels)} labels.")
    classes, indices = np.unique(labels, return_inverse=True)
    return classes, indices
