"""The base class of all estimators on stacks of SPD matrices, also for estimators of your own.

An estimator derives from `SPDEstimator`, checks its matrices with `SPDEstimator.check_training_matrices`
and `SPDEstimator.check_queries`, and marks each method that has one result per matrix with `per_matrix`.
If it can say what it would be for fewer channels, queries may lack some.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from threading import RLock
from typing import Any, ClassVar, Self, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order, same_kind
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import StackEstimator, call_of, checked_fit, estimator_call
from spdatoms._utils.progress import progress_is_due
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.warning import holding_warnings, warn_of_share, warn_user
from spdatoms.exceptions import NoChannelWarning
from spdatoms.geometry.channels import (
    Mask,
    cut,
    find_unfit_channels,
    given_channels,
    known_channels,
    patterns,
)
from spdatoms.geometry.hermitian import is_complex
from spdatoms.geometry.validation import as_float, check_spd
from spdatoms.layout import holds
from spdatoms.scale.budget import is_streamed
from spdatoms.scale.by_chunks import by_chunks, with_progress
from spdatoms.scale.source import open_stream

__all__ = [
    "SPDEstimator",
    "by_channels",
    "check_labels",
    "check_streamable",
    "check_targets",
    "checked_fit",
    "estimator_call",
    "per_matrix",
]

Method = TypeVar("Method", bound=Callable[..., Any])
#: Estimators for fewer channels are kept up to this number, and up to these bytes of arrays.
_MOST_KEPT, _MOST_BYTES = 32, 1 << 29


class SPDEstimator(StackEstimator):
    """An estimator whose input X has the shape (m, n, n): m SPD matrices.

    Its methods are decorated: ``fit`` and ``partial_fit`` with `checked_fit`, those with one result per matrix with
    `per_matrix`, others with `estimator_call`.

    Matrices may be complex Hermitian if the class has ``hermitian = True``. Real queries after complex training
    matrices, and complex ones after real ones, are taken for what they are: real matrices are Hermitian ones
    with an imaginary part of zero. Other classes refuse matrices with an imaginary part.

    A parameter ``verbose`` that is set shows a progress bar for every method with one result per matrix.

    An estimator with a method ``_cut(known)``, which returns itself fitted for the channels in a mask (n,), takes
    queries that lack channels in its methods with `per_matrix` or `by_channels`: see there.

    Attributes
    ----------
    n_features_in_ : int
        The size n of the matrices seen in fit.

    See Also
    --------
    checked_fit : Checks parameters, and lets no estimator be fitted by half.
    per_matrix : Lets ``transform``, ``predict`` and the like take Dask arrays and long memory maps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import ClassifierMixin
    >>> from spdatoms.base import SPDEstimator, check_labels, checked_fit, per_matrix
    >>> class LargestTrace(ClassifierMixin, SPDEstimator):
    ...     @checked_fit
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
    #: Whether methods take the argument ``channels`` themselves, without `_cut`.
    own_channels: ClassVar[bool] = False
    _stored = holds("n_features_in_")

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
        if "n_features_in_" not in vars(self):  # sklearn's own look takes longer than a small code
            check_is_fitted(self)
        return self._of_its_type(check_size(check_spd(X), self.n_features_in_))

    def example_query(self, n: int, dtype: Any) -> FloatArray:
        """Return a query: results of every method have the same form for all matrices.

        Parameters
        ----------
        n : int
            The size of the matrix.
        dtype : dtype
            The type of its numbers.

        Returns
        -------
        ndarray of shape (1, n, n)
            The identity.
        """
        return np.eye(n, dtype=dtype)[None]

    @property
    def _n_channels(self) -> int:
        """The size of the matrices, if the estimator is fitted."""
        check_is_fitted(self)
        return self.n_features_in_

    def _heeded(self, X: Any) -> Any:
        """Return queries without the channels that an estimator does not trust."""
        return X

    def _with_channels(self, X: Any, channels: ArrayLike | None) -> tuple[FloatArray, Mask] | None:
        """Return matrices with the mask (m, n) of their channels; None if they have all channels, or X is no stack."""
        try:
            X = as_float(X, "X")
        except (TypeError, ValueError):
            return None  # the method will say what is wrong with it
        if X.ndim != 3 or X.shape[1] != X.shape[2] or not X.size:
            return None
        if channels is None:
            if not np.isnan(X.diagonal(axis1=1, axis2=2)).any():
                return None
            return check_size(X, self._n_channels), known_channels(X)
        m, n = len(X), self._n_channels
        mask = given_channels(channels, m, n)
        if (
            mask.ndim == 1 and X.shape[-1] == mask.sum() < n
        ):  # X holds these channels only, in the order of the indices
            at = (
                np.flatnonzero(mask)
                if np.asarray(channels).dtype == np.bool_
                else np.asarray(channels)
            )
            own, X = X, np.full((m, n, n), np.nan, X.dtype)
            X[:, at[:, None], at] = own
        known = known_channels(check_size(X, n)) & mask
        return None if known.all() else (X, known)

    def _answers_to_nothing(self) -> dict[str, Array]:
        """Return what methods, by name, say of one matrix without channels; others refuse it."""
        return {}

    def _fitted_anew(self, X: FloatArray, *args: Any, **parameters: Any) -> Self:
        """Return a clone fitted to other matrices, with other parameters as far as the class has them."""
        model = clone(self)
        own = model.get_params(deep=False)
        model.set_params(**{name: value for name, value in parameters.items() if name in own})
        fitted: Self = model.fit(X, *args)
        return fitted

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


