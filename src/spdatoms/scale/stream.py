"""Matrices that are read some at a time, and passes over all of them.

A pass applies one pure function to every span of the data: to its matrices, to the state that the last
pass left there, and to what all spans share (the dictionary, say). It returns a new state and a term.
Terms are added along a tree that does not depend on who computes them. So the result is the same to the
last bit with threads on a memory map, threads on a Dask array, and the workers of a cluster.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices, effective_n_jobs, one_blas_thread
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import Unfit, check_stack, find_unfit, float_type
from spdatoms.scale.budget import block_bytes
from spdatoms.scale.parts import Span, block_digest
from spdatoms.scale.passes import StreamPasses, Term, with_smaller_spans

#: Matrices are checked in parts of this many bytes.
_CHECK_BYTES = 4 << 20
#: At least this many spans for every thread, so that all threads are busy to the end.
_SPANS_PER_THREAD = 6


class Stream:
    """SPD matrices (m, n, n) that are not in memory: read some of them, or make passes over all.

    Threads of this process read them; the stream of a Dask array is a subclass, whose workers do.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The matrices, most likely a memory map.
    n_jobs : int, default=None
        The number of threads: None is one thread, -1 is all processors.
    name : str, default="X"
        What an error calls the matrices.

    Attributes
    ----------
    shape : tuple of int
        (m, n, n).
    dtype : dtype
        The precision in which matrices are read, float32 or float64.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, X: Any, n_jobs: int | None = None, name: str = "X") -> None:
        check_stack(X, name)
        self.X, self.n_jobs = X, n_jobs
        self.shape, self.dtype = X.shape, float_type(X.dtype, name)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def matrix_bytes(self) -> int:
        """Bytes of a matrix in double precision."""
        return 8 * self.shape[1] * self.shape[2]

    @property
    def task_bytes(self) -> int:
        """Bytes of matrices that a task may read."""
        return block_bytes()

    @property
    def memory(self) -> int:
        """Bytes of memory that the workers have in all; 0 if there are none, or it is not known."""
        return 0

    def __getitem__(self, chosen: slice | Indices) -> FloatArray:
        """Return some matrices, in memory."""
        rows = np.arange(len(self))[chosen]
        out = np.empty((len(rows), *self.shape[1:]), self.dtype)
        # Scattered rows bring whole pages into memory, so few of them are read at a time.
        spread = int(np.ptp(rows)) * self.matrix_bytes if len(rows) else 0
        for some in block_slices(len(rows), -(-len(rows) // (1 + spread // block_bytes())) or 1):
            out[some] = self.X[_as_slice(rows[some])]
            forget_pages(self.X)
        return out

    def passes(self, parts: Sequence[slice], most: int | None = None) -> StreamPasses:
        """Return passes over these parts of the data.

        Parameters
        ----------
        parts : sequence of slice
            Consecutive slices that cover all rows.
        most : int, default=None
            The most parts that a task may read; None is as many as the budget allows.

        Returns
        -------
        StreamPasses
            The passes.
        """
        spans = self.spans(parts, most, effective_n_jobs(self.n_jobs))
        return StreamPasses(self, spans, self.n_jobs)

    def check(self, name: str = "X") -> None:
        """Check all matrices.

        Parameters
        ----------
        name : str, default="X"
            What an error calls the matrices.

        Raises
        ------
        ValueError
            The error of `check_spd`, with the index of the matrix in the stream.
        """
        parts = list(block_slices(len(self), max(1, _CHECK_BYTES // self.matrix_bytes)))
        self.total(parts, _find_unfit).raise_if_any(name, self.shape[:1])

    def digests(self, parts: Sequence[slice]) -> list[bytes]:
        """Return a digest of each part, computed where the data is.

        Parameters
        ----------
        parts : sequence of slice
            Consecutive slices that cover all rows.

        Returns
        -------
        list of bytes
            The digests.
        """
        return list(self.total(parts, _digests))

    def total(self, parts: Sequence[slice], term: Term, *shared: Any) -> Any:
        """Return the sum of a term over the parts, see `StreamPasses.total`.

        Parameters
        ----------
        parts : sequence of slice
            Consecutive slices that cover all rows.
        term : callable
            The term of a span.
        *shared : object
            What all spans share.

        Returns
        -------
        object
            The sum.
        """
        return with_smaller_spans(
            self.passes(parts),
            lambda most: self.passes(parts, most),
            lambda passes: passes.total(term, None, *shared),
        )

    def spans(
        self, parts: Sequence[slice], most: int | None, threads: int, least_rows: int = 1
    ) -> list[Span]:
        """Return spans of 2^k parts each.

        Parameters
        ----------
        parts : sequence of slice
            Consecutive slices that cover all rows.
        most : int or None
            The most parts in a span; None is as many as the budget allows.
        threads : int
            The number of tasks that run at once.
        least_rows : int, default=1
            Rows that a task may read whatever the budget is.

        Returns
        -------
        list of Span
            The spans; there are some for every thread if the data is large enough.
        """
        rows = min(self.task_bytes // self.matrix_bytes, len(self) // (_SPANS_PER_THREAD * threads))
        longest = max(part.stop - part.start for part in parts)
        count = 1 << int(np.log2(max(1, most or max(rows, least_rows) // longest)))
        return [Span(tuple(parts[some])) for some in block_slices(len(parts), count)]


def _find_unfit(matrices: FloatArray, span: Span, state: None) -> Unfit:
    with one_blas_thread():
        return find_unfit(matrices).moved(span.rows.start)


def _digests(matrices: FloatArray, span: Span, state: None) -> list[bytes]:
    start = span.rows.start
    return [block_digest(matrices[part.start - start : part.stop - start]) for part in span.parts]


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
