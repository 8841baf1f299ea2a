"""The passes of dictionary learning over a stream: `CodedData` for data that is not in memory.

The state of a span is its codes; the matrices are read again in every pass. One pass codes the samples,
and returns all that the update of the atoms needs to know about the current dictionary. Other passes try
new atoms. The atoms themselves are moved in this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.dictionary._coded_data import Part
from spdatoms.dictionary._samples import StreamedCodes, StreamedSamples
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.divergences.sparse_pairs import columns_of_entries
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Span, SumTuple
from spdatoms.scale.stream import Stream


@dataclass(frozen=True)
class Coding:
    """Arguments of a coding: K + μI, the dictionary, and α."""

    gram: Floats
    atoms: Floats
    alpha: float


@dataclass(frozen=True)
class Coded:
    """What is kept of a part between two passes: the codes Y, exactly, and their losses.

    Workers hold little else than codes. So one bit per entry marks where Y ≠ 0; a sparse matrix would
    take 32 bits per non-zero.

    Attributes
    ----------
    values : ndarray
        The non-zeros of Y, column by column.
    pattern : ndarray of uint8
        Where they are: one bit per entry, column by column.
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
        """Return the bytes of the arrays, by which Dask knows how much memory its workers use."""
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


class StreamedCodedData(StreamedSamples):
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
        super().__init__(stream, n_atoms)
        self.sums, self.beta = sums, beta
        self.start: scipy.sparse.csr_array | None = None
        self.codings: list[Coding] = []

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
            [
                tuple(Coded.of(Part.uncoded(None, codes[rows])) for rows in span.parts)
                for span in self.passes.spans
            ]
        )

    def compute_states(self) -> None:
        """Compute the codes that were there before the data was cut anew."""
        states = self._put(self.start)
        for coding in self.codings:
            states, _ = self.passes.run(_code, states, *self._shared(coding), keep=False)
        self.states = states

    def _shared(self, coding: Coding) -> tuple[Any, ...]:
        return self.sums, self.beta, self.n_atoms, coding

    def code(self, gram: Floats, D: Floats, alpha: float) -> float:
        """Code every sample, each from its last code, and return Σ_i f(y_i)."""
        coding = Coding(gram, D, alpha)
        self.version += 1
        self.states, terms = self.attempt(lambda: self._coded(coding))
        self.codings.append(coding)
        objective, nnz, self._code_gram, self._correlations, self._sums = terms
        self.nnz = int(nnz)
        return float(objective)

    def _coded(self, coding: Coding) -> tuple[list[Any], Any]:
        before, self.states = self.states, None
        return self.passes.run(_code, before, *self._shared(coding), keep=False)

    def code_gram(self) -> Floats:
        """Return A = YᵀY, found by the coding."""
        return np.array(self._code_gram)

    def correlations(self) -> Floats:
        """Return Σ_i Y_ir k(X_i, D_r) for every atom, found by the coding."""
        return np.array(self._correlations)

    def weighted_sums(self, block: Indices, D: Floats) -> Floats:
        """Return the sums over the samples, weighted by Y_ir k(X_i, D_r), for the atoms of a block.

        The coding found them: until the turn of its block, an atom is what it was then.
        """
        return np.array(self._sums[block])

    def correlations_of(self, block: Indices, candidates: list[Floats]) -> Floats:
        """Return Σ_i Y_ir k(X_i, C_r) for the atoms of a block at every candidate, (candidates, B)."""
        shared = self.sums, self.beta, block, candidates
        return np.asarray(
            self.attempt(lambda: self.passes.total(_correlations_of, self.states, *shared))
        )

    def collected(self) -> scipy.sparse.csr_array:
        """Return all codes, in the memory of this process."""
        spans = self.attempt(lambda: self.passes.collect(self.states or []))
        parts = [coded for span in spans for coded in span]
        return scipy.sparse.vstack([coded.columns().tocsr() for coded in parts], "csr")


def _parts(
    matrices: FloatArray, span: Span, state: Sequence[Coded] | None, sums: AtomSums, n_atoms: int
) -> list[Part]:
    """Return the parts of a span, with their codes."""
    prepared = [sums.divergence.prepare(samples) for samples in span.split(matrices)]
    if state is not None:
        return [coded.part(p) for coded, p in zip(state, prepared, strict=True)]
    sizes = [rows.stop - rows.start for rows in span.parts]
    return [
        Part.uncoded(p, scipy.sparse.csr_array((size, n_atoms)))
        for p, size in zip(prepared, sizes, strict=True)
    ]


def _code(
    matrices: FloatArray,
    span: Span,
    state: Sequence[Coded] | None,
    sums: AtomSums,
    beta: float,
    n_atoms: int,
    coding: Coding,
) -> tuple[tuple[Coded, ...], SumTuple]:
    """Code the samples of a span, and add up what the update of the atoms needs to know."""
    divergence, every_atom = sums.divergence, np.arange(n_atoms)
    atoms = divergence.prepare(coding.atoms)
    terms, coded = [], []
    for part in _parts(matrices, span, state, sums, n_atoms):
        objective = part.code(divergence, beta, coding.gram, atoms, coding.alpha)
        terms.append(
            SumTuple(
                (
                    objective,
                    part.columns.nnz,
                    part.code_gram(),
                    part.correlations(),
                    part.weighted_sums(sums, every_atom, coding.atoms),
                )
            )
        )
        coded.append(Coded.of(part))
    return tuple(coded), added(terms)


def _correlations_of(
    matrices: FloatArray,
    span: Span,
    state: Sequence[Coded],
    sums: AtomSums,
    beta: float,
    block: Indices,
    candidates: list[Floats],
) -> Floats:
    """Try new atoms on the samples of a span."""
    prepared = [sums.divergence.prepare(C) for C in candidates]
    parts = _parts(matrices, span, state, sums, state[0].n_atoms)
    return np.asarray(added([part.correlations_of(sums, beta, block, prepared) for part in parts]))
