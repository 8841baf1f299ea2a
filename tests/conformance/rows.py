"""Estimators of matrices as estimators of rows: a row is the half-vector of the logarithm of a matrix.

So scikit-learn's own checks, which know rows only, can be run on them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_clusterer,
    is_outlier_detector,
    is_regressor,
)
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from spdatoms.geometry import expm


def matrices(rows: Any) -> Any:
    """Return SPD matrices exp(S) with the rows in the symmetric S.

    Objects, NaN, sparse arrays and those without rows are left to the estimator. scikit-learn itself refuses
    complex rows, which are no Hermitian matrices, and rows without a number.
    """
    if scipy.sparse.issparse(rows):
        return rows
    rows = np.asarray(rows)
    if rows.ndim == 1:
        return rows
    if rows.ndim != 2 or not rows.size or rows.dtype.kind == "c":
        rows = check_array(rows)
    if rows.dtype == object:
        with suppress(TypeError, ValueError):
            return matrices(rows.astype(np.float64)).astype(object)
    n = int(np.ceil(np.sqrt(2 * rows.shape[1] + 0.25) - 0.5))
    S = np.zeros((len(rows), n, n), rows.dtype if rows.dtype.kind in ("f", "O") else np.float64)
    i, j = (index[: rows.shape[1]] for index in np.tril_indices(n))
    S[:, i, j] = S[:, j, i] = rows
    if S.dtype == object or not np.isfinite(S).all():
        return S
    return expm(np.arcsinh(S))


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class OnRows(BaseEstimator):
    """An estimator of matrices that is given rows."""

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.target_tags = inner.target_tags
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
        return tags

    def fit(self, X: Any, y: Any = None) -> Any:
        X = self._matrices(X, reset=True)
        self.estimator_ = clone(self.estimator).fit(X, y)
        for name in ("classes_", "n_iter_", "labels_", "offset_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _matrices(self, X: Any, *, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
        found = matrices(X)
        if found.ndim == 3:
            validate_data(self, X, reset=reset, skip_check_array=True)
        return found

    @_has("transform")
    def transform(self, X: Any) -> Any:
        X = self._matrices(X, reset=False)
        return self.estimator_.transform(X)

    @_has("predict")
    def predict(self, X: Any) -> Any:
        X = self._matrices(X, reset=False)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        X = self._matrices(X, reset=False)
        return self.estimator_.predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        X = self._matrices(X, reset=False)
        return self.estimator_.decision_function(X)

    @_has("score_samples")
    def score_samples(self, X: Any) -> Any:
        X = self._matrices(X, reset=False)
        return self.estimator_.score_samples(X)


class TransformerOnRows(TransformerMixin, OnRows):
    """A transformer of rows."""


class ClassifierOnRows(ClassifierMixin, OnRows):
    """A classifier of rows."""


class RegressorOnRows(RegressorMixin, OnRows):
    """A regressor of rows."""


class DetectorOnRows(OutlierMixin, OnRows):
    """A detector of outliers among rows."""


class ClustererOnRows(TransformerMixin, ClusterMixin, OnRows):
    """A clusterer of rows."""


def on_rows(estimator: Any) -> OnRows:
    """Return the estimator for rows."""
    for kind, wrapper in (
        (is_classifier, ClassifierOnRows),
        (is_regressor, RegressorOnRows),
        (is_clusterer, ClustererOnRows),
        (is_outlier_detector, DetectorOnRows),
    ):
        if kind(estimator):
            return wrapper(estimator)
    return TransformerOnRows(estimator)
