"""Learning from batch after batch: the sums of the past, slowly forgotten, stand in for its samples.

After a batch the sums of an atom, and A = YᵀY, are ρ times what they were plus those of the batch. The
sums are not sufficient: weights and (Z + D_r)⁻¹ are those of the atom as it was then. So F is estimated,
its sum over past samples by that over the batch, and the atoms move as in batch learning, each only
where the estimate of F falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._coded_data import CodedData
from spdatoms.dictionary._update import AtomUpdate, UpdateRule
from spdatoms.dictionary.problem import Problem


@dataclass(frozen=True)
class Memory:
    """What remains of the batches so far.

    Attributes
    ----------
    sums : ndarray of shape (N, q)
        The sums of every atom.
    products : ndarray of shape (N, N)
        A = YᵀY.
    weight : float
        How many samples that is worth.
    """

    sums: Floats
    products: Floats
    weight: float

    def joined(self, batch: Memory, forgetting: float) -> Memory:
        """Return ρ·past + batch."""
        return Memory(
            forgetting * self.sums + batch.sums,
            forgetting * self.products + batch.products,
            forgetting * self.weight + batch.weight,
        )


def memory_of(data: CodedData, atoms: Floats) -> Memory:
    """Return the sums over samples that have just been coded."""
    every_atom = np.arange(len(atoms))
    return Memory(data.weighted_sums(every_atom, atoms), data.products_of_codes(), float(len(data)))


class RememberingPasses:
    """The passes over a batch, with the sums of the past in the place of its samples."""

    def __init__(self, data: CodedData, memory: Memory) -> None:
        self.data, self.memory = data, memory
        self.scale = memory.weight / len(data)

    def products_of_codes(self) -> Floats:
        """Return A, the past's included."""
        return self.memory.products

    def fits(self) -> Floats:
        """Estimate Σ_i Y_ir k(X_i, D_r) over past and batch."""
        return self.scale * self.data.fits()

    def weighted_sums(self, block: Indices, D: Floats) -> Floats:
        """Return the sums of some atoms, the past's included."""
        return self.memory.sums[block]

    def fits_of(self, block: Indices, candidates: list[Floats]) -> Floats:
        """Estimate Σ_i Y_ir k(X_i, C_r) over past and batch."""
        return self.scale * self.data.fits_of(block, candidates)

    def worst_represented(self, count: int) -> Indices:
        """Return the samples of the batch with the greatest losses."""
        return self.data.worst_represented(count)

    def samples(self, chosen: Indices) -> Floats:
        """Return samples of the batch."""
        return self.data.samples(chosen)


def learn_batch(
    data: CodedData,
    problem: Problem,
    rule: UpdateRule,
    atoms: Floats,
    past: Memory | None,
    forgetting: float,
    rounds: int,
) -> tuple[Floats, Memory, float]:
    """Code the batch and move the atoms, so many times; return atoms, memory and the loss before.

    The memory takes the batch in once, as it was coded last.
    """
    gram = problem.gram(atoms)
    losses = []
    for _ in range(rounds):
        losses.append(data.code(problem.ridged(gram), atoms, problem.alpha))
        batch = memory_of(data, atoms)
        memory = batch if past is None else past.joined(batch, forgetting)
        update = AtomUpdate(rule, RememberingPasses(data, memory), atoms, gram)
        update.run()
        atoms, gram = update.atoms, update.gram
    return atoms, memory, losses[0] / len(data)
