"""The atoms' half-step: what is the same with the kernel itself and in the span of landmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._samples import Samples

#: A change of F below this fraction of the terms it is the difference of is rounding.
ROUNDING = 1e-14
#: A re-seeded atom must differ from the others: neither a kernel value nor a cosine with them is above this.
LARGEST_LIKENESS = 0.99
#: The least eigenvalue of an atom in its unit-diagonal scaling.
_LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class Moves:
    """How atoms move.

    Attributes
    ----------
    gradient : bool
        Propose a step of Riemannian gradient descent, rather than the centre.
    block_size : int or None
        Atoms that are updated at once; None is all of them.
    least_eigenvalue : float
        The least eigenvalue that an atom may have in its unit-diagonal scaling.
    n_jobs : int or None
        The number of threads for what concerns atoms only.
    """

    gradient: bool = False
    block_size: int | None = None
    least_eigenvalue: float = _LEAST_EIGENVALUE
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Any, update: str, block_size: int | None, n_jobs: int | None) -> Moves:
        """Return how atoms move that are to be SPD in the precision of X, too."""
        least = max(_LEAST_EIGENVALUE, 4.0 * int(X.shape[-1]) * float(np.finfo(X.dtype).eps))
        return cls(update == "gradient", block_size, least, n_jobs)


class AtomUpdate(ABC):
    """One half-step: a dictionary that changes atom by atom, and the change of F.

    Parameters
    ----------
    data : Samples
        The samples with their codes.
    moves : Moves
        How atoms move.
    atoms, images : ndarray
        The dictionary D (N, n, n), and what the kernel knows of it; they are not modified.
    code_gram : ndarray of shape (N, N)
        A = YᵀWY.
    *sums : ndarray
        What else the coding has found out about samples and codes, see the ``code`` of the problem.

    Attributes
    ----------
    atoms, images : ndarray
        The dictionary as it is now.
    change : float
        The change of F so far; it is never positive.
    """

    def __init__(
        self,
        data: Samples,
        moves: Moves,
        atoms: Floats,
        images: Floats,
        code_gram: Floats,
        *sums: Floats,
    ) -> None:
        self.data, self.problem, self.moves = data, data.problem, moves
        self.atoms, self.images = atoms.copy(), images.copy()
        self.code_gram, self.sums, self.change = code_gram, sums, 0.0

    def run(self) -> None:
        """Re-seed the atoms that no code uses, which leaves F what it is, then move the others block by block."""
        self.begin()
        weights = self.code_gram.diagonal()
        used, unused = np.flatnonzero(weights), np.flatnonzero(weights == 0)
        if len(unused):
            worst = self.data.worst_represented(2 * len(unused))
            self.reseed(unused, self.data.samples(worst))
        for part in block_slices(len(used), self.moves.block_size or max(1, len(used))):
            self.move(used[part])

    @abstractmethod
    def begin(self) -> None:
        """Compute what moves need to know of samples and atoms."""

    @abstractmethod
    def reseed(self, unused: Indices, samples: Floats) -> None:
        """Replace unused atoms by the worst represented samples, as far as they are unlike the others."""

    @abstractmethod
    def move(self, block: Indices) -> None:
        """Move the atoms of a block as far as F falls."""
