"""The passes of dictionary learning over a stream: `CodedData` for data that is not in memory.

What is left at a piece of the data are its codes; the matrices are read again in every pass. One pass
codes, and brings home all that the update of the atoms wants to know about the present dictionary;
others try new atoms. The atoms themselves are moved here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.dictionary._coded_data import Part
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.divergences.sparse_pairs import columns_of_entries
from spdatoms.scale.faults import fewer_parts
from spdatoms.scale.parts import added, part_slices
from spdatoms.scale.passes import Addends, Piece
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")


@dataclass(frozen=True)
class Coding:
    """Arguments of a coding: the dictionary, K + μI, and λ."""

    gram: Floats
    atoms: Floats
    alpha: float


@dataclass(frozen=True)
class Coded:
    """What stays of a part between two passes: the codes Y, exactly, and their losses.

    A bit says where Y ≠ 0, for which a sparse matrix takes 32: workers hold little else than codes.

    Attributes
    ----------
    values : ndarray
        The non-zeros of Y, column by column.
    pattern : ndarray of uint8
        Where they are, a bit for every entry, column by column.
    losses : ndarray of shape (m,)
        f(y_i) of every sample.
    n_atoms : int
        The length of a code.
    """

    values: Floats
    pattern: NDArray[np.uint8]
    losses: Floats
    n_atoms: int

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays: by them Dask knows what its workers hold."""
        return self.values.nbytes + self.pattern.nbytes + self.losses.nbytes

    @classmethod
    def of(cls, part: Part) -> Coded:
        """Pack the codes of a part."""
        Y = part.columns
        used = np.zeros(Y.shape[::-1], dtype=bool)
        used[columns_of_entries(Y), Y.indices] = True
        return cls(Y.data, np.packbits(used), part.losses, Y.shape[1])

    def columns(self) -> scipy.sparse.csc_array:
        """Return Y."""
        shape = len(self.losses), self.n_atoms
        used = np.unpackbits(self.pattern, count=shape[0] * shape[1]).reshape(shape[::-1])
        atoms, samples = used.nonzero()
        starts = np.searchsorted(atoms, np.arange(self.n_atoms + 1))
        return scipy.sparse.csc_array((self.values, samples, starts), shape=shape)

    def part(self, prepared: Any) -> Part:
        """Return the part with its prepared samples."""
        return Part(prepared, self.columns(), np.zeros(0), self.losses)


class StreamedCodes:
    """Sparse codes (m, N) that are where they were computed, and come here if they are looked at.

    The next coding replaces them, so that workers never hold codes twice: look before it.
    """

    def __init__(self, data: StreamedCodedData, nnz: int) -> None:
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
    def indices(self) -> NDArray[Any]:
        """The columns of `here`."""
        return np.asarray(self.here.indices)

    @property
    def indptr(self) -> NDArray[Any]:
        """The starts of the rows of `here`."""
        return np.asarray(self.here.indptr)


class StreamedCodedData:
    """Samples of a stream with their codes; the methods are those of `CodedData`.

    Parameters
    ----------
    stream : Stream
        The samples.
    sums : AtomSums
        The divergence's sums.
    beta : float
        The β of the kernel.
    n_atoms : int
        The length of a code.
    """

    def __init__(self, stream: Stream, sums: AtomSums, beta: float, n_atoms: int) -> None:
        self.stream, self.sums, self.beta, self.n_atoms = stream, sums, beta, n_atoms
        self.parts = part_slices(len(stream), stream.shape[-1], n_atoms)
        self.sweeps = stream.sweeps(self.parts)
        self.left: list[Any] | None = None
        self.start: scipy.sparse.csr_array | None = None
        self.codings: list[Coding] = []
        self.version = 0

    def __len__(self) -> int:
        return len(self.stream)

    def start_from(self, codes: scipy.sparse.csr_array | StreamedCodes) -> None:
        """Let the next coding start from these codes."""
        self.start = codes.here if isinstance(codes, StreamedCodes) else codes
        self.codings, self.version = [], self.version + 1
        self.left = self._put(self.start)

    def _put(self, codes: scipy.sparse.csr_array | None) -> list[Any] | None:
        """Leave codes at the pieces they belong to."""
        if codes is None or codes.nnz == 0:
            return None
        return self.sweeps.put(
            [
                tuple(Coded.of(Part.uncoded(None, codes[rows])) for rows in piece.parts)
                for piece in self.sweeps.pieces
            ]
        )

    def _attempt(self, sweep: Callable[[], Result]) -> Result:
        """Return what a pass over the data finds; where workers die of it, with smaller pieces."""
        while True:
            try:
                if self.left is None:
                    self._code_again()
                return sweep()
            except Exception as error:
                most = fewer_parts(error, self.sweeps.parts_of_a_piece)
                self.sweeps, self.left = self.stream.sweeps(self.parts, most), None

    def _code_again(self) -> None:
        """Leave the codes at the pieces that were there before these were cut anew."""
        left = self._put(self.start)
        for coding in self.codings:
            left, _ = self.sweeps.run(_code, left, *self._shared(coding), keep=False)
        self.left = left

    def _shared(self, coding: Coding) -> tuple[Any, ...]:
        return self.sums, self.beta, self.n_atoms, coding

    def code(self, gram: Floats, D: Floats, alpha: float) -> float:
        """Code every sample, each from its last code, and return Σ_i f(y_i)."""
        coding = Coding(gram, D, alpha)
        self.version += 1
        self.left, terms = self._attempt(lambda: self._coded(coding))
        self.codings.append(coding)
        objective, nnz, self._products, self._fits, self._sums = terms
        self.nnz = int(nnz)
        return float(objective)

    def _coded(self, coding: Coding) -> tuple[list[Any], Any]:
        before, self.left = self.left, None
        return self.sweeps.run(_code, before, *self._shared(coding), keep=False)

    def products_of_codes(self) -> Floats:
        """Return A = YᵀY, which came with the codes."""
        return np.array(self._products)

    def fits(self) -> Floats:
        """Return Σ_i Y_ir k(X_i, D_r) for every atom, which came with the codes."""
        return np.array(self._fits)

    def weighted_sums(self, block: Indices, D: Floats) -> Floats:
        """Return the sums over the samples, weighted by Y_ir k(X_i, D_r), for the atoms of a block.

        They came with the codes: an atom is as it was then until it is its block's turn.
        """
        return np.array(self._sums[block])

    def fits_of(self, block: Indices, candidates: list[Floats]) -> Floats:
        """Return Σ_i Y_ir k(X_i, C_r) for the atoms of a block at every candidate, (candidates, B)."""
        shared = self.sums, self.beta, block, candidates
        return np.asarray(self._attempt(lambda: self.sweeps.total(_fits_of, self.left, *shared)))

    def worst_represented(self, count: int) -> Indices:
        """Return the samples with the greatest losses, worst first; the earlier one at equal loss."""
        worst = self._attempt(lambda: self.sweeps.total(_worst, self.left, count, read=False))
        return np.asarray(worst.samples)

    def samples(self, chosen: Indices) -> Floats:
        """Return some samples."""
        return np.asarray(self.stream[chosen], np.float64)

    def codes(self) -> StreamedCodes:
        """Return all codes, (m, N), which stay where they are until they are looked at."""
        return StreamedCodes(self, self.nnz)

    def collected(self) -> scipy.sparse.csr_array:
        """Return all codes, in the memory of this process."""
        pieces = self._attempt(lambda: self.sweeps.collect(self.left or []))
        parts = [coded for piece in pieces for coded in piece]
        return scipy.sparse.vstack([coded.columns().tocsr() for coded in parts], "csr")


