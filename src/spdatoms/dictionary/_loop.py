"""The loop of learning: coding and the atoms' half-step in turn, from first atoms, a checkpoint or the last batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms.dictionary._samples import Samples

#: With a checkpoint, codes are collected after this many iterations, and learning goes on from them: what
#: is lost with a worker then need not be computed again from the beginning.
_FRESH_START = 10
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


@dataclass(frozen=True)
class State:
    """A dictionary between two iterations.

    Attributes
    ----------
    atoms : ndarray of shape (N, n, n)
        D.
    images : ndarray of shape (N, N) or (N, r)
        What the kernel knows of the atoms: K, without any ridge, or their features φ(D).
    objective : tuple of float
        F after every half-step so far.
    """

    atoms: Floats
    images: Floats
    objective: tuple[float, ...] = ()

    def next(self, data: Samples, moves: Moves) -> State:
        """Return the dictionary after one more iteration: coding, then the update of the atoms."""
        coded, sums = data.code(self.images, self.atoms)
        update = data.problem.update(data, moves, self.atoms, self.images, *sums)
        update.run()
        objective = (*self.objective, coded, coded + update.change)
        return State(update.atoms, update.images, objective)

    @property
    def n_iter(self) -> int:
        """The number of iterations so far, of two half-steps each."""
        return len(self.objective) // 2

    def converged(self, tol: float, n_samples: int) -> bool:
        """Return whether the last iteration lowered F by no more than this fraction of it."""
        if self.n_iter < 2:
            return False
        before, now = self.objective[-3], self.objective[-1]
        # Perfect codes have F = 0, up to the rounding of a sum of m ones.
        rounding = np.finfo(np.float64).eps * n_samples
        return bool(before - now <= tol * abs(now) + rounding)


def iterate(
    data: Samples,
    moves: Moves,
    state: State,
    *,
    max_iter: int,
    tol: float,
    save: Callable[[State, scipy.sparse.csr_array], None] | None,
) -> State:
    """Iterate to the end, or to Ctrl-C.

    Parameters
    ----------
    data : Samples
        The samples.
    moves : Moves
        How atoms move.
    state : State
        The dictionary to go on with.
    max_iter : int
        The most iterations, those before this state included.
    tol : float
        The end is where an iteration lowers the objective by no more than this fraction of it.
    save : callable or None
        Writes a checkpoint of a dictionary and codes, after every iteration.

    Returns
    -------
    State
        The dictionary after the last whole iteration.
    """
    try:
        with progress_bar(max_iter, "dictionary", initial=state.n_iter) as advance:
            while state.n_iter < max_iter and not state.converged(tol, len(data)):
                state = state.next(data, moves)
                if save:
                    codes = data.codes()
                    save(state, codes)
                    if state.n_iter % _FRESH_START == 0:
                        data.start_from(codes)
                advance(objective=f"{state.objective[-1]:.6g}", nonzeros=f"{data.nonzeros:.1f}")
    except KeyboardInterrupt:
        warn_user(
            f"Learning was interrupted: the atoms are those after {state.n_iter} iterations of "
            f"at most {max_iter}."
        )
    return state
