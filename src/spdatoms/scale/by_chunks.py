"""`transform`, `predict` and the like of every estimator, for data that is not in memory."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.extras import import_extra
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import check_stack, float_type
from spdatoms.scale.blocks import blocks, errors_in_block
from spdatoms.scale.budget import is_chunked

#: Steps of the bar of an array in memory.
_STEPS = 100


@dataclass(frozen=True)
class _Call:
    """``method(estimator, X, *args, **kwargs)`` for any X.

    It holds the function, not its name: a subclass that overrides the method may have called it.
    """

    method: Callable[..., Any]
    estimator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, X: FloatArray, rows: slice | None = None) -> Any:
        """Call it for some rows; None stands for an example, which has all channels."""
        kwargs, channels = self.kwargs, np.asarray(self.kwargs.get("channels"))
        if channels.ndim == 2:  # a mask that differs between matrices
            kwargs = kwargs | {"channels": None if rows is None else channels[rows]}
        return self.method(self.estimator, X, *self.args, **kwargs)


def by_chunks(method: Callable[..., Any], estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``method(estimator, X, *args, **kwargs)`` where the method gives one row or number per matrix.

    For a Dask array the result is a Dask array with the same chunks, not yet computed. For a memory map
    it is computed from as many matrices at a time as the budget allows.
    """
    check_is_fitted(estimator)
    check_stack(X, "X")
    call = _Call(method, estimator, args, kwargs)
    example = _example(call, X)
    if is_chunked(X):
        return _lazily(call, X, example)
    out = np.empty((len(X), *example.shape[1:]), example.dtype)
    with progress_bar(len(X)) as advance:
        for rows, block in blocks(X):
            out[rows] = _of_rows(call, block, rows.start)
            advance(len(block))
    return out


def with_progress(
    method: Callable[..., Any], estimator: Any, X: FloatArray, *args: Any, **kwargs: Any
) -> Any:
    """Return ``method(estimator, X, *args, **kwargs)`` as `by_chunks` does, for an array in memory, with a bar."""
    call = _Call(method, estimator, args, kwargs)
    results = []
    with progress_bar(len(X)) as advance:
        for rows in block_slices(len(X), -(-len(X) // _STEPS)):
            results.append(_of_rows(call, X[rows], rows.start))
            advance(rows.stop - rows.start)
    return np.concatenate(results)


def _example(call: _Call, X: Any) -> FloatArray:
    """Return the result for an example, which has the dtype and the shape of that of every matrix."""
    query = call.estimator.example_query(X.shape[-1], float_type(X.dtype, "X"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(call(query))


def _lazily(call: _Call, X: Any, example: FloatArray) -> Any:
    dask = import_extra("dask", extra="scale")
    X = X.rechunk({1: -1, 2: -1})
    # The estimator may be changed before the result is computed. Progress is Dask's business.
    estimator = copy.copy(call.estimator)
    if getattr(estimator, "verbose", False):
        estimator.verbose = 0
    frozen = dask.delayed(replace(call, estimator=estimator), traverse=False)
    columns = example.shape[1:]
    return X.map_blocks(
        _of_chunk,
        call=frozen,
        empty=example[:0],
        dtype=example.dtype,
        drop_axis=[1, 2],
        new_axis=list(range(1, example.ndim)) or None,
        chunks=(X.chunks[0], *((size,) for size in columns)),
        meta=example[:0],
    )


def _of_chunk(X: FloatArray, call: _Call, empty: FloatArray, block_info: Any = None) -> Any:
    if len(X) == 0:  # a mask may leave a chunk empty
        return empty
    start, name = block_info[0]["array-location"][0][0], "X"
    if np.isnan(start):  # behind a mask it is unknown how many matrices come before this chunk
        start, name = 0, f"X.blocks[{block_info[0]['chunk-location'][0]}]"
    return _of_rows(call, X, start, name)


def _of_rows(call: _Call, X: FloatArray, start: int, name: str = "X") -> Any:
    """Return the result for some rows; an error gives the index of a matrix in the whole, or in a chunk."""
    rows = slice(start, start + len(X))
    with errors_in_block(rows, name=name):
        return call(X, rows)
