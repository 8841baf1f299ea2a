"""What the estimators on stacks of SPD matrices share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spdatoms._utils.checks import check_size
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import check_spd
from spdatoms.scale.budget import is_streamed

#: Methods with one result a matrix: of data in pieces they give the result piece by piece.
_PER_MATRIX = ("transform", "predict", "predict_proba", "decision_function", "_losses")


class SPDEstimator(BaseEstimator):
    """An estimator whose input has the shape (m, n, n).

    What it computes for each matrix of a Dask array is a Dask array; see `spdatoms.scale`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _PER_MATRIX:
            if name in cls.__dict__:
                setattr(cls, name, _in_pieces(cls.__dict__[name]))

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


def _in_pieces(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of an estimator, such that it takes Dask arrays and long memory maps, too."""

    @wraps(method)
    def of_any(self: SPDEstimator, X: Any) -> Any:
        if not is_streamed(X):
            return method(self, X)
        from spdatoms.scale.lazy import by_chunks

        return by_chunks(method, self, X)

    return of_any


def check_streamable(X: Any, n_jobs: int | None) -> Any:
    """Return X as `check_spd` does or, if it is to be read in pieces, as a `spdatoms.scale.Stream`."""
    if not is_streamed(X):
        return check_spd(X)
    from spdatoms.scale import open_stream

    return open_stream(X, n_jobs)


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
