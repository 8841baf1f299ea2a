"""The atoms' half-step with the kernel itself: F(D) falls, or D stays, with the codes Y fixed.

The terms of F that contain the atom D_r are

    F_r(D_r) = −2 Σ_i Y_ir k(X_i, D_r) + 2 Σ_{j≠r} A_rj k(D_j, D_r),      A = YᵀY,

and F_r is stationary where Σ c·∇d(Z, D_r) = 0 with the weights c_i = Y_ir k(X_i, D_r) for samples and
c_j = −A_rj k(D_j, D_r) for the other atoms. With these weights fixed, the proposal for D_r is the centre
of the divergence, or a gradient step.

A block of atoms takes two passes over the data. The first gives the sums of all its atoms at the current
dictionary, and from them proposals and the geodesics to them. The second evaluates the correlations
Σ_i Y_ir k(X_i, D_r(t)) for the step lengths t. The rest of F_r depends on atoms only. So each atom of the
block in turn is then given the longest step for which F falls, exactly, whatever the atoms before it have
become. If there is none, steps downhill are tried: weights of both signs may have no centre, and the
projection onto the cone need not lie downhill. If none of these helps either, the atom stays.
A block of one atom is the scheme of the paper; a block of all atoms needs two passes per iteration, and F
falls as surely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices, map_in_threads
from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._loop import LARGEST_LIKENESS, ROUNDING, AtomUpdate
from spdatoms.dictionary._samples import Coded
from spdatoms.divergences import Divergence
from spdatoms.divergences.atom_sums import column_sums, columns, with_values
from spdatoms.geometry.geodesics import Geodesics, well_conditioned
from spdatoms.kernels.bandwidth import kernel_in_place

#: From sums and atoms to geodesics along which to move.
Move: TypeAlias = Callable[[Floats, Floats], Geodesics]

#: Step lengths along a geodesic, longest first.
STEPS: tuple[float, ...] = (1.0, 0.5, 0.125, 0.015625)
#: Step lengths downhill where no step towards the centre helps.
LAST_STEPS: tuple[float, ...] = (0.5, 0.015625)
#: The least Schur complement of an atom in K + σI: what rounding cannot reach.
LEAST_SCHUR = 1e-5
#: Atoms of a block whose sums over the other atoms a thread computes at a time.
_ATOMS_AT_ONCE = 64


class KernelUpdate(AtomUpdate):
    """One half-step of a `Problem`; ``images`` are K.

    The sums over samples were found by the coding: until the turn of its block, an atom is what it was then.
    """

    def begin(self) -> None:
        """Take what the coding has found out about the samples."""
        self.divergence: Divergence = self.problem.divergence
        correlations, self.weighted_sums = self.sums
        self.correlations: Floats = correlations.copy()

    @property
    def trials(self) -> Sequence[tuple[Move, float]]:
        """What is tried for an atom until F falls: moves and step lengths."""
        downhill = self.divergence.downhill
        if self.moves.gradient:
            return [(downhill, t) for t in STEPS]
        centre = self.divergence.towards_centre
        return [(centre, t) for t in STEPS] + [(downhill, t) for t in LAST_STEPS]

    def trials_of_a_pass(self, waiting: int) -> int:
        """Return how many trials go into one pass if this many atoms are waiting.

        The first trial, which most atoms accept, always has a pass of its own. The result does not depend on it: one
        at a time saves work, and all at once saves passes. To read everything again costs about as much as to try
        half as many candidates as there are atoms.
        """
        if self.data.in_memory:
            return 1
        return max(1, min(len(self.trials), len(self.atoms) // 2 // max(1, waiting)))

    def reseed(self, unused: Indices, samples: Floats) -> None:
        """Replace unused atoms, unless the Gram matrix would lose its margin."""
        before, waiting, margin = self._state(), list(unused), self._margin()
        cross, within = self._kernel(samples, self.atoms), self._kernel(samples)
        for i in range(len(samples)):
            if not waiting:
                break
            k, r = cross[i], waiting[0]
            k[r] = 0.0
            unlike = k.max() <= LARGEST_LIKENESS
            k[r] = 1.0
            if unlike and (margin is None or margin.replaced(r, k)):
                self._replace(waiting.pop(0), samples[i], k)
                cross[:, r] = within[:, i]
        if not self.problem.has_margin(self.images):
            self._go_back(before)

    def move(self, block: Indices) -> None:
        """Let the atoms of a block move as far as F falls."""
        sums = self._sums(block)
        waiting, trials, count = np.arange(len(block)), list(self.trials), 1
        while trials and len(waiting) > 0:
            now, trials = trials[:count], trials[count:]
            candidates = [self._candidates(sums[waiting], block[waiting], *trial) for trial in now]
            prepared = list(map(self.divergence.prepare, candidates))
            correlations = self.data.total(_correlations_of, block[waiting], prepared)
            left = np.ones(len(waiting), dtype=bool)
            for C, values in zip(candidates, correlations, strict=True):
                still = np.flatnonzero(left)
                left[still] = ~self._accept(block[waiting[still]], C[still], values[still])
            waiting = waiting[left]
            count = self.trials_of_a_pass(len(waiting))

    def _sums(self, block: Indices) -> Floats:
        """Return the sums over samples and other atoms for the atoms of a block."""
        weights = -self.code_gram[:, block] * self.images[:, block]
        weights[block, np.arange(len(block))] = 0.0
        atoms = self.divergence.prepare(self.atoms)

        def of_columns(number: int) -> Floats:
            some = parts[number]
            column_weights = scipy.sparse.csc_array(weights[:, some])
            return self.divergence.atom_sums(atoms, column_weights, self.atoms[block[some]])

        parts = list(block_slices(len(block), _ATOMS_AT_ONCE))
        over_atoms = map_in_threads(of_columns, len(parts), self.moves.n_jobs)
        return np.asarray(self.weighted_sums[block] + np.concatenate(over_atoms))

    def _candidates(self, sums: Floats, block: Indices, move: Move, t: float) -> Floats:
        """Return D_r(t), or the old atom where D_r(t) is too near to the edge of the cone."""
        atoms = self.atoms[block]
        C = move(sums, atoms).points(t)
        unfit = ~well_conditioned(C, self.moves.least_eigenvalue)
        C[unfit] = atoms[unfit]
        return C

    def _accept(self, block: Indices, C: Floats, correlations: Floats) -> NDArray[np.bool_]:
        """Let each atom of the block in turn become its candidate if F falls; return which did.

        Only if the Gram matrix has lost its margin after that, all is undone, and they take turns again
        with a check of the margin for each. The rounding errors of these checks add up: if the margin is lost
        even so, no atom moves.
        """
        if len(block) == 0:
            return np.zeros(0, dtype=bool)
        cross, within = self._kernel(C, self.atoms), self._kernel(C)
        before = self._state()
        accepted = self._take_turns(block, C, correlations, cross.copy(), within, None)
        if self.problem.has_margin(self.images):
            return accepted
        self._go_back(before)
        margin, before = self._margin(), self._state()
        accepted = self._take_turns(block, C, correlations, cross, within, margin)
        if not self.problem.has_margin(self.images):
            self._go_back(before)
            accepted[:] = False
        return accepted

    def _state(self) -> tuple[Floats, Floats, Floats, float]:
        return self.atoms.copy(), self.images.copy(), self.correlations.copy(), self.change

    def _go_back(self, state: tuple[Floats, Floats, Floats, float]) -> None:
        self.atoms, self.images, self.correlations, self.change = state

    def _take_turns(
        self,
        block: Indices,
        C: Floats,
        correlations: Floats,
        cross: Floats,
        within: Floats,
        margin: GramMargin | None,
    ) -> NDArray[np.bool_]:
        accepted = np.zeros(len(block), dtype=bool)
        for p, r in enumerate(block):
            k = cross[p]
            k[r] = 1.0
            gain = correlations[p] - self.correlations[r]
            cost = self.code_gram[r] @ (k - self.images[r])
            change = 2.0 * (cost - gain)
            size = abs(self.correlations[r]) + np.abs(self.code_gram[r]) @ self.images[r]
            falls = change < -ROUNDING * size
            if falls and (margin is None or margin.replaced(r, k)):
                self._replace(r, C[p], k)
                cross[:, r] = within[:, p]
                self.correlations[r] = correlations[p]
                self.change += change
                accepted[p] = True
        return accepted

    def _replace(self, r: int, atom: Floats, k: Floats) -> None:
        self.atoms[r] = atom
        self.images[r] = self.images[:, r] = k

    def _margin(self) -> GramMargin | None:
        """Return the margin to keep, if there is one."""
        shift = self.problem.shift
        return None if shift is None else GramMargin(self.images, shift, LEAST_SCHUR)

    def _kernel(self, C: Floats, D: Floats | None = None) -> Floats:
        return np.asarray(self.problem.values(C, D, self.moves.n_jobs))


def _correlations_of(
    prepared: Any, coded: Coded, problem: Any, block: Indices, candidates: list[Any]
) -> Floats:
    """Return Σ_i w_i Y_ir k(X_i, C_r) over a part for the atoms of a block at prepared candidates, (candidates, B)."""
    Y, correlations = columns(coded.columns(), block), []
    for C in candidates:
        kernel = kernel_in_place(problem.divergence.pairs(prepared, Y, C), problem.beta)
        correlations.append(column_sums(times_weights(Y, Y.data * kernel, coded.weights)))
    return np.array(correlations)


def times_weights(
    Y: scipy.sparse.csc_array, values: Floats, weights: Floats | None, power: float = 1.0
) -> scipy.sparse.csc_array:
    """Return values in the pattern of Y, multiplied by powers of the weights of their samples."""
    if weights is not None:
        values = values * weights[Y.indices] ** power
    return with_values(Y, values)


class GramMargin:
    """The inverse M of K + σI, kept while rows of K are replaced: K is to keep K + μI − νI ≻ 0.

    With c = K₋ᵣ⁻¹ k_r, the row k_r of an atom keeps K positive definite if and only if the Schur complement
    1 − k_rᵀ c is positive, provided that the rest of K is. So testing and replacing an atom takes O(N²).

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K, with ones on its diagonal.
    shift : float
        σ = μ − ν: the ridge μ less the margin ν that every eigenvalue of K + μI is to keep.
    least : float
        The least Schur complement that is allowed, well above rounding.
    """

    def __init__(self, gram: Floats, shift: float, least: float) -> None:
        self.shift, self.least = shift, least
        L = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
        root = np.linalg.inv(L)
        self.inverse: Floats = root.T @ root

    def replaced(self, r: int, k: Floats) -> bool:
        """Make k the row and the column of atom r if K then keeps its margin; return whether it does."""
        k = k.copy()
        k[r] = 0.0
        M = self.inverse
        others = M - np.outer(M[r], M[r] / M[r, r])
        others[r] = others[:, r] = 0.0
        c = others @ k
        schur = float(1.0 + self.shift - k @ c)
        if schur < self.least:
            return False
        c[r] = -1.0
        self.inverse = others + np.outer(c, c / schur)
        return True


def has_margin(gram: Floats, shift: float, least: float) -> bool:
    """Return whether K + σI has a Cholesky factor, and no squared pivot (a Schur complement) below ``least``."""
    try:
        L = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return False
    return bool(L.diagonal().min() ** 2 >= least)
