"""One block after another: of an array that may be longer than memory, and of results about it.

`by_chunks` is what ``transform``, ``predict`` and the like of every estimator do with such arrays.
"""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, FloatArray, Indices
from spdatoms._utils.writing import scratch_file
from spdatoms.geometry.validation import Unfit, check_stack, float_type
from spdatoms.scale.budget import block_bytes, is_chunked, is_streamed
from spdatoms.scale.stream import Stream, forget_pages

#: Bytes of gathered blocks from which on they lie in a file.
_IN_MEMORY = 1 << 26
#: Steps of the bar of an array in memory.
_STEPS = 100


def blocks(X: Array) -> Iterator[tuple[slice, Array]]:
    """Yield rows and the blocks of X that they are: those of a stream are in memory one at a time, others are one."""
    if not is_streamed(X):
        yield slice(0, len(X)), X
        return
    for rows in block_rows(X, len(X)):
        block = np.array(X[rows])
        forget_pages(X)
        yield rows, block


def block_rows(X: Array, count: int) -> Iterator[slice]:
    """Yield slices of ``count`` rows of X, as many of them at a time as the budget allows."""
    return block_slices(count, max(1, block_bytes() // X[0].nbytes))


def some_rows(X: Array, rows: slice | Array) -> Array:
    """Return some rows, in memory."""
    return Stream(X)[rows] if is_streamed(X) else X[rows]


def taken(X: Array, rows: Indices) -> Array:
    """Return the rows of these indices: in memory, or of a stream in a temporary file."""
    if not is_streamed(X):
        return X[rows]
    return gathered((some_rows(X, rows[part]) for part in block_rows(X, len(rows))), len(rows))


def of_blocks(function: Callable[[Array], Any], X: Array) -> Iterator[tuple[slice, Any]]:
    """Yield rows and a function of blocks of X; a progress bar counts rows, and errors name their indices in X."""
    with progress_bar(len(X), shown=None if is_streamed(X) else False) as advance:
        for rows, block in blocks(X):
            with errors_in_block(rows, len(X)):
                result = function(block)
            yield rows, result
            advance(len(block))


@contextmanager
def errors_in_block(rows: slice, count: int | None = None, name: str = "X") -> Iterator[None]:
    """Let an error about a matrix of a block have its index in the whole, of which there are ``count``."""
    try:
        yield
    except ValueError as error:
        unfit = getattr(error, "unfit", None)
        if isinstance(unfit, Unfit) and rows != slice(0, count):
            block = f"{name}[{rows.start}:{rows.stop}]"
            unfit.moved(rows.start).raise_if_any(name, (rows.stop,), block)
        raise


def gathered(results: Iterable[Array], count: int) -> Array:
    """Return ``count`` rows that come block by block as one array, which is a memory map of a temporary file if long.

    The file goes with the array. On Windows, which removes no file that is mapped, all is kept in memory.
    """
    results = iter(results)
    first = np.asarray(next(results))
    shape = (count, *first.shape[1:])
    if math.prod(shape) * first.itemsize <= _IN_MEMORY or sys.platform == "win32":
        return _joined(chain([first], results), count)
    with scratch_file(None) as (file, path):
        for block in chain([first], results):
            file.write(np.ascontiguousarray(block, first.dtype).data.cast("B"))
    try:
        return np.memmap(path, first.dtype, "r", shape=shape)
    finally:
        path.unlink()


def _joined(results: Iterable[Array], count: int) -> Array:
    """Return ``count`` rows that come block by block as one array in memory."""
    results = iter(results)
    first = np.asarray(next(results))
    whole, start = np.empty((count, *first.shape[1:]), first.dtype), 0
    for block in chain([first], results):
        whole[start : start + len(block)] = block
        start += len(block)
    return whole


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
    from sklearn.utils.validation import check_is_fitted  # late, because not all commands need it

    check_is_fitted(estimator)
    check_stack(X, "X")
    call = _Call(method, estimator, args, kwargs)
    if is_chunked(X):
        return _lazily(call, X, _example(call, X))
    return _joined(_results(call, blocks(X), len(X)), len(X))


def with_progress(
    method: Callable[..., Any], estimator: Any, X: FloatArray, *args: Any, **kwargs: Any
) -> Any:
    """Return ``method(estimator, X, *args, **kwargs)`` as `by_chunks` does, for an array in memory, with a bar."""
    call = _Call(method, estimator, args, kwargs)
    parts = ((rows, X[rows]) for rows in block_slices(len(X), -(-len(X) // _STEPS)))
    return np.concatenate([*_results(call, parts, len(X))])


def _results(call: _Call, parts: Iterable[tuple[slice, Array]], count: int) -> Iterator[Array]:
    """Yield the results for some rows after others, with a bar of ``count`` rows."""
    with progress_bar(count) as advance:
        for rows, block in parts:
            yield _of_rows(call, block, rows.start)
            advance(len(block))


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
