"""Matrices that are read in pieces, and passes over them: a map over the pieces, and a sum.

A pass applies one pure function to every piece: to its matrices, to what the last pass left there, and
to what all pieces share (the dictionary, say). It leaves something at the piece for the next pass and
returns a term, and the terms are added along a tree that does not depend on who computes them. So the
result does not, either: threads on a memory map, threads on a Dask array and the workers of a cluster
agree to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from spdatoms._utils.files import block_digest
from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.geometry.validation import Unfit, find_unfit
from spdatoms.scale.budget import block_bytes
from spdatoms.scale.faults import fewer_parts
from spdatoms.scale.passes import Piece, Sweeps, Term

#: Matrices are inspected in parts of so many bytes.
_CHECK_BYTES = 4 << 20
_PIECES_A_THREAD = 6


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
    def __getitem__(self, chosen: slice | Indices) -> FloatArray:
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


def _find_unfit(matrices: FloatArray, piece: Piece, left: None) -> Unfit:
    with one_blas_thread():
        return find_unfit(matrices).moved(piece.rows.start)


def _digests(matrices: FloatArray, piece: Piece, left: None) -> list[bytes]:
    start = piece.rows.start
    return [block_digest(matrices[part.start - start : part.stop - start]) for part in piece.parts]