@dataclass(frozen=True)
class Worst:
    """The samples with the greatest losses, of those looked at so far."""

    samples: Indices
    losses: Floats
    count: int

    def cut(self) -> Worst:
        """Return no more than are asked for, the earlier one at equal loss."""
        order = np.argsort(-self.losses, kind="stable")[: self.count]
        return Worst(self.samples[order], self.losses[order], self.count)

    def __add__(self, later: Worst) -> Worst:
        samples = np.concatenate([self.samples, later.samples])
        return Worst(samples, np.concatenate([self.losses, later.losses]), self.count).cut()


def _parts(
    matrices: FloatArray, piece: Piece, left: Sequence[Coded] | None, sums: AtomSums, n_atoms: int
) -> list[Part]:
    """Return the parts of a piece, with the codes that were left there."""
    prepared = [sums.prepare(samples) for samples in piece.split(matrices)]
    if left is not None:
        return [coded.part(p) for coded, p in zip(left, prepared, strict=True)]
    sizes = [rows.stop - rows.start for rows in piece.parts]
    return [
        Part.uncoded(p, scipy.sparse.csr_array((size, n_atoms)))
        for p, size in zip(prepared, sizes, strict=True)
    ]


def _code(
    matrices: FloatArray,
    piece: Piece,
    left: Sequence[Coded] | None,
    sums: AtomSums,
    beta: float,
    n_atoms: int,
    coding: Coding,
) -> tuple[tuple[Coded, ...], Addends]:
    """Code the samples of a piece, and add up what the update of the atoms needs to know."""
    divergence, every_atom = sums.divergence, np.arange(n_atoms)
    atoms = divergence.prepare(coding.atoms)
    terms, coded = [], []
    for part in _parts(matrices, piece, left, sums, n_atoms):
        objective = part.code(divergence, beta, coding.gram, atoms, coding.alpha)
        terms.append(
            Addends(
                (
                    objective,
                    part.columns.nnz,
                    part.products_of_codes(),
                    part.fits(),
                    part.weighted_sums(sums, every_atom, coding.atoms),
                )
            )
        )
        coded.append(Coded.of(part))
    return tuple(coded), added(terms)


def _fits_of(
    matrices: FloatArray,
    piece: Piece,
    left: Sequence[Coded],
    sums: AtomSums,
    beta: float,
    block: Indices,
    candidates: list[Floats],
) -> Floats:
    """Try new atoms on the samples of a piece."""
    prepared = [sums.prepare(C) for C in candidates]
    n_atoms = left[0].n_atoms
    parts = _parts(matrices, piece, left, sums, n_atoms)
    return np.asarray(added([part.fits_of(sums, beta, block, prepared) for part in parts]))


def _worst(matrices: None, piece: Piece, left: Sequence[Coded], count: int) -> Worst:
    """Find the samples of a piece with the greatest losses."""
    losses = np.concatenate([part.losses for part in left])
    samples = np.arange(piece.rows.start, piece.rows.stop)
    return Worst(samples, losses, count).cut()
