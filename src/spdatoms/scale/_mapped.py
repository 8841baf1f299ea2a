"""Streams over memory maps, read by threads of this process."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices, effective_n_jobs, run_blocks
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import check_stack, float_type
from spdatoms.scale.budget import block_bytes
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Piece, Sweeps, Term, Work
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
        # Scattered rows bring whole pages with them, and their neighbours.
        spread = int(np.ptp(rows)) * self.matrix_bytes if len(rows) else 0
        for some in block_slices(len(rows), -(-len(rows) // (1 + spread // block_bytes())) or 1):
            out[some] = self.X[_as_slice(rows[some])]
            forget_pages(self.X)
        return out

    def sweeps(self, parts: Sequence[slice], most: int | None = None) -> ThreadedSweeps:
        """Return passes over pieces of these parts, so many parts at most."""
        return ThreadedSweeps(
            self, self.pieces(parts, most, effective_n_jobs(self.n_jobs)), self.n_jobs
        )


class ThreadedSweeps(Sweeps):
    """Passes by threads of this process."""

    def __init__(self, stream: Stream, pieces: list[Piece], n_jobs: int | None) -> None:
        self.stream, self.pieces, self.n_jobs = stream, pieces, n_jobs

    def total(self, term: Term, left: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the pieces; without ``read`` it gets no matrices."""
        return added(self._outcomes(term, left, shared, read, keep=True))

    def run(
        self, work: Work, left: list[Any] | None, *shared: Any, keep: bool = True
    ) -> tuple[list[Any], Any]:
        """Do the work at every piece; return what it leaves there, and the sum of the terms."""
        outcomes = self._outcomes(work, left, shared, True, keep)
        return [state for state, _ in outcomes], added([term for _, term in outcomes])

    def _outcomes(
        self,
        function: Term,
        left: list[Any] | None,
        shared: tuple[Any, ...],
        read: bool,
        keep: bool,
    ) -> list[Any]:
        """Return the function of every piece."""
        outcomes: dict[int, Any] = {}
        before = [None] * len(self.pieces) if left is None else left

        def outcome(number: int) -> Any:
            piece, was = self.pieces[number], before[number]
            if not keep:
                before[number] = None
            return function(self.stream[piece.rows] if read else None, piece, was, *shared)

        def do(numbers: slice) -> None:
            for number in range(numbers.start, numbers.stop):
                outcomes[number] = outcome(number)

        run_blocks(do, len(self.pieces), 1, self.n_jobs)
        return [outcomes[number] for number in range(len(self.pieces))]

    def collect(self, left: Sequence[Any]) -> list[Any]:
        """Return what is left at the pieces."""
        return list(left)


def _as_slice(rows: Indices) -> slice | Indices:
    """Return consecutive rows as a slice, which is read without a copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def forget_pages(X: Any) -> None:
    """Give back the memory into which a file was mapped; what is asked for again is read again.

    Not where the map may hold changes that the file does not.
    """
    mapped = getattr(X, "_mmap", None)
    if (
        mapped is not None
        and getattr(X, "mode", "") in ("r", "r+")
        and hasattr(mmap, "MADV_DONTNEED")
    ):
        mapped.madvise(mmap.MADV_DONTNEED)
