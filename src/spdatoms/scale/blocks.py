"""One block after another: of an array that may be longer than memory, and of results about it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, Indices
from spdatoms._utils.writing import scratch_file
from spdatoms.geometry.validation import Unfit
from spdatoms.scale.budget import block_bytes, is_streamed
from spdatoms.scale.stream import Stream, forget_pages

#: Bytes of gathered blocks from which on they lie in a file.
_IN_MEMORY = 1 << 26


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
        whole, start = np.empty(shape, first.dtype), 0
        for block in chain([first], results):
            whole[start : start + len(block)] = block
            start += len(block)
        return whole
    with scratch_file(None) as (file, path):
        for block in chain([first], results):
            file.write(np.ascontiguousarray(block, first.dtype).data.cast("B"))
    try:
        return np.memmap(path, first.dtype, "r", shape=shape)
    finally:
        path.unlink()
