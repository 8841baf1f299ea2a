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

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.dictionary._coded_data import Part
from spdatoms.dictionary._packed import Coded
from spdatoms.dictionary._samples import StreamedSamples
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Span, SumTuple
from spdatoms.scale.stream import Stream


@dataclass(frozen=True)
class Coding:
    """Arguments of a coding: K + μI, the dictionary, and α."""

    gram: Floats
    atoms: Floats
    alpha: float


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

    def code_pass(self, states: list[Any] | None, coding: Coding) -> tuple[list[Any], Any]:
        """Read and code all samples, from the codes in the states."""
        shared = self.sums, self.beta, self.n_atoms, coding
        return self.passes.run(_code, states, *shared, keep=False)

    def code(self, gram: Floats, D: Floats, alpha: float) -> float:
        """Code every sample, each from its last code, and return Σ_i f(y_i)."""
        terms = self.coded(Coding(gram, D, alpha))
        objective, nnz, self._code_gram, self._correlations, self._sums = terms
        self.nnz = int(nnz)
        return float(objective)

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


def _parts(
    matrices: FloatArray, span: Span, state: Sequence[Coded] | None, sums: AtomSums, n_atoms: int
) -> list[Part]:
    """Return the parts of a span, with their codes."""
    prepared = [sums.divergence.prepare(samples) for samples in span.split(matrices)]
    if state is not None:
        return [
            Part(p, coded.columns(), np.zeros(0), coded.losses)
            for coded, p in zip(state, prepared, strict=True)
        ]
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
        coded.append(Coded.of(part.columns, part.losses))
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
