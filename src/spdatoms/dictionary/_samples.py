"""Samples with codes, in memory or in a stream: what learning asks of them whatever is known of a sample.

With the kernel itself that is `CodedData` and `StreamedCodedData`, in the span of landmarks `FeatureData`
and `StreamedFeatureData`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.dictionary._packed import Coded
from spdatoms.geometry.hermitian import as_double
from spdatoms.scale.faults import with_smaller_spans
from spdatoms.scale.largest import Largest
from spdatoms.scale.parts import part_slices
from spdatoms.scale.passes import Span, StreamPasses
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")


class SamplesInMemory:
    """Samples in memory, cut into parts.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The samples.
    n_atoms : int
        The length of a code.
    n_jobs : int or None
        The number of threads.
    """

    parts: list[Any]

    def __init__(self, X: FloatArray, n_atoms: int, n_jobs: int | None) -> None:
        self.X, self.n_jobs = X, n_jobs
        self.slices = part_slices(len(X), X.shape[-1], n_atoms)

    def __len__(self) -> int:
        return len(self.X)

    def worst_represented(self, count: int) -> Indices:
        """Return the samples with the greatest losses, worst first; the earlier one at equal loss."""
        return _largest_losses(self.parts, slice(0, len(self)), count).indices

    def samples(self, chosen: Indices) -> Floats:
        """Return some samples."""
        return as_double(self.X[chosen])


class StreamedSamples(ABC):
    """Samples of a stream; their codes are the states of its spans, and stay where they are computed.

    Parameters
    ----------
    stream : Stream
        The samples.
    n_atoms : int
        The length of a code.
    """

    def __init__(self, stream: Stream, n_atoms: int) -> None:
        self.stream, self.n_atoms = stream, n_atoms
        self.slices = part_slices(len(stream), stream.shape[-1], n_atoms)
        self.passes = stream.passes(self.slices)
        self.start: scipy.sparse.csr_array | None = None
        self.codings: list[Any] = []
        self.states: list[Any] | None = None
        self.version, self.nnz = 0, 0

    def __len__(self) -> int:
        return len(self.stream)

    def start_from(self, codes: scipy.sparse.csr_array | StreamedCodes) -> None:
        """Let the next coding start from these codes."""
        self.start = codes.here if isinstance(codes, StreamedCodes) else codes
        self.codings, self.version = [], self.version + 1
        self.states = self._put(self.start)

    def _put(self, codes: scipy.sparse.csr_array | None) -> list[Any] | None:
        """Return codes as the states of the spans that they belong to."""
        if codes is None or codes.nnz == 0:
            return None
        return self.passes.put(
            [tuple(Coded.uncoded(codes[rows]) for rows in span.parts) for span in self.passes.spans]
        )

    @abstractmethod
    def code_pass(self, states: list[Any] | None, coding: Any) -> tuple[list[Any], Any]:
        """Code all samples from the codes in the states; return the new states, and the sum of the terms."""

    def coded(self, coding: Any) -> Any:
        """Code all samples, each from its last code, and return the sum of the terms."""
        self.version += 1
        self.states, terms = self.attempt(lambda: self._next_states(coding))
        self.codings.append(coding)
        return terms

    def _next_states(self, coding: Any) -> tuple[list[Any], Any]:
        before, self.states = self.states, None
        return self.code_pass(before, coding)

    def attempt(self, one_pass: Callable[[], Result]) -> Result:
        """Return the result of a pass; if workers die of it, from smaller spans."""

        def computation(passes: StreamPasses) -> Result:
            if self.states is None:
                self._compute_states()
            return one_pass()

        return with_smaller_spans(self.passes, self._cut, computation)

    def _cut(self, most: int) -> StreamPasses:
        """Return passes with at most this many parts per span; their states are yet to be computed."""
        self.passes, self.states = self.stream.passes(self.slices, most), None
        return self.passes

    def _compute_states(self) -> None:
        """Compute the codes that were there before the data was cut anew."""
        states = self._put(self.start)
        for coding in self.codings:
            states, _ = self.code_pass(states, coding)
        self.states = states

    def collected(self) -> scipy.sparse.csr_array:
        """Return all codes, in the memory of this process."""
        spans = self.attempt(lambda: self.passes.collect(self.states or []))
        parts = [coded for span in spans for coded in span]
        return scipy.sparse.vstack([coded.columns().tocsr() for coded in parts], "csr")

    def worst_represented(self, count: int) -> Indices:
        """Return the samples with the greatest losses, worst first; the earlier one at equal loss."""
        worst: Largest = self.attempt(
            lambda: self.passes.total(_greatest_losses, self.states, count, read=False)
        )
        return worst.indices

    def samples(self, chosen: Indices) -> Floats:
        """Return some samples."""
        return as_double(self.stream[chosen])

    def codes(self) -> StreamedCodes:
        """Return all codes, (m, N), which stay where they are until they are needed."""
        return StreamedCodes(self, self.nnz)


class StreamedCodes:
    """Sparse codes (m, N) that stay where they were computed, and are collected when first needed.

    The next coding replaces them, so that workers never hold two sets of codes: collect them before it.
    """

    def __init__(self, data: StreamedSamples, nnz: int) -> None:
        self._data, self._version = data, data.version
        self.shape, self.nnz = (len(data), data.n_atoms), nnz

    @cached_property
    def here(self) -> scipy.sparse.csr_array:
        """All codes, in the memory of this process."""
        if self._data.version != self._version:
            raise RuntimeError("These codes have been replaced by later ones.")
        return self._data.collected()

    @property
    def data(self) -> Floats:
        """The values of `here`."""
        return np.asarray(self.here.data)

    @property
    def indices(self) -> Array:
        """The columns of `here`."""
        return np.asarray(self.here.indices)

    @property
    def indptr(self) -> Array:
        """The starts of the rows of `here`."""
        return np.asarray(self.here.indptr)


def _greatest_losses(matrices: None, span: Span, state: Sequence[Any], count: int) -> Largest:
    """Find the samples of a span with the greatest losses."""
    return _largest_losses(state, span.rows, count)


def _largest_losses(parts: Sequence[Any], rows: slice, count: int) -> Largest:
    losses = np.concatenate([part.losses for part in parts])
    return Largest.of(count, losses, np.arange(rows.start, rows.stop))
