"""From the first atoms, or from a checkpoint, to the end: the loop of `SPDDictionaryLearning.fit`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary._checkpoint import Checkpoint
from spdatoms.dictionary._coded_data import CodedData
from spdatoms.dictionary._iterations import CodingPasses, State, first_state, iterations
from spdatoms.dictionary._update import UpdateRule
from spdatoms.dictionary.problem import Problem
from spdatoms.divergences import Divergence

#: With a checkpoint, codes are collected after this many iterations, and learning goes on from them: what
#: is lost with a worker then need not be computed again from the beginning.
_FRESH_START = 10


def start_or_resume(
    checkpoint: Checkpoint | None,
    divergence: Divergence,
    first_atoms: Callable[[], tuple[Floats, Problem]],
    n_samples: int,
) -> tuple[State, Problem]:
    """Return what the checkpoint holds, or else the first state, which is written to it.

    Parameters
    ----------
    checkpoint : Checkpoint or None
        The file, if there is to be one.
    divergence : Divergence
        The divergence of the problem in the file.
    first_atoms : callable
        Finds the atoms to start from, and fixes the problem.
    n_samples : int
        The number m of samples.

    Returns
    -------
    state : State
        The dictionary to go on with.
    problem : Problem
        The kernel and the objective.
    """
    found = checkpoint and checkpoint.read(divergence)
    if found:
        return found
    atoms, problem = first_atoms()
    state = first_state(problem, atoms, n_samples)
    if checkpoint:
        checkpoint.write(state, problem)
    return state, problem


def passes_over(
    X: Any,
    problem: Problem,
    n_atoms: int,
    update: str,
    block_size: int | None,
    n_jobs: int | None,
) -> tuple[CodingPasses, UpdateRule]:
    """Return the samples, in memory or in a stream, and how atoms move."""
    rule = problem.rule(update, block_size, X)
    if isinstance(X, np.ndarray):
        return samples_in_memory(X, problem, n_atoms, n_jobs), rule
    from spdatoms.dictionary._streamed import StreamedCodedData

    data = StreamedCodedData(X, rule.sums, problem.beta, n_atoms)
    # To read everything again costs about as much as to try this many candidates.
    return data, replace(rule, trials_at_once=len(rule.trials), most_candidates=n_atoms // 2)


def samples_in_memory(
    X: FloatArray, problem: Problem, n_atoms: int, n_jobs: int | None
) -> CodedData:
    """Return samples that are an array of NumPy, not coded yet."""
    return CodedData(X, problem.divergence.atom_sums(), problem.beta, n_atoms, n_jobs)


def iterate(
    data: CodingPasses,
    problem: Problem,
    rule: UpdateRule,
    state: State,
    *,
    max_iter: int,
    tol: float,
    checkpoint: Checkpoint | None,
    shown: bool,
) -> State:
    """Return the state at the end, which Ctrl-C may bring early; every state goes to the checkpoint.

    Parameters
    ----------
    data : CodingPasses
        The samples.
    problem : Problem
        The kernel and the objective.
    rule : UpdateRule
        How atoms move.
    state : State
        The dictionary to go on with.
    max_iter : int
        The most iterations, those before this state included.
    tol : float
        The end is where an iteration lowers the objective by no more than this fraction of it.
    checkpoint : Checkpoint or None
        The file to write after every iteration.
    shown : bool
        Whether there is a progress bar.

    Returns
    -------
    State
        The dictionary after the last whole iteration.
    """
    steps = iterations(data, problem, rule, state)
    try:
        with progress_bar(max_iter, "dictionary", shown, initial=state.n_iter) as advance:
            while state.n_iter < max_iter and not state.converged(tol):
                state = next(steps)
                if checkpoint:
                    checkpoint.write(state, problem)
                    if state.n_iter % _FRESH_START == 0:
                        data.start_from(state.codes)
                advance(objective=f"{state.objective[-1]:.6g}", nonzeros=f"{state.nonzeros:.1f}")
    except KeyboardInterrupt:
        warnings.warn(
            f"Learning was interrupted: the atoms are those after {state.n_iter} iterations of "
            f"at most {max_iter}.",
            stacklevel=4,
        )
    return state
