"""Methods with one result per matrix, also of matrices that lack channels: one model per set of channels, kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.estimator import call_of, estimator_call
from spdatoms._utils.progress import progress_is_due
from spdatoms._utils.typing import Array, Indices
from spdatoms._utils.warning import holding_warnings, warn_of_share
from spdatoms.base.estimator import SPDEstimator
from spdatoms.exceptions import NoChannelWarning
from spdatoms.geometry.channels import (
    Mask,
    cut,
    find_unfit_channels,
    given_channels,
    patterns,
)
from spdatoms.scale.blocks import by_chunks, with_progress
from spdatoms.scale.budget import is_streamed

Method = TypeVar("Method", bound=Callable[..., Any])
#: Estimators for fewer channels are kept up to this number, and up to these bytes of arrays.
_MOST_KEPT, _MOST_BYTES = 32, 1 << 29


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

    taking_all = same_kind(of_any)
    vars(taking_all).update(takes_streams=True)
    return cast(Method, taking_all)


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
