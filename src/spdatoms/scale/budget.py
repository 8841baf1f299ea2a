"""How many bytes of the data a task may read, and which arrays are streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from spdatoms._utils import parameters as allow

_BLOCK: ContextVar[int | None] = ContextVar("spdatoms block budget", default=None)
#: Bytes of matrices that a task may read at a time unless `block_budget` is set.
BLOCK_BYTES = 8 << 20


def block_bytes(otherwise: int = BLOCK_BYTES) -> int:
    """Return how many bytes of matrices a task may read at a time: `block_budget`, or ``otherwise``."""
    return _BLOCK.get() or otherwise


_BYTES = allow.Allowed(
    ("a number of bytes, at least a million",), allow.real(1_000_000, 1 << 62).test
)


@allow.checks(size=_BYTES)
@contextmanager
def block_budget(size: int) -> Iterator[None]:
    """Let every task read at most this many bytes of matrices at a time.

    The default is 8 MiB. On a cluster it is 1/64 of the memory that its workers have per thread, if that
    is more.

    A task needs about four times as much memory, and as many tasks run at once as there are threads.
    A task reads at least one part of the data, which may take 32 MiB, and whole chunks of a Dask array.

    Parameters
    ----------
    size : int
        Bytes, at least one million.

    Returns
    -------
    context manager
        The budget holds inside it.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKMeans
    >>> from spdatoms.scale import block_budget
    >>> X = np.arange(1.0, 7.0)[:, None, None] * np.eye(2)
    >>> with block_budget(8_000_000):
    ...     kmeans = SPDKMeans(2, random_state=0).fit(X)
    """
    token = _BLOCK.set(int(size))
    try:
        yield
    finally:
        _BLOCK.reset(token)


def is_chunked(X: Any) -> bool:
    """Return whether X is a Dask array, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "map_blocks")


def is_streamed(X: Any) -> bool:
    """Return whether X is read as a stream: a Dask array, or a memory map larger than the budget.

    Parameters
    ----------
    X : object
        The data.

    Returns
    -------
    bool
        Whether it is read as a stream.
    """
    return is_chunked(X) or (isinstance(X, np.memmap) and X.nbytes > block_bytes())
