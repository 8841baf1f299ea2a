"""Learning from one batch after another: past samples are replaced by sums, which are slowly forgotten.

After a batch the sums of an atom, and A = YᵀY, are ρ times what they were plus those of the batch. The
sums are not sufficient: weights and (Z + D_r)⁻¹ are those of the atom as it was then. So F is estimated:
the batch stands for past samples. The atoms move as in batch learning, each only where the
estimate of F falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._coded_data import CodedData
from spdatoms.dictionary._landmark_update import LandmarkRule, LandmarkUpdate
from spdatoms.dictionary._update import AtomUpdate, UpdateRule
from spdatoms.dictionary.features import FeatureData, Statistics
from spdatoms.dictionary.problem import LandmarkProblem, Problem


@dataclass(frozen=True)
class PastSums:
    """Sums over the samples of all batches so far.

    Attributes
    ----------
    sums : ndarray of shape (N, q)
        The sums of every atom.
    products : ndarray of shape (N, N)
        A = YᵀY. (Stored models have this name.)
    weight : float
        The number of samples, the past ones discounted.
    """

    sums: Floats
    products: Floats
    weight: float

    def joined(self, batch: PastSums, forgetting: float) -> PastSums:
        """Return ρ·past + batch."""
        return PastSums(
            forgetting * self.sums + batch.sums,
            forgetting * self.products + batch.products,
            forgetting * self.weight + batch.weight,
        )


def past_sums(data: CodedData, atoms: Floats) -> PastSums:
    """Return the sums over samples that have just been coded."""
    every_atom = np.arange(len(atoms))
    return PastSums(data.weighted_sums(every_atom, atoms), data.code_gram(), float(len(data)))


class OnlinePasses:
    """The passes over a batch, with the sums over past samples included."""

    def __init__(self, data: CodedData, past: PastSums) -> None:
        self.data, self.past = data, past
        self.scale = past.weight / len(data)

    def code_gram(self) -> Floats:
        """Return A over past and batch."""
        return self.past.products

    def correlations(self) -> Floats:
        """Estimate Σ_i Y_ir k(X_i, D_r) over past and batch."""
        return self.scale * self.data.correlations()

    def weighted_sums(self, block: Indices, D: Floats) -> Floats:
        """Return the sums of some atoms over past and batch."""
        return self.past.sums[block]

    def correlations_of(self, block: Indices, candidates: list[Floats]) -> Floats:
        """Estimate Σ_i Y_ir k(X_i, C_r) over past and batch."""
        return self.scale * self.data.correlations_of(block, candidates)

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
    past: PastSums | None,
    forgetting: float,
    rounds: int,
) -> tuple[Floats, PastSums, float]:
    """Code the batch and move the atoms, ``rounds`` times.

    Returns
    -------
    atoms : ndarray of shape (N, n, n)
        The dictionary.
    sums : PastSums
        The sums over past and batch. They contain the batch once, as it was coded last.
    loss : float
        The mean loss of the batch before it was learned from.
    """
    gram = problem.images(atoms)
    losses = []
    for _ in range(rounds):
        losses.append(data.code(problem.ridged(gram), atoms, problem.lasso))
        batch = past_sums(data, atoms)
        sums = batch if past is None else past.joined(batch, forgetting)
        update = AtomUpdate(rule, OnlinePasses(data, sums), atoms, gram)
        update.run()
        atoms, gram = update.atoms, update.gram
    return atoms, sums, losses[0] / len(data)


def learn_feature_batch(
    data: FeatureData,
    problem: LandmarkProblem,
    rule: LandmarkRule,
    atoms: Floats,
    past: Statistics | None,
    forgetting: float,
    rounds: int,
) -> tuple[Floats, Statistics, float]:
    """Code the batch and move the atoms, ``rounds`` times, in the span of landmarks.

    Here the statistics of the past are exact: A and B are all that F depends on.

    Returns
    -------
    atoms : ndarray of shape (N, n, n)
        The dictionary.
    statistics : Statistics
        Those of past and batch. They contain the batch once, as it was coded last.
    loss : float
        The mean loss of the batch before it was learned from.
    """
    features = problem.images(atoms)
    losses = []
    for _ in range(rounds):
        losses.append(data.code(features, problem.lasso))
        batch = data.statistics
        statistics = batch if past is None else past.joined(batch, forgetting)
        update = LandmarkUpdate(rule, statistics, atoms, features)
        update.run(data)
        atoms, features = update.atoms, update.features
    return atoms, statistics, losses[0] / len(data)
