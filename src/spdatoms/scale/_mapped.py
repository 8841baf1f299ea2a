"""Streams over memory maps, read by threads of this process."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from spdatoms._utils.threads import block_slices, effective_n_jobs, map_in_threads
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import check_stack, float_type
from spdatoms.scale.budget import block_bytes
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Span, StreamPasses, Term
from spdatoms.scale.stream import Stream


class MappedStream(Stream):
    """A memory map, read by threads of this process."""

    def __init__(self, X: FloatArray, n_jobs: int | None, name: str = "X") -> None:
        check_stack(X, name)
        self.X, self.n_jobs = X, n_jobs
        self.shape, self.dtype = X.shape, float_type(X.dtype, name)

    def __getitem__(self, chosen: slice | Indices) -> FloatArray:
        rows = np.arange(len(self))[chosen]
        out = np.empty((len(rows), *self.shape[1:]), self.dtype)
        # Scattered rows bring whole pages into memory, so few of them are read at a time.
        spread = int(np.ptp(rows)) * self.matrix_bytes if len(rows) else 0
        for some in block_slices(len(rows), -(-len(rows) // (1 + spread // block_bytes())) or 1):
            out[some] = self.X[_as_slice(rows[some])]
            forget_pages(self.X)
        return out

    def passes(self, parts: Sequence[slice], most: int | None = None) -> ThreadedPasses:
        """Return passes over these parts of the data, see `Stream.passes`."""
        spans = self.spans(parts, most, effective_n_jobs(self.n_jobs))
        return ThreadedPasses(self, spans, self.n_jobs)


class ThreadedPasses(StreamPasses):
    """Passes by threads of this process."""

    in_this_process: ClassVar[bool] = True

    def __init__(self, stream: Stream, spans: list[Span], n_jobs: int | None) -> None:
        self.stream, self.spans, self.n_jobs = stream, spans, n_jobs
        self.sources: list[Any] | None = None  # the stream

    def _results(
        self, function: Term, states: Any, shared: tuple[Any, ...], read: bool, keep: bool
    ) -> list[Any]:
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
        return added(terms)

    def _held(self, states: list[Any], terms: list[Any], old: Any) -> tuple[list[Any], Any]:
        return states, added(terms)

    def collect(self, states: Sequence[Any]) -> list[Any]:
        """Return the states."""
        return list(states)


def _as_slice(rows: Indices) -> slice | Indices:
    """Return consecutive rows as a slice, which needs no copy; other rows as they are."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def forget_pages(X: Any) -> None:
    """Free the memory that pages of a memory map take; they are read again when needed.

    A map that may hold changes which the file does not is left alone.
    """
    mapped = getattr(X, "_mmap", None)
    if (
        mapped is not None
        and getattr(X, "mode", "") in ("r", "r+")
        and hasattr(mmap, "MADV_DONTNEED")
    ):
        mapped.madvise(mmap.MADV_DONTNEED)
