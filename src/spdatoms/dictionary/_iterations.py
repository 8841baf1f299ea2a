"""Alternate exact coding and updates of the atoms: F falls in every half-step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import Floats
from spdatoms.dictionary._update import AtomUpdate, Passes, UpdateRule
from spdatoms.dictionary.problem import Problem


class CodingPasses(Passes, Protocol):
    """What learning needs of the data; see `CodedData` for what these methods do."""

    def code(self, gram: Floats, D: Floats, alpha: float) -> float: ...

    def codes(self) -> Any: ...

    def start_from(self, codes: Any) -> None: ...


@dataclass(frozen=True)
class State:
    """A dictionary between two iterations.

    Attributes
    ----------
    atoms : ndarray of shape (N, n, n)
        D.
    gram : ndarray of shape (N, N)
        K, without any ridge.
    codes : csr_array of shape (m, N)
        Y, from which the next coding starts; for a stream, `StreamedCodes`.
    objective : tuple of float
        F after every half-step so far.
    """

    atoms: Floats
    gram: Floats
    codes: Any
    objective: tuple[float, ...]

    @property
    def n_iter(self) -> int:
        """The number of iterations so far, of two half-steps each."""
        return len(self.objective) // 2

    @property
    def nonzeros(self) -> float:
        """The mean number of non-zeros of a code."""
        return float(self.codes.nnz / self.codes.shape[0])

    def converged(self, tol: float) -> bool:
        """Return whether the last iteration lowered F by no more than this fraction of it."""
        if self.n_iter < 2:
            return False
        before, now = self.objective[-3], self.objective[-1]
        # Perfect codes have F = 0, up to the rounding of a sum of m ones.
        rounding = np.finfo(np.float64).eps * self.codes.shape[0]
        return bool(before - now <= tol * abs(now) + rounding)


def first_state(problem: Problem, atoms: Floats, n_samples: int) -> State:
    """Return the dictionary to start from, with codes of zeros."""
    codes = scipy.sparse.csr_array((n_samples, len(atoms)))
    return State(atoms, problem.gram(atoms), codes, ())


def iterations(
    data: CodingPasses, problem: Problem, rule: UpdateRule, state: State
) -> Iterator[State]:
    """Yield the state after every further iteration, without end."""
    data.start_from(state.codes)
    while True:
        coded = data.code(problem.ridged(state.gram), state.atoms, problem.alpha)
        update = AtomUpdate(rule, data, state.atoms, state.gram)
        update.run()
        objective = (*state.objective, coded, coded + update.change)
        state = State(update.atoms, update.gram, data.codes(), objective)
        yield state
