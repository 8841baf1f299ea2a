"""The stream of any array; that of a Dask array, with passes by tasks.

Tasks run on the workers of a `distributed.Client`, or on threads if there is none.

A task reads its own matrices, so they are neither sent nor kept in memory. What is sent are the shared
arguments (once to every worker) and the terms, which are added on the way. Tasks are pure functions of
the source, of the state that the last pass left, and of the shared arguments. So Dask computes again
whatever is lost with a worker, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import getitem
from typing import Any, ClassVar

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.threads import available_processors, one_blas_thread
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import check_stack, float_type
from spdatoms.scale import cluster
from spdatoms.scale.budget import BLOCK_BYTES, block_bytes, is_chunked
from spdatoms.scale.parts import Span, added
from spdatoms.scale.passes import StreamPasses, Term
from spdatoms.scale.stream import Stream

#: Terms that are added in one task: a power of two, so that the tree of `added` is kept.
_FAN_IN = 8
#: A task may read 1/64 of the memory that a worker has per thread, and needs about four times as much.
_SHARE_OF_MEMORY = 64
_MATRICES = allow.Allowed(
    ("a NumPy array", "a Dask array"),
    lambda value: all(hasattr(value, name) for name in ("shape", "ndim", "dtype")),
)


@allow.checks(X=_MATRICES, n_jobs=allow.N_JOBS)
def open_stream(X: Any, n_jobs: int | None = None, name: str = "X") -> Stream:
    """Return the stream of an array, after all its matrices have been checked.

    Parameters
    ----------
    X : dask.array.Array or ndarray of shape (m, n, n)
        SPD matrices.
    n_jobs : int, default=None
        The number of threads that read a NumPy array: None is one thread, -1 is all processors. A Dask
        array is read by Dask.
    name : str, default="X"
        What an error calls X.

    Returns
    -------
    Stream
        The stream.
    """
    stream = DaskStream(X, name) if is_chunked(X) else Stream(X, n_jobs, name)
    stream.check(name)
    return stream


class DaskStream(Stream):
    """A Dask array, chunked along the matrices."""

    def __init__(self, X: Any, name: str = "X") -> None:
        if any(np.isnan(X.shape)):
            X = X.compute_chunk_sizes()
        check_stack(X, name)
        cluster.check_workers()
        dtype = float_type(X.dtype, name)
        self.X = X.rechunk({1: -1, 2: -1}).astype(dtype)
        self.shape, self.dtype = self.X.shape, dtype

    @property
    def task_bytes(self) -> int:
        """Bytes of matrices that a task may read: more where workers have memory, as fewer tasks cost less."""
        per_thread = (memory // max(1, threads) for memory, threads in self._workers)
        return block_bytes(max(BLOCK_BYTES, min(per_thread, default=0) // _SHARE_OF_MEMORY))

    @property
    def memory(self) -> int:
        """Bytes of memory that the workers have in all; 0 if there are none, or it is not known."""
        return sum(memory for memory, _ in self._workers)

    @cached_property
    def _workers(self) -> list[tuple[int, int]]:
        """The memory of every worker, 0 if it is not known, and its threads, asked for once."""
        client = cluster.client_of_user()
        if client is None:
            return [(0, available_processors())]
        return list(cluster.asked(client.run_on_scheduler, _limits))

    def __getitem__(self, chosen: slice | Indices) -> FloatArray:
        if isinstance(chosen, slice):
            (rows,) = cluster.results_of([self.X[chosen].rechunk(-1).to_delayed().item()])
            return np.asarray(rows)
        return self._rows(np.asarray(chosen))

    def _rows(self, chosen: Indices) -> FloatArray:
        """Return some matrices, read chunk by chunk: Dask's own indexing would shuffle the array."""
        dask = import_extra("dask", extra="scale")
        rows, back = np.unique(chosen, return_inverse=True)
        edges = np.concatenate([[0], np.cumsum(self.X.chunks[0])])
        chunks = np.searchsorted(edges, rows, side="right") - 1
        delayed, take = self.X.to_delayed().ravel(), dask.delayed(getitem)
        some = [take(delayed[c], rows[chunks == c] - edges[c]) for c in np.unique(chunks)]
        return np.concatenate(cluster.results_of(some))[back]

    def passes(self, parts: Sequence[slice], most: int | None = None) -> DaskPasses:
        """Return passes over these parts of the data, see `Stream.passes`."""
        # There may be no worker while a cluster restarts its only ones.
        threads = max(1, sum(threads for _, threads in self._workers))
        return DaskPasses(self.X, self.spans(parts, most, threads, max(self.X.chunks[0])))


