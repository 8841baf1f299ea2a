"""The loop of `SPDDictionaryLearning.fit`, from the first atoms or a checkpoint to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Floats
from spdatoms._utils.warning import warn_user
from spdatoms.dictionary._checkpoint import Checkpoint
from spdatoms.dictionary._state import State
from spdatoms.dictionary.problem import AnyProblem
from spdatoms.divergences import Divergence

#: With a checkpoint, codes are collected after this many iterations, and learning goes on from them: what
#: is lost with a worker then need not be computed again from the beginning.
_FRESH_START = 10


def start_or_resume(
    checkpoint: Checkpoint | None,
    divergence: Divergence,
    first_atoms: Callable[[], tuple[Floats, AnyProblem]],
    n_samples: int,
) -> tuple[State, AnyProblem]:
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
    problem : Problem or LandmarkProblem
        The kernel and the objective.
    """
    found = checkpoint and checkpoint.read(divergence)
    if found:
        return found
    atoms, problem = first_atoms()
    state = State.first(atoms, problem.images(atoms), n_samples)
    if checkpoint:
        checkpoint.write(state, problem)
    return state, problem


def iterate(
    data: Any,
    problem: AnyProblem,
    rule: Any,
    state: State,
    *,
    max_iter: int,
    tol: float,
    checkpoint: Checkpoint | None,
) -> State:
    """Iterate to the end, or to Ctrl-C; every state is written to the checkpoint.

    Parameters
    ----------
    data : CodedData, FeatureData, or their streamed forms
        The samples.
    problem : Problem or LandmarkProblem
        The kernel and the objective.
    rule : UpdateRule or LandmarkRule
        How atoms move.
    state : State
        The dictionary to go on with.
    max_iter : int
        The most iterations, those before this state included.
    tol : float
        The end is where an iteration lowers the objective by no more than this fraction of it.
    checkpoint : Checkpoint or None
        The file to write after every iteration.

    Returns
    -------
    State
        The dictionary after the last whole iteration.
    """
    data.start_from(state.codes)
    try:
        with progress_bar(max_iter, "dictionary", initial=state.n_iter) as advance:
            while state.n_iter < max_iter and not state.converged(tol):
                state = problem.iterated(data, rule, state)
                if checkpoint:
                    checkpoint.write(state, problem)
                    if state.n_iter % _FRESH_START == 0:
                        data.start_from(state.codes)
                advance(objective=f"{state.objective[-1]:.6g}", nonzeros=f"{state.nonzeros:.1f}")
    except KeyboardInterrupt:
        warn_user(
            f"Learning was interrupted: the atoms are those after {state.n_iter} iterations of "
            f"at most {max_iter}.",
        )
    return state