@allow.checks(method=allow.METHOD)
def per_matrix(method: Method) -> Method:
    """Decorate a method with one result per matrix: it takes Dask arrays and long memory maps, too.

    The result for a Dask array is a Dask array with the same chunks, not yet computed. For a memory map
    longer than `spdatoms.scale.block_budget` it is computed block by block. Matrices may lack channels, as with
    `by_channels`.

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
    def complete(self: SPDEstimator, X: Any, *args: Any, **kwargs: Any) -> Any:
        if progress_is_due() and isinstance(X, np.ndarray) and X.ndim == 3 and len(X) > 1:
            return with_progress(method, self, X, *args, **kwargs)
        return method(self, X, *args, **kwargs)

    in_memory = _by_channels(complete)

    @wraps(method)
    def of_any(self: SPDEstimator, X: Any, *args: Any, **kwargs: Any) -> Any:
        with call_of(self, method.__name__):
            if is_streamed(X):
                if kwargs.get("channels") is not None:
                    kwargs["channels"] = given_channels(
                        kwargs["channels"], X.shape[0], self._n_channels
                    )
                # Blocks are not streamed: they come back here, and go to the method itself.
                return by_chunks(of_any, self, X, *args, **kwargs)
            return in_memory(self, X, *args, **kwargs)

    return cast(Method, same_kind(of_any))


@allow.checks(method=allow.METHOD)
def by_channels(method: Method) -> Method:
    """Decorate a method with one result per matrix, maybe no array: matrices may lack channels.

    A channel k that is missing in X_i is a row and a column k of NaN, or one that the argument ``channels`` does not
    name. Matrices with the same channels O are given to the estimator that ``_cut`` returns for these, as the
    marginals X_OO. It is kept for the next call, with those for some other sets of channels.

    Parameters
    ----------
    method : callable
        A method ``method(self, X, *args, channels=None, **kwargs)`` of an `SPDEstimator`, which returns a sequence, an
        array or a tuple of arrays, whose i-th entry depends on ``X[i]`` alone. The argument ``channels`` never
        reaches it.

    Returns
    -------
    callable
        The method.

    See Also
    --------
    per_matrix : For methods that return arrays: it takes streams, too.
    """
    return estimator_call(_by_channels(method))


def _by_channels(method: Method) -> Method:
    @wraps(method)
    def of_any(self: SPDEstimator, X: Any, *args: Any, **kwargs: Any) -> Any:
        if self.own_channels:
            return method(self, X, *args, **kwargs)
        channels = kwargs.pop("channels", None)
        if not hasattr(self, "_cut"):
            if channels is not None:
                raise ValueError(
                    f"{type(self).__name__} takes matrices with all channels only: leave out the argument channels, "
                    "and fill in what is missing with SPDImputer."
                )
            return method(self, X, *args, **kwargs)
        if channels is None:
            X = self._heeded(X)
        found = self._with_channels(X, channels)
        if found is None:
            return method(self, X, *args, **kwargs)
        X, known = found
        find_unfit_channels(X, known).raise_if_any("X", X.shape[:1])
        results = []
        for mask, rows in patterns(known):
            if mask.all():
                result = method(self, X[rows], *args, **kwargs)
            elif mask.any():
                result = method(_cut_model(self, mask), cut(X[rows], mask), *args, **kwargs)
            else:
                result = _of_nothing(self, method.__name__, rows)
            results.append((rows, result))
        warn_of_no_channel(known, "nothing is known of them")
        return _in_order(results, len(X))

    return cast(Method, of_any)


def warn_of_no_channel(known: Mask, meaning: str) -> None:
    """Warn if matrices have no channel by a mask (m, n), with what follows from it."""
    count = int((~known.any(axis=1)).sum())
    warn_of_share(count, len(known), f"matrices have no channel: {meaning}.", NoChannelWarning)


def _of_nothing(estimator: SPDEstimator, method: str, rows: Indices) -> Array:
    """Return what a method says of matrices without channels."""
    answers = estimator._answers_to_nothing()
    if method not in answers:
        raise ValueError(
            f"X[{rows[0]}] has no channel, and nothing can be said of it: leave it out."
        )
    return np.repeat(answers[method], len(rows), axis=0)


def _in_order(results: list[tuple[Indices, Any]], count: int) -> Any:
    """Return what is known of groups of rows as it would be of all rows at once."""
    first = results[0][1]
    if isinstance(first, tuple):
        each = range(len(first))
        return tuple(_in_order([(rows, part[i]) for rows, part in results], count) for i in each)
    if isinstance(first, np.ndarray):
        dtype = np.result_type(*(part for _, part in results))
        found = np.empty((count, *first.shape[1:]), dtype)
        for rows, part in results:
            found[rows] = part
        return found
    placed = {row: one for rows, part in results for row, one in zip(rows, part, strict=True)}
    return type(first)([placed[row] for row in range(count)])


class _CutModels:
    """Estimators for fewer channels, those that were asked last, as long as their model stays what it is."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state, self.lock = state, RLock()
        self._kept: OrderedDict[bytes, tuple[SPDEstimator, int]] = OrderedDict()

    def of(self, known: Mask, make: Callable[[Mask], SPDEstimator]) -> SPDEstimator:
        """Return the estimator for the channels that a mask knows."""
        with self.lock:
            key = known.tobytes()
            if key not in self._kept:
                with holding_warnings():  # fit has given them
                    model = make(known)
                self._kept[key] = model, _bytes_of(vars(model).values())
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and (
                len(self._kept) > _MOST_KEPT
                or sum(size for _, size in self._kept.values()) > _MOST_BYTES
            ):
                self._kept.popitem(last=False)
            return self._kept[key][0]


