"""Repeat a computation with smaller spans if it makes workers run out of memory.

If a worker is killed, or loses its connection, Dask runs its tasks again elsewhere. But if a task needs
more memory than a worker has, it kills the next worker, too, and Dask gives up with `KilledWorker`. The
data is then cut into spans of half the size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from spdatoms._utils.warning import warn_user
from spdatoms.scale.passes import StreamPasses

Result = TypeVar("Result")


def with_smaller_spans(
    passes: StreamPasses,
    cut: Callable[[int], StreamPasses],
    computation: Callable[[StreamPasses], Result],
) -> Result:
    """Return ``computation(passes)``, repeated with spans of half the size as long as workers die.

    Parameters
    ----------
    passes : StreamPasses
        The passes to begin with.
    cut : callable
        Returns passes over the same data with at most this many parts per span.
    computation : callable
        The computation, which begins anew every time.

    Returns
    -------
    object
        The result of the computation.
    """
    while True:
        try:
            return computation(passes)
        except Exception as error:
            passes = cut(_fewer_parts(error, passes.parts_per_span))


def _fewer_parts(error: Exception, parts: int) -> int:
    """Return how many parts a span may have if this many made workers die; raise any other error."""
    if not _workers_died(error):
        raise error
    if parts == 1:
        raise MemoryError(
            "Workers died again and again, most likely because memory ran out, although every task read "
            "a single part of the data: give each worker more memory or fewer threads, or rechunk X "
            "to smaller chunks."
        ) from error
    warn_user(
        "Workers died, most likely because memory ran out: going on with tasks of half the size.",
    )
    return parts // 2


def _workers_died(error: Exception) -> bool:
    distributed: Any = sys.modules.get("distributed")
    return distributed is not None and isinstance(error, distributed.KilledWorker)