class Recipe:
    """How to read some matrices, in a form that Dask does not look into, so that the task reads them."""

    def __init__(self, X: Any) -> None:
        (X,) = import_extra("dask", extra="scale").optimize(X)
        self.graph, self.key = dict(X.__dask_graph__()), X.__dask_keys__()[0][0][0]

    def read(self) -> FloatArray:
        """Return the matrices."""
        from dask.local import get_sync

        return np.asarray(get_sync(self.graph, self.key))


class DaskPasses(StreamPasses):
    """Passes by the tasks of Dask."""

    in_this_process: ClassVar[bool] = False

    def __init__(self, X: Any, spans: list[Span]) -> None:
        self.dask = import_extra("dask", extra="scale")
        self.spans = spans
        sources = [X[span.rows].rechunk(-1) for span in spans]
        if cluster.futures_of(X):  # already in the memory of workers
            self.sources = [source.to_delayed().item() for source in sources]
        else:
            self.sources = self.put([Recipe(source) for source in sources])

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Return states with these values, one for each span, held by Dask."""
        with cluster.cluster_errors():
            delayed = (self.dask.delayed(value, traverse=False) for value in values)
            return list(self.dask.persist(*delayed))

    def _results(
        self, function: Term, states: Any, shared: tuple[Any, ...], read: bool, keep: bool
    ) -> list[Any]:
        call = self.dask.delayed(_call, nout=2, pure=False)
        common = self.dask.delayed(shared, traverse=False)
        nothing = [None] * len(self.spans)
        each = zip(self.sources if read else nothing, self.spans, states or nothing, strict=True)
        return [call(function, source, span, state, common) for source, span, state in each]

    def _sum(self, terms: list[Any]) -> Any:
        return cluster.results_of([self._added(terms)])[0]

    def _held(self, states: list[Any], terms: list[Any], old: Any) -> tuple[list[Any], Any]:
        with cluster.cluster_errors():
            *held, total = self.dask.persist(*states, self._added(terms))
        if old is not None:
            # Not before the scheduler knows the new tasks: it might drop what they need.
            if futures := cluster.futures_of(held):
                cluster.wait_for(futures, all_of_them=False)
            old.clear()
        return held, cluster.results_of([total])[0]

    def _added(self, terms: list[Any]) -> Any:
        """Return the delayed sum of delayed terms, added on the workers: few of them meet in one place."""
        add = self.dask.delayed(_added_here)
        while len(terms) > 1:
            terms = [add(*terms[i : i + _FAN_IN]) for i in range(0, len(terms), _FAN_IN)]
        return terms[0]

    def collect(self, states: Sequence[Any]) -> list[Any]:
        """Return the states themselves, in the memory of this process."""
        return cluster.results_of(states)


def _call(function: Term, source: Any, span: Span, state: Any, shared: tuple[Any, ...]) -> Any:
    matrices = source.read() if isinstance(source, Recipe) else source
    with one_blas_thread():
        return function(matrices, span, state, *shared)


def _added_here(*terms: Any) -> Any:
    return added(terms)


def _limits(dask_scheduler: Any) -> list[tuple[int, int]]:
    workers = dask_scheduler.workers.values()
    return [(int(worker.memory_limit or 0), worker.nthreads) for worker in workers]