#: They are no attributes of their models: clones, copies and files have none.
_CUT_MODELS: WeakKeyDictionary[SPDEstimator, _CutModels] = WeakKeyDictionary()


def _cut_model(estimator: SPDEstimator, known: Mask) -> SPDEstimator:
    """Return an estimator for fewer channels, which may have been kept."""
    models, state = _CUT_MODELS.get(estimator), vars(estimator)
    if (
        models is None
        or models.state.keys() != state.keys()
        or any(models.state[name] is not value for name, value in state.items())
    ):
        models = _CUT_MODELS[estimator] = _CutModels(dict(state))
    return models.of(known, estimator._cut)


def _bytes_of(values: Iterable[Any]) -> int:
    """Return the bytes of the arrays among values and their attributes."""
    size, seen, waiting = 0, set(), list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            size += value.nbytes
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            waiting += value
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            waiting += vars(value).values()
    return size


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
    labels = given_labels(y, count)
    classes, indices = np.unique(labels, return_inverse=True)
    if len(classes) == 1 and count > 1:
        warn_user(
            f"All {count} labels are {classes[0]!s}: a classifier that knows one class predicts "
            "nothing else. Check y.",
        )
    return classes, indices


def given_labels(y: ArrayLike, count: int) -> Array:
    """Return labels as an array (count,), one per matrix; what is no label is refused."""
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
    return np.asarray(labels)


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
