"""Matrices that are read in pieces, and passes over them: a map over the pieces, and a sum.

A pass applies one pure function to every piece: to its matrices, to what the last pass left there, and
to what all pieces share (the dictionary, say). It leaves something at the piece for the next pass and
returns a term, and the terms are added along a tree that does not depend on who computes them. So the
result does not, either: threads on a memory map, threads on a Dask array and the workers of a cluster
agree to the last bit.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._blocks import block_slices, effective_n_jobs, one_blas_thread, run_blocks
from spdatoms._budget import block_bytes, is_chunked
from spdatoms._checkpoint import block_digest
from spdatoms._coded_data import added
from spdatoms.scale._faults import fewer_parts
from spdatoms.validation import FloatArray, Unfit, check_stack, find_unfit, float_type

#: A function of a piece: (matrices or None, piece, what was left there, *shared) → term.
Term = Callable[..., Any]
#: One that also leaves something there for the next pass: (…) → (what to leave, term).
Work = Callable[..., tuple[Any, Any]]

#: Matrices are inspected in parts of so many bytes.
_CHECK_BYTES = 4 << 20
_PIECES_A_THREAD = 6


@dataclass(frozen=True)
class Piece:
    """Neighbouring parts of the data that are read together."""

    parts: tuple[slice, ...]

    @property
    def rows(self) -> slice:
        """All of its matrices."""
        return slice(self.parts[0].start, self.parts[-1].stop)

    def split(self, X: FloatArray) -> list[FloatArray]:
        """Return the parts of its matrices, ready for the compiled kernels."""
        start = self.rows.start
        return [
            np.require(X[part.start - start : part.stop - start], np.float64, ["C", "A"])
            for part in self.parts
        ]


class Addends(tuple[Any, ...]):
    """Several things that are added at once."""

    __slots__ = ()

    def __add__(self, other: Any) -> Addends:
        return Addends(a + b for a, b in zip(self, other, strict=True))


class Stream(ABC):
    """Matrices (m, n, n) of which some can be had in memory, and passes over all of them.

    Attributes
    ----------
    shape : tuple of int
        (m, n, n).
    dtype : dtype
        float32 or float64: what the matrices are when they are read.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

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

    @abstractmethod
    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> FloatArray:
        """Return some matrices, in memory."""

    @abstractmethod
    def sweeps(self, parts: Sequence[slice], most: int | None = None) -> Sweeps:
        """Return passes over pieces of these parts, so many parts at most."""

    def check(self, name: str = "X") -> None:
        """Raise the error of `check_spd`, with the index in the whole, unless all is well."""
        parts = list(block_slices(len(self), max(1, _CHECK_BYTES // self.matrix_bytes)))
        self._total(parts, _find_unfit).raise_if_any(name, self.shape[:1])

    def digests(self, blocks: Sequence[slice]) -> list[bytes]:
        """Return a digest of each of the blocks, found where the data is."""
        return list(self._total(blocks, _digests))

    def _total(self, parts: Sequence[slice], term: Term) -> Any:
        """Return the sum of a term over the parts; where workers die of it, with smaller pieces."""
        sweeps = self.sweeps(parts)
        while True:
            try:
                return sweeps.total(term, None)
            except Exception as error:
                sweeps = self.sweeps(parts, fewer_parts(error, sweeps.parts_of_a_piece))

    def pieces(
        self, parts: Sequence[slice], most: int | None, threads: int, least_rows: int = 1
    ) -> list[Piece]:
        """Put 2^k neighbouring parts into a piece: so many at most, or as many as the budget allows.

        There shall be some pieces for every thread, so that all are busy to the end.
        """
        rows = min(self.task_bytes // self.matrix_bytes, len(self) // (_PIECES_A_THREAD * threads))
        longest = max(part.stop - part.start for part in parts)
        count = 1 << int(np.log2(max(1, most or max(rows, least_rows) // longest)))
        return [Piece(tuple(parts[some])) for some in block_slices(len(parts), count)]


class Sweeps(ABC):
    """Passes over the pieces of a stream.

    Attributes
    ----------
    pieces : list of Piece
        What a task works on.
    """

    pieces: list[Piece]

    @property
    def parts_of_a_piece(self) -> int:
        """The number of parts that a piece has, at most."""
        return max(len(piece.parts) for piece in self.pieces)

    @abstractmethod
    def total(self, term: Term, left: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the pieces; without ``read`` it gets no matrices."""

    @abstractmethod
    def run(
        self, work: Work, left: list[Any] | None, *shared: Any, keep: bool = True
    ) -> tuple[list[Any], Any]:
        """Do the work at every piece; return what it leaves there, and the sum of the terms.

        What is left (one for each piece) is for the next passes and for `collect` only: it may be
        somewhere else. Unless it is to be kept, what was left before goes as soon as it has been used.
        """

    @abstractmethod
    def collect(self, left: Sequence[Any]) -> list[Any]:
        """Return what is left at the pieces."""

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Leave a value at every piece."""
        return list(values)


def open_stream(X: Any, n_jobs: int | None = None, name: str = "X") -> Stream:
    """Return the stream of a Dask array or of an array that NumPy reads in pieces, checked.

    Parameters
    ----------
    X : dask.array.Array or ndarray of shape (m, n, n)
        SPD matrices.
    n_jobs : int, optional
        The number of threads for an array of NumPy; Dask has its own.
    name : str
        What to call X in an error.

    Returns
    -------
    Stream
    """
    stream: Stream
    if is_chunked(X):
        from spdatoms.scale._dask import DaskStream

        stream = DaskStream(X, name)
    else:
        stream = MappedStream(X, n_jobs, name)
    stream.check(name)
    return stream


class MappedStream(Stream):
    """A memory map, read by threads of this process."""

    def __init__(self, X: FloatArray, n_jobs: int | None, name: str = "X") -> None:
        check_stack(X, name)
        self.X, self.n_jobs = X, n_jobs
        self.shape, self.dtype = X.shape, float_type(X.dtype, name)

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> FloatArray:
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


def _as_slice(rows: NDArray[np.intp]) -> slice | NDArray[np.intp]:
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


def _find_unfit(matrices: FloatArray, piece: Piece, left: None) -> Unfit:
    with one_blas_thread():
        return find_unfit(matrices).moved(piece.rows.start)


def _digests(matrices: FloatArray, piece: Piece, left: None) -> list[bytes]:
    start = piece.rows.start
    return [block_digest(matrices[part.start - start : part.stop - start]) for part in piece.parts]
