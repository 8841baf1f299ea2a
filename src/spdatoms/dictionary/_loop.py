"""The loop of learning: from first atoms, a checkpoint or the last batch, coding and update in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Floats
from spdatoms._utils.warning import warn_user
from spdatoms.dictionary._samples import Samples
from spdatoms.dictionary._update import Moves
from spdatoms.dictionary.problem import AnyProblem

#: With a checkpoint, codes are collected after this many iterations, and learning goes on from them: what
#: is lost with a worker then need not be computed again from the beginning.
_FRESH_START = 10


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
    objective: tuple[float, ...]

    @classmethod
    def first(cls, atoms: Floats, problem: AnyProblem) -> State:
        """Return the dictionary to start from."""
        return cls(atoms, problem.images(atoms), ())

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
