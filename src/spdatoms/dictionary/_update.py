"""The atoms' half-step: F(D) falls, or D stays, with the codes Y fixed.

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
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices, map_in_threads
from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._gram_margin import GramMargin, has_margin
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.geometry.geodesics import Geodesics, well_conditioned
from spdatoms.kernels.values import kernel_values

#: From sums and atoms to geodesics along which to move.
Move: TypeAlias = Callable[[Floats, Floats], Geodesics]

#: Step lengths along a geodesic, longest first.
STEPS: tuple[float, ...] = (1.0, 0.5, 0.125, 0.015625)
#: Step lengths downhill where no step towards the centre helps.
LAST_STEPS: tuple[float, ...] = (0.5, 0.015625)
#: A change of F smaller than this fraction of its terms is rounding.
_ROUNDING = 1e-14
#: A re-seeded atom must differ from the others: no kernel value with them is above this.
_LARGEST_LIKENESS = 0.99
#: Atoms of a block whose sums over the other atoms a thread computes at a time.
_ATOMS_AT_ONCE = 64


class Passes(Protocol):
    """What the update needs of the data; see `CodedData` for what these methods return."""

    def code_gram(self) -> Floats: ...

    def correlations(self) -> Floats: ...

    def weighted_sums(self, block: Indices, D: Floats) -> Floats: ...

    def correlations_of(self, block: Indices, candidates: list[Floats]) -> Floats: ...

    def worst_represented(self, count: int) -> Indices: ...

    def samples(self, chosen: Indices) -> Floats: ...


@dataclass(frozen=True)
class UpdateRule:
    """How atoms move.

    Attributes
    ----------
    sums : AtomSums
        The divergence's sums.
    beta : float
        The β of the kernel.
    gradient : bool
        Propose a step of Riemannian gradient descent instead of the centre.
    block_size : int or None
        Atoms that are updated from the same two passes; None is all of them.
    shift : float or None
        σ of `GramMargin`; None where the kernel is positive definite on every set of matrices.
    least_schur : float
        See `GramMargin`.
    least_eigenvalue : float
        The least eigenvalue that an atom may have in its unit-diagonal scaling.
    trials_at_once : int
        Candidates per atom that a pass evaluates before the atoms choose. The first candidate, which
        most atoms accept, always has a pass of its own. The result does not depend on it: one at a
        time saves work, all at once saves passes.
    most_candidates : int or None
        The most candidates for all atoms together in a pass, unless that is less than one per atom;
        None is no bound.
    n_jobs : int or None
        The number of threads for what concerns atoms only.
    """

    sums: AtomSums
    beta: float
    gradient: bool = False
    block_size: int | None = None
    shift: float | None = None
    least_schur: float = 0.0
    least_eigenvalue: float = 1e-10
    trials_at_once: int = 1
    most_candidates: int | None = None
    n_jobs: int | None = None

    @property
    def trials(self) -> Sequence[tuple[Move, float]]:
        """What is tried for an atom until F falls: moves and step lengths."""
        downhill = self.sums.downhill
        if self.gradient:
            return [(downhill, t) for t in STEPS]
        return [(self.sums.towards_centre, t) for t in STEPS] + [(downhill, t) for t in LAST_STEPS]

    def trials_of_a_pass(self, waiting: int) -> int:
        """Return how many trials go into one pass if this many atoms are waiting."""
        most = (
            self.trials_at_once if self.most_candidates is None else self.most_candidates // waiting
        )
        return max(1, min(self.trials_at_once, most))

    def margin(self, gram: Floats) -> GramMargin | None:
        """Return the margin to keep, if there is one."""
        return None if self.shift is None else GramMargin(gram, self.shift, self.least_schur)

    def has_margin(self, gram: Floats) -> bool:
        """Return whether K has the margin to keep."""
        return self.shift is None or has_margin(gram, self.shift, self.least_schur)

    def kernel(self, C: Floats, D: Floats | None = None) -> Floats:
        """Return k(C_p, D_j), or k(C_p, C_q) without D."""
        divergence = self.sums.divergence
        prepared = None if D is None else divergence.prepare(D)
        divergences = divergence.pairwise(divergence.prepare(C), prepared, n_jobs=self.n_jobs)
        return kernel_values(divergences, self.beta)

    def sums_over_atoms(self, D: Floats, weights: Floats, block: Indices) -> Floats:
        """Return the sums over all atoms D, with weights (N, B), for those of a block."""
        atoms = self.sums.divergence.prepare(D)

        def of_columns(number: int) -> Floats:
            some = parts[number]
            column_weights = scipy.sparse.csc_array(weights[:, some])
            return self.sums.sums(atoms, column_weights, D[block[some]])

        parts = list(block_slices(len(block), _ATOMS_AT_ONCE))
        return np.concatenate(map_in_threads(of_columns, len(parts), self.n_jobs))


class AtomUpdate:
    """One half-step: a dictionary that changes atom by atom, and the change of F.

    Parameters
    ----------
    rule : UpdateRule
        How atoms move.
    data : Passes
        The samples with their codes.
    atoms, gram : ndarray
        The dictionary D (N, n, n) and K (N, N); they are not modified.

    Attributes
    ----------
    atoms, gram : ndarray
        The dictionary as it is now.
    change : float
        The change of F so far; it is never positive.
    """

    def __init__(self, rule: UpdateRule, data: Passes, atoms: Floats, gram: Floats) -> None:
        self.rule, self.data = rule, data
        self.atoms, self.gram = atoms.copy(), gram.copy()
        self.change = 0.0
        self.code_gram = data.code_gram()
        self.correlations = data.correlations()

    def run(self) -> None:
        """Re-seed the unused atoms, then update the others block by block."""
        used = np.flatnonzero(self.code_gram.diagonal())
        self._reseed(np.flatnonzero(self.code_gram.diagonal() == 0))
        for part in block_slices(len(used), self.rule.block_size or max(1, len(used))):
            self._update_block(used[part])

    def _reseed(self, unused: Indices) -> None:
        """Replace atoms that no code uses by the worst represented samples: F stays what it is."""
        if len(unused) == 0:
            return
        before = self._state()
        self._take_samples(unused)
        if not self.rule.has_margin(self.gram):
            self._go_back(before)

    def _take_samples(self, unused: Indices) -> None:
        chosen = self.data.worst_represented(2 * len(unused))
        samples = self.data.samples(chosen)
        cross, within = self.rule.kernel(samples, self.atoms), self.rule.kernel(samples)
        waiting, margin = list(unused), self.rule.margin(self.gram)
        for i in range(len(samples)):
            if not waiting:
                return
            k, r = cross[i], waiting[0]
            k[r] = 0.0
            unlike = k.max() <= _LARGEST_LIKENESS
            k[r] = 1.0
            if unlike and (margin is None or margin.replaced(r, k)):
                self._replace(waiting.pop(0), samples[i], k)
                cross[:, r] = within[:, i]

    def _update_block(self, block: Indices) -> None:
        sums = self._sums(block)
        waiting, trials, count = np.arange(len(block)), list(self.rule.trials), 1
        while trials and len(waiting) > 0:
            now, trials = trials[:count], trials[count:]
            candidates = [self._candidates(sums[waiting], block[waiting], *trial) for trial in now]
            correlations = self.data.correlations_of(block[waiting], candidates)
            left = np.ones(len(waiting), dtype=bool)
            for C, values in zip(candidates, correlations, strict=True):
                still = np.flatnonzero(left)
                left[still] = ~self._accept(block[waiting[still]], C[still], values[still])
            waiting = waiting[left]
            count = self.rule.trials_of_a_pass(max(1, len(waiting)))

    def _sums(self, block: Indices) -> Floats:
        """Return the sums over samples and other atoms for the atoms of a block."""
        weights = -self.code_gram[:, block] * self.gram[:, block]
        weights[block, np.arange(len(block))] = 0.0
        over_atoms = self.rule.sums_over_atoms(self.atoms, weights, block)
        return self.data.weighted_sums(block, self.atoms) + over_atoms

    def _candidates(self, sums: Floats, block: Indices, move: Move, t: float) -> Floats:
        """Return D_r(t), or the old atom where D_r(t) is too near to the edge of the cone."""
        atoms = self.atoms[block]
        C = move(sums, atoms).points(t)
        unfit = ~well_conditioned(C, self.rule.least_eigenvalue)
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
        cross, within = self.rule.kernel(C, self.atoms), self.rule.kernel(C)
        before = self._state()
        accepted = self._take_turns(block, C, correlations, cross.copy(), within, None)
        if self.rule.has_margin(self.gram):
            return accepted
        self._go_back(before)
        margin, before = self.rule.margin(self.gram), self._state()
        accepted = self._take_turns(block, C, correlations, cross, within, margin)
        if not self.rule.has_margin(self.gram):
            self._go_back(before)
            accepted[:] = False
        return accepted

    def _state(self) -> tuple[Floats, Floats, Floats, float]:
        return self.atoms.copy(), self.gram.copy(), self.correlations.copy(), self.change

    def _go_back(self, state: tuple[Floats, Floats, Floats, float]) -> None:
        self.atoms, self.gram, self.correlations, self.change = state

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
            cost = self.code_gram[r] @ (k - self.gram[r])
            change = 2.0 * (cost - gain)
            if change < -_ROUNDING * self._size_of_terms(r) and (
                margin is None or margin.replaced(r, k)
            ):
                self._replace(r, C[p], k)
                cross[:, r] = within[:, p]
                self.correlations[r] = correlations[p]
                self.change += change
                accepted[p] = True
        return accepted

    def _size_of_terms(self, r: int) -> float:
        return float(abs(self.correlations[r]) + np.abs(self.code_gram[r]) @ self.gram[r])

    def _replace(self, r: int, atom: Floats, k: Floats) -> None:
        self.atoms[r] = atom
        self.gram[r] = self.gram[:, r] = k
