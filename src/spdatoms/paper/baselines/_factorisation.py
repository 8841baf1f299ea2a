"""min_{D,Y} ‖V − YD‖²_F with unit rows in D and at most s entries in a row of Y: K-SVD on vectors.

Rows of V are samples, rows of D atoms. Coding by orthogonal matching pursuit and updates of one atom
with its coefficients alternate [1]_, [2]_. Two safeguards keep the objective from rising: a sample keeps
its code where the pursuit finds a worse one, and an exchange of atoms is undone unless it lowers the
objective.

.. [1] M. Aharon, M. Elad, A. Bruckstein, K-SVD: an algorithm for designing overcomplete dictionaries
   for sparse representation, 2006.
.. [2] R. Rubinstein, M. Zibulevsky, M. Elad, Efficient implementation of the K-SVD algorithm using
   batch orthogonal matching pursuit, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.extmath import row_norms

from spdatoms._utils.typing import Floats
from spdatoms.paper.baselines.pursuit import pursue

#: A function that finds the unit vector d and the coefficients y of min ‖E − y dᵀ‖², given E and y.
AtomUpdate = Callable[[Floats, Floats], tuple[Floats, Floats]]

#: An objective below this fraction of that of zero codes is taken for zero.
_ZERO = 1e-20
#: Iterations in which an exchange must lower the objective, and failed exchanges that end learning.
_TRIAL_ITERATIONS, _VAIN_EXCHANGES = 5, 12


def exact_update(E: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the first singular pair of E: the atom and the coefficients that are best together."""
    if E.shape[0] < E.shape[1]:
        coefficients = np.linalg.eigh(E @ E.T)[1][:, -1]
        atom = coefficients @ E
        atom /= np.linalg.norm(atom)
    else:
        atom = np.linalg.eigh(E.T @ E)[1][:, -1]
    return atom, E @ atom


def approximate_update(E: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the best atom for the present coefficients, then the best coefficients for that atom."""
    atom = y @ E
    atom /= np.linalg.norm(atom)
    return atom, E @ atom


UPDATES: dict[str, AtomUpdate] = {"exact": exact_update, "approximate": approximate_update}


@dataclass(frozen=True)
class Factorisation:
    """V ≈ YD, with the residual V − YD and its squared norm."""

    atoms: Floats
    codes: Floats
    residual: Floats
    objective: float


class KSVD:
    """The iterations of K-SVD on the rows of V.

    Parameters
    ----------
    V : ndarray of shape (m, p)
        The samples.
    n_nonzero : int
        The greatest number s of atoms per code.
    update : {"exact", "approximate"}
        The first singular pair, or one step towards it, which is faster.
    tol : float
        The iterations stall where one lowers the objective by no more than this fraction of it.
    """

    def __init__(self, V: Floats, n_nonzero: int, update: str, tol: float) -> None:
        self.V, self.n_nonzero, self.tol = V, n_nonzero, tol
        self._update = UPDATES[update]
        self._scale = float(np.vdot(V, V))

    def run(
        self, atoms: Floats, max_iter: int, report: Callable[[float], None]
    ) -> tuple[Factorisation, list[float]]:
        """Return the factorisation after ``max_iter`` iterations from these atoms, and the objectives.

        Where the iterations stall, the atom that contributes least is exchanged for the sample that is
        represented worst. If that has not lowered the objective after a few iterations it is undone.
        """
        codes = np.zeros((len(self.V), len(atoms)))
        now = Factorisation(atoms, codes, self.V, self._scale)
        history: list[float] = []
        done = vain = 0
        while done < max_iter and now.objective > _ZERO * self._scale:
            before, now = now.objective, self._iterate(now)
            done += 1
            history.append(now.objective)
            report(now.objective)
            if before - now.objective > self.tol * now.objective:
                continue
            if vain == min(_VAIN_EXCHANGES, len(atoms), len(self.V)):
                break
            better, used = self._exchange(now, vain, min(_TRIAL_ITERATIONS, max_iter - done))
            done += used
            now, vain = (now, vain + 1) if better is None else (better, 0)
        return now, history

    def _iterate(self, now: Factorisation) -> Factorisation:
        """Code all samples, then update all atoms."""
        atoms, codes = now.atoms.copy(), now.codes.copy()
        proposal = pursue(atoms @ atoms.T, self.V @ atoms.T, self.n_nonzero)
        residual = self.V - proposal @ atoms
        better = row_norms(residual, squared=True) < row_norms(now.residual, squared=True)
        codes[better] = proposal[better]
        residual[~better] = now.residual[~better]
        for r in range(len(atoms)):
            users = np.flatnonzero(codes[:, r])
            if len(users):
                y = codes[users, r]
                E = residual[users] + np.outer(y, atoms[r])
                atoms[r], y = self._update(E, y)
                codes[users, r] = y
                residual[users] = E - np.outer(y, atoms[r])
        return Factorisation(atoms, codes, residual, float(np.vdot(residual, residual)))

    def _exchange(
        self, now: Factorisation, vain: int, iterations: int
    ) -> tuple[Factorisation | None, int]:
        """Return a better factorisation with one atom exchanged, or None, and the iterations used."""
        atoms, codes = now.atoms.copy(), now.codes.copy()
        # Without atom r, the atom most like it takes over all but this share of its contribution.
        likeness = np.abs(atoms @ atoms.T)
        np.fill_diagonal(likeness, 0.0)
        missed = row_norms(codes.T, squared=True) * (1.0 - likeness.max(axis=1) ** 2)
        least = np.argsort(missed, kind="stable")[vain]
        worst = np.argsort(-row_norms(now.residual, squared=True), kind="stable")[vain]
        length = np.linalg.norm(self.V[worst])
        if length == 0.0:
            return None, 0
        residual = now.residual + np.outer(codes[:, least], atoms[least])
        atoms[least], codes[:, least] = self.V[worst] / length, 0.0
        trial = replace(now, atoms=atoms, codes=codes, residual=residual)
        for used in range(1, iterations + 1):
            trial = self._iterate(trial)
            if trial.objective < now.objective:
                return trial, used
        return None, iterations
