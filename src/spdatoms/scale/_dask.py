"""Passes over a Dask array: tasks on the workers of a `distributed.Client`, or on threads if there is none.

A task reads its own matrices, so they do not travel, nor stay: what travels are the shared arguments
(once to every worker) and the terms, which are added on the way. Tasks are pure functions of the
source, of what the last pass left, and of the shared arguments. Whatever is lost with a worker Dask
therefore computes again, and it is the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from operator import getitem
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import check_stack, float_type
from spdatoms.scale.budget import BLOCK_BYTES, block_bytes
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Piece, Sweeps, Term, Work
from spdatoms.scale.stream import Stream

#: Terms that are added in one task: a power of two, so that the tree of `added` is kept.
_FAN_IN = 8


#: A task may read this fraction of the memory that a worker has for its thread, and needs some times as much.
_SHARE_OF_MEMORY = 64


class DaskStream(Stream):
    """A Dask array, chunked along the matrices."""

    def __init__(self, X: Any, name: str = "X") -> None:
        if any(np.isnan(X.shape)):
            X = X.compute_chunk_sizes()
        check_stack(X, name)
        dtype = float_type(X.dtype, name)
        self.X = X.rechunk({1: -1, 2: -1}).astype(dtype)
        self.shape, self.dtype = self.X.shape, dtype

    @property
    def task_bytes(self) -> int:
        """Bytes of matrices that a task may read: more where workers have memory, as fewer tasks cost less."""
        return block_bytes(max(BLOCK_BYTES, _memory_of_a_thread() // _SHARE_OF_MEMORY))

    def __getitem__(self, chosen: slice | Indices) -> FloatArray:
        if isinstance(chosen, slice):
            return np.asarray(self.X[chosen].compute())
        return self._rows(np.asarray(chosen))

    def _rows(self, chosen: Indices) -> FloatArray:
        """Return some matrices, chunk by chunk: Dask's own indexing would shuffle the array."""
        dask = import_extra("dask", extra="scale")
        rows, back = np.unique(chosen, return_inverse=True)
        edges = np.concatenate([[0], np.cumsum(self.X.chunks[0])])
        chunks = np.searchsorted(edges, rows, side="right") - 1
        blocks, take = self.X.to_delayed().ravel(), dask.delayed(getitem)
        some = [take(blocks[c], rows[chunks == c] - edges[c]) for c in np.unique(chunks)]
        return np.concatenate(dask.compute(*some))[back]

    def sweeps(self, parts: Sequence[slice], most: int | None = None) -> DaskSweeps:
        """Return passes over pieces of these parts, so many parts at most."""
        pieces = self.pieces(parts, most, _threads(), max(self.X.chunks[0]))
        return DaskSweeps(self.X, pieces)


class Recipe:
    """How to read some matrices, in a form that Dask does not look into: they are read where they are used."""

    def __init__(self, X: Any) -> None:
        (X,) = import_extra("dask", extra="scale").optimize(X)
        self.graph, self.key = dict(X.__dask_graph__()), X.__dask_keys__()[0][0][0]

    def read(self) -> FloatArray:
        """Return the matrices."""
        from dask.local import get_sync

        return np.asarray(get_sync(self.graph, self.key))


class DaskSweeps(Sweeps):
    """Passes by the tasks of Dask."""

    def __init__(self, X: Any, pieces: list[Piece]) -> None:
        self.dask = import_extra("dask", extra="scale")
        self.pieces = pieces
        sources = [X[piece.rows].rechunk(-1) for piece in pieces]
        if _futures_of(X):  # in the memory of workers already
            self.sources = [source.to_delayed().item() for source in sources]
        else:
            self.sources = self.put([Recipe(source) for source in sources])

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Leave a value at every piece, which Dask has a copy of."""
        return list(
            self.dask.persist(*(self.dask.delayed(value, traverse=False) for value in values))
        )

    def total(self, term: Term, left: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the pieces; without ``read`` it gets no matrices."""
        return self._added(self._outcomes(term, left, shared, read)).compute()

    def run(
        self, work: Work, left: list[Any] | None, *shared: Any, keep: bool = True
    ) -> tuple[list[Any], Any]:
        """Do the work at every piece; return what it leaves there, and the sum of the terms."""
        states, total = self._submitted(work, left, shared)
        if left is not None and not keep:
            _wait_for_one(states)  # or the scheduler might let go before it knows the new tasks
            left.clear()
        return states, total.compute()

    def _submitted(
        self, work: Work, left: list[Any] | None, shared: tuple[Any, ...]
    ) -> tuple[list[Any], Any]:
        """Have the work done; return what will be left at every piece, and the sum of the terms."""
        outcomes = self._outcomes(work, left, shared, True)
        total = self._added([outcome[1] for outcome in outcomes])
        *states, total = self.dask.persist(*(outcome[0] for outcome in outcomes), total)
        return list(states), total

    def _outcomes(
        self, function: Term, left: list[Any] | None, shared: tuple[Any, ...], read: bool
    ) -> list[Any]:
        """Return the delayed function of every piece."""
        do = self.dask.delayed(_do, nout=2, pure=False)
        common = self.dask.delayed(shared, traverse=False)
        return [
            do(
                function,
                self.sources[number] if read else None,
                piece,
                None if left is None else left[number],
                common,
            )
            for number, piece in enumerate(self.pieces)
        ]

    def _added(self, terms: list[Any]) -> Any:
        """Return the delayed sum of delayed terms, added on the way: not all of them come to one place."""
        add = self.dask.delayed(_added_here)
        while len(terms) > 1:
            terms = [add(*terms[i : i + _FAN_IN]) for i in range(0, len(terms), _FAN_IN)]
        return terms[0]

    def collect(self, left: Sequence[Any]) -> list[Any]:
        """Return what is left at the pieces."""
        return list(self.dask.compute(*left))


def _do(function: Term, source: Any, piece: Piece, left: Any, shared: tuple[Any, ...]) -> Any:
    matrices = source.read() if isinstance(source, Recipe) else source
    with one_blas_thread():
        return function(matrices, piece, left, *shared)


def _added_here(*terms: Any) -> Any:
    return added(terms)


def _threads() -> int:
    """Return how many tasks can run at once."""
    client = _client()
    threads = sum(client.nthreads().values()) if client else os.cpu_count() or 1
    return max(1, threads)  # none at all while a cluster restarts the only workers it had


def _memory_of_a_thread() -> int:
    """Return the least memory that a worker has for each of its threads; 0 if nothing is known."""
    client = _client()
    if client is None:
        return 0

    def limits(dask_scheduler: Any) -> list[int]:
        workers = dask_scheduler.workers.values()
        return [int(worker.memory_limit or 0) // max(1, worker.nthreads) for worker in workers]

    return min(client.run_on_scheduler(limits), default=0)


def _client() -> Any | None:
    """Return the client that the user has made, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def _futures_of(X: Any) -> list[Any]:
    """Return what workers have computed of X, or are about to."""
    if "distributed" not in sys.modules:
        return []
    futures_of: Any = sys.modules["distributed"].futures_of
    return list(futures_of(X))


def _wait_for_one(states: list[Any]) -> None:
    """Wait until one of these is there."""
    futures = _futures_of(states)
    if futures:
        sys.modules["distributed"].wait(futures, return_when="FIRST_COMPLETED")
