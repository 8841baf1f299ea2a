"""Passes over a stream: a function of each span of the data, and the sum of its results.

If a worker of a cluster is killed, or loses its connection, Dask runs its tasks again elsewhere. But if a task needs
more memory than a worker has, it kills the next worker, too, and Dask gives up with `KilledWorker`. The data is then
cut into spans of half the size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.warning import warn_user
from spdatoms.scale.parts import Span, added

Result = TypeVar("Result")
#: A function of a span: (matrices or None, span, its state or None, *shared) → term.
Term = Callable[..., Any]
#: A function that also gives the span a new state, for the next pass: (…) → (state, term).
Work = Callable[..., tuple[Any, Any]]


class StreamPasses:
    """Passes over the spans of a stream, by threads of this process.

    A span may have a state, which a pass leaves there for the next one. States are held where they were
    computed, so a list of them is only to be given to another pass or to `collect`.

    Attributes
    ----------
    spans : list of Span
        What the tasks of a pass read.
    sources : object
        Where they read it: a list with a source for each span, or None for the stream.
    in_this_process : bool
        Whether states are held in the memory of this process.
    """

    in_this_process: ClassVar[bool] = True

    def __init__(self, stream: Any, spans: list[Span], n_jobs: int | None) -> None:
        self.stream, self.spans, self.n_jobs = stream, spans, n_jobs
        self.sources: Any = None

    @property
    def parts_per_span(self) -> int:
        """The greatest number of parts in a span."""
        return max(len(span.parts) for span in self.spans)

    def total(self, term: Term, states: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the spans; without ``read`` no matrices are read."""
        return self._sum(self._results(term, states, shared, read, keep=True))

    def run(
        self, work: Work, states: list[Any] | None, *shared: Any, keep: bool = True
    ) -> tuple[list[Any], Any]:
        """Return the new states of the spans, and the sum of the terms.

        Unless ``keep``, each of the old states is dropped as soon as it has been used.
        """
        results = self._results(work, states, shared, True, keep)
        new_states, terms = [result[0] for result in results], [result[1] for result in results]
        return self._held(new_states, terms, None if keep else states)

    def over(self, states: list[Any]) -> Self:
        """Return passes over the same spans that read these states in place of matrices."""
        passes = copy(self)
        passes.sources = states
        return passes

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Return states with these values, one for each span."""
        return list(values)

    def collect(self, states: Sequence[Any]) -> list[Any]:
        """Return the states themselves, in the memory of this process."""
        return list(states)

    def _results(
        self, function: Term, states: Any, shared: tuple[Any, ...], read: bool, keep: bool
    ) -> list[Any]:
        """Return the function of every span, perhaps still to be computed."""
        before = [None] * len(self.spans) if states is None else states

        def result(number: int) -> Any:
            span, state, matrices = self.spans[number], before[number], None
            if not keep:
                before[number] = None
            if read:
                sources = self.sources
                matrices = self.stream[span.rows] if sources is None else sources[number]
            return function(matrices, span, state, *shared)

        return map_in_threads(result, len(self.spans), self.n_jobs)

    def _sum(self, terms: list[Any]) -> Any:
        """Return the sum of terms."""
        return added(terms)

    def _held(self, states: list[Any], terms: list[Any], old: Any) -> tuple[list[Any], Any]:
        """Return states, held where they were computed, and the sum of terms; drop old states, if they are given."""
        return states, added(terms)


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
            distributed: Any = sys.modules.get("distributed")
            if distributed is None or not isinstance(error, distributed.KilledWorker):
                raise
            if passes.parts_per_span == 1:
                raise MemoryError(
                    "Workers died again and again, most likely because memory ran out, although every task read "
                    "a single part of the data: give each worker more memory or fewer threads, or rechunk X "
                    "to smaller chunks."
                ) from error
        warn_user(
            "Workers died, most likely because memory ran out: going on with tasks of half the size.",
        )
        passes = cut(passes.parts_per_span // 2)
