"""What to do when workers die of a task: smaller pieces, and in the end a word about it.

A worker that is killed, or loses its connection, is Dask's business: its tasks are done again
elsewhere. But where a task itself is too large for the memory of a worker, that ends the next worker,
too, and Dask gives up with `KilledWorker`. Then the data is cut into pieces of half the size.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


def fewer_parts(error: Exception, parts: int) -> int:
    """Return how many parts a piece may have after workers died of one with so many.

    Other errors are raised.
    """
    if not _workers_died(error):
        raise error
    if parts == 1:
        raise MemoryError(
            "Workers died again and again, most likely for want of memory, although the data was cut "
            "into its smallest pieces: give each worker more memory or fewer threads, or rechunk X "
            "to smaller chunks."
        ) from error
    warnings.warn(
        "Workers died, most likely for want of memory: going on with pieces of half the size.",
        stacklevel=2,
    )
    return parts // 2


def _workers_died(error: Exception) -> bool:
    distributed: Any = sys.modules.get("distributed")
    return distributed is not None and isinstance(error, distributed.KilledWorker)
