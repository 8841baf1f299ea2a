"""The base class of all estimators on stacks of SPD matrices, also for estimators of your own.

An estimator derives from `SPDEstimator`, checks its matrices with `SPDEstimator.check_training_matrices`
and `SPDEstimator.check_queries`, and marks each method that has one result per matrix with `per_matrix`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.checks import check_size
from spdatoms._utils.fitting import CheckedFit, call_of
from spdatoms._utils.progress import progress_is_due
from spdatoms._utils.tags import StackInputMixin
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms.geometry.hermitian import is_complex
from spdatoms.geometry.validation import Unfit, check_spd, find_unfit
from spdatoms.scale.budget import is_streamed
from spdatoms.scale.lazy import by_chunks, with_progress
from spdatoms.scale.source import open_stream

__all__ = ["SPDEstimator", "check_labels", "check_streamable", "check_targets", "per_matrix"]

Method = TypeVar("Method", bound=Callable[..., Any])


class SPDEstimator(CheckedFit, StackInputMixin, BaseEstimator):
    """An estimator whose input X has the shape (m, n, n): m SPD matrices.

    ``fit`` begins by forgetting the last fit. If it fails or is interrupted, the estimator is not fitted;
    if ``partial_fit`` fails, the estimator stays as it was.

    Matrices may be complex Hermitian if the class has ``hermitian = True``. Real queries after complex training
    matrices, and complex ones after real ones, are taken for what they are: real matrices are Hermitian ones
    with an imaginary part of zero. Other classes refuse matrices with an imaginary part.

    A parameter ``verbose`` that is set shows a progress bar for every method with one result per matrix.

    Attributes
    ----------
    n_features_in_ : int
        The size n of the matrices seen in fit.

    See Also
    --------
    per_matrix : Lets ``transform``, ``predict`` and the like take Dask arrays and long memory maps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import ClassifierMixin
    >>> from spdatoms.base import SPDEstimator, check_labels, per_matrix
    >>> class LargestTrace(ClassifierMixin, SPDEstimator):
    ...     def fit(self, X, y):
    ...         X = self.check_training_matrices(X)
    ...         self.classes_, labels = check_labels(y, len(X))
    ...         self.label_ = self.classes_[labels[np.trace(X, axis1=1, axis2=2).argmax()]]
    ...         return self
    ...
    ...     @per_matrix
    ...     def predict(self, X):
    ...         return np.full(len(self.check_queries(X)), self.label_)
    >>> X = np.array([[[2.0, 0.0], [0.0, 1.0]], [[9.0, 1.0], [1.0, 3.0]]])
    >>> LargestTrace().fit(X, ["small", "large"]).predict(X)
    array(['large', 'large'], dtype='<U5')
    """

    n_features_in_: int
    #: Whether complex Hermitian matrices are accepted, too. An estimator that computes with the entries
    #: of matrices itself would lose their imaginary part, so the default is to refuse them.
    hermitian: ClassVar[bool] = False

    def check_training_matrices(self, X: ArrayLike) -> FloatArray:
        """Check the matrices given to ``fit``, and set ``n_features_in_``.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.

        Returns
        -------
        ndarray of shape (m, n, n)
            X in single or double precision, as `spdatoms.check_spd` returns it.
        """
        X = self._of_its_type(check_spd(X))
        self.n_features_in_ = X.shape[-1]
        return X

    def check_queries(self, X: ArrayLike) -> FloatArray:
        """Check that the estimator is fitted, and that X holds matrices of the size seen in ``fit``.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n, n)
            X in single or double precision, as `spdatoms.check_spd` returns it.
        """
        check_is_fitted(self)
        return self._of_its_type(check_size(check_spd(X), self.n_features_in_))

    def find_unfit(self, X: FloatArray) -> Unfit:
        """Return which of the matrices X (m, n, n) cannot be queries.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            Matrices.

        Returns
        -------
        Unfit
            The first of them, and how many there are.
        """
        return find_unfit(X)

    def example_query(self, dtype: Any) -> FloatArray:
        """Return a query: what has one result per matrix has one of the same form for this one.

        Parameters
        ----------
        dtype : dtype
            The type of its numbers.

        Returns
        -------
        ndarray of shape (1, n, n)
            The identity.
        """
        return np.eye(self.n_features_in_, dtype=dtype)[None]

    def _of_its_type(self, X: FloatArray) -> FloatArray:
        """Return X, or its real part if only real matrices are taken and the imaginary part is zero."""
        if self.hermitian or not is_complex(X):
            return X
        if X.imag.any():
            raise ValueError(
                f"Complex data not supported: {type(self).__name__} takes real matrices only. Pass X.real "
                "if the imaginary part is rounding."
            )
        return np.ascontiguousarray(X.real)


@allow.checks(
    method=allow.Allowed(
        ("a method",), lambda value: callable(value) and not isinstance(value, type)
    )
)
def per_matrix(method: Method) -> Method:
    """Decorate a method with one result per matrix: it takes Dask arrays and long memory maps, too.

    The result for a Dask array is a Dask array with the same chunks, not yet computed. For a memory map
    longer than `spdatoms.scale.block_budget` it is computed block by block.

    Parameters
    ----------
    method : callable
        A method ``method(self, X, *args, **kwargs)`` of an `SPDEstimator`, which returns an array whose
        i-th row (or entry) depends on ``X[i]`` alone. Other arguments reach every block as they are.

    Returns
    -------
    callable
        The method. A subclass may override it, and call it with ``super()``.

    See Also
    --------
    SPDEstimator : Has an example.
    """

    @wraps(method)
    def of_any(self: SPDEstimator, X: Any, *args: Any, **kwargs: Any) -> Any:
        with call_of(self, method.__name__):
            if is_streamed(X):
                # Blocks are not streamed: they come back here, and go to the method itself.
                return by_chunks(of_any, self, X, *args, **kwargs)
            if progress_is_due() and isinstance(X, np.ndarray) and X.ndim == 3 and len(X) > 1:
                return with_progress(method, self, X, *args, **kwargs)
            return method(self, X, *args, **kwargs)

    return cast(Method, of_any)


@allow.checks(n_jobs=allow.N_JOBS)
def check_streamable(X: Any, n_jobs: int | None = None) -> Any:
    """Check matrices that may not fit in memory.

    Parameters
    ----------
    X : array-like or dask.array.Array of shape (m, n, n)
        SPD matrices.
    n_jobs : int, default=None
        The number of threads that read a memory map.

    Returns
    -------
    ndarray of shape (m, n, n) or Stream
        X as `spdatoms.check_spd` returns it or, for a Dask array or a long memory map, a
        `spdatoms.scale.Stream`.
    """
    return open_stream(X, n_jobs) if is_streamed(X) else check_spd(X)


@allow.checks(count=allow.integer(0))
def check_labels(y: ArrayLike, count: int) -> tuple[Array, Indices]:
    """Check the labels given to a classifier.

    Parameters
    ----------
    y : array-like of shape (count,)
        The labels.
    count : int
        The number of matrices.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The different labels, sorted.
    indices : ndarray of shape (count,)
        For each label the index of its class.
    """
    if y is None:
        raise ValueError(
            "A classifier requires y to be passed, but the target y is None: give a label for every matrix of X."
        )
    if hasattr(y, "to_numpy"):  # of pandas: scikit-learn would make floats of nullable integers
        y = y.to_numpy()
    try:
        labels = column_or_1d(y, warn=True)
        _refuse_missing(labels)
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold the label of a class for every matrix: {error}") from error
    if len(labels) != count:
        raise ValueError(f"X holds {count} matrices, but y {len(labels)} labels.")
    classes, indices = np.unique(labels, return_inverse=True)
    if len(classes) == 1 and count > 1:
        warn_user(
            f"All {count} labels are {classes[0]!s}: a classifier that knows one class predicts "
            "nothing else. Check y.",
        )
    return classes, indices


def _refuse_missing(labels: Array) -> None:
    """Refuse objects that are None or NaN: they cannot be sorted with others."""
    if labels.dtype == object:
        for i, label in enumerate(labels):
            if label is None or (isinstance(label, float) and np.isnan(label)):
                raise ValueError(f"y[{i}] is missing ({label}), leave its matrix out.")


@allow.checks(count=allow.integer(0))
def check_targets(y: ArrayLike, count: int) -> Floats:
    """Check the targets given to a regressor.

    Parameters
    ----------
    y : array-like of shape (count,) or (count, q)
        A number for each matrix, or q numbers.
    count : int
        The number of matrices.

    Returns
    -------
    ndarray of shape (count,) or (count, q), float64
        The targets.
    """
    if y is None:
        raise ValueError(
            "A regressor requires y to be passed, but the target y is None: give a number for every matrix of X."
        )
    targets = in_order(y)
    if targets.dtype.kind == "O":
        with suppress(OverflowError, TypeError, ValueError):
            targets = targets.astype(np.float64)
    if targets.dtype.kind not in "fiub":
        raise ValueError(
            f"y must hold real numbers, got the dtype {targets.dtype}: for labels take a classifier."
        )
    if targets.ndim not in (1, 2) or not targets.size:
        raise ValueError(f"y must have the shape (m,) or (m, q), got {targets.shape}.")
    if len(targets) != count:
        raise ValueError(f"X holds {count} matrices, but y {len(targets)} targets.")
    if not np.isfinite(targets).all():
        raise ValueError(
            f"y[{np.argwhere(~np.isfinite(targets))[0][0]}] is not finite: leave out what is NaN or infinity."
        )
    return np.array(targets, np.float64)
