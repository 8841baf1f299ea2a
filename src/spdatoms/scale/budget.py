"""How much of the data a task may hold, and which arrays are to be read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_BLOCK: ContextVar[int | None] = ContextVar("spdatoms block budget", default=None)
#: Bytes of a block if nobody has said anything.
BLOCK_BYTES = 8 << 20


def block_bytes(otherwise: int = BLOCK_BYTES) -> int:
    """Return how many bytes of matrices a task may read at a time, if the user has said so."""
    return _BLOCK.get() or otherwise


@contextmanager
def block_budget(size: int) -> Iterator[None]:
    """Let every task read at most so many bytes of matrices at a time.

    If never asked, that is 8 MiB, and on a cluster a sixty-fourth of the memory that its workers have for
    a thread, if that is more.

    A task needs about four times as much memory, and as many tasks run at once as there are threads.
    A part of the data, the smallest piece, may take 32 MiB, and a chunk of a Dask array is read whole.

    Parameters
    ----------
    size : int
        Bytes, at least one million.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKMeans
    >>> from spdatoms.scale import block_budget
    >>> X = np.arange(1.0, 7.0)[:, None, None] * np.eye(2)
    >>> with block_budget(8_000_000):
    ...     kmeans = SPDKMeans(2, random_state=0).fit(X)
    """
    if size < 1_000_000:
        raise ValueError(f"A block of {size} bytes is too small to work with: give a million.")
    token = _BLOCK.set(int(size))
    try:
        yield
    finally:
        _BLOCK.reset(token)


def is_chunked(X: Any) -> bool:
    """Say whether X is a Dask array, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "map_blocks")


def is_streamed(X: Any) -> bool:
    """Say whether X is to be read in pieces: a Dask array, or a memory map beyond the budget."""
    return is_chunked(X) or (isinstance(X, np.memmap) and X.nbytes > block_bytes())
