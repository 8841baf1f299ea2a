"""The atoms' half-step: F(D) falls, or D stays, with the codes Y fixed.

The terms of F that contain the atom D_r are

    F_r(D_r) = −2 Σ_i Y_ir k(X_i, D_r) + 2 Σ_{j≠r} A_rj k(D_j, D_r),      A = YᵀY,

and F_r is stationary where Σ c·∇d(Z, D_r) = 0 with the weights c_i = Y_ir k(X_i, D_r) for samples and
c_j = −A_rj k(D_j, D_r) for the other atoms. With the weights frozen, the centre of the divergence is a
proposal for D_r, or a gradient step is.

A block of atoms takes two passes over the data. The first gives the sums of all its atoms at the
current dictionary, from which follow proposals and the geodesics to them. The second evaluates
Σ_i Y_ir k(X_i, D_r(t)) for the step lengths t. What remains of F_r is a matter among atoms, so each
atom of the block in turn is then given the longest step for which F falls, exactly, with whatever the
atoms before it have become. If none does, steps downhill are tried: weights of both signs may have no
centre, and the projection onto the cone need not lie downhill. If none of them does, the atom stays.
A block of one atom is the scheme of the paper; a block of all needs two passes an iteration, and F
falls as surely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._gram_margin import GramMargin, has_margin
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.geometry.geodesics import Geodesics, well_conditioned
from spdatoms.kernels.kernel import kernel_values

#: From sums and atoms to geodesics along which to move.
Move: TypeAlias = Callable[[Floats, Floats], Geodesics]

#: Step lengths along a geodesic, longest first.
STEPS: tuple[float, ...] = (1.0, 0.5, 0.125, 0.015625)
#: Step lengths downhill where no step towards the centre helps.
LAST_STEPS: tuple[float, ...] = (0.5, 0.015625)
#: A change of F below this fraction of the terms it is the difference of is rounding.
_ROUNDING = 1e-14
#: A re-seeded atom must differ from the others: no kernel value with them is above this.
_LARGEST_LIKENESS = 0.99


class Passes(Protocol):
    """What the update asks of the data; `CodedData` says what these methods return."""

    def products_of_codes(self) -> Floats: ...

    def fits(self) -> Floats: ...

    def weighted_sums(self, block: Indices, D: Floats) -> Floats: ...

    def fits_of(self, block: Indices, candidates: list[Floats]) -> Floats: ...

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
        Candidates for an atom that a pass evaluates before the atoms choose, after the first one,
        which most atoms accept. It has no influence on the result: one at a time saves work, all at
        once saves passes.
    most_candidates : int or None
        With several at once, a pass has no more candidates for all atoms together than this, or one
        for each; None is no bound.
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

    @property
    def trials(self) -> Sequence[tuple[Move, float]]:
        """What is tried for an atom until F falls: moves and step lengths."""
        downhill = self.sums.downhill
        if self.gradient:
            return [(downhill, t) for t in STEPS]
        return [(self.sums.towards_centre, t) for t in STEPS] + [(downhill, t) for t in LAST_STEPS]

    def trials_of_a_pass(self, waiting: int) -> int:
        """Return how many trials of so many waiting atoms go into one pass."""
        most = (
            self.trials_at_once if self.most_candidates is None else self.most_candidates // waiting
        )
        return max(1, min(self.trials_at_once, most))

    def margin(self, gram: Floats) -> GramMargin | None:
        """Return the margin to keep, if there is one."""
        return None if self.shift is None else GramMargin(gram, self.shift, self.least_schur)

    def has_margin(self, gram: Floats) -> bool:
        """Say whether K has the margin to keep."""
        return self.shift is None or has_margin(gram, self.shift, self.least_schur)

    def kernel(self, C: Floats, D: Floats | None = None) -> Floats:
        """Return k(C_p, D_j), or k(C_p, C_q) without D."""
        divergence = self.sums.divergence
        prepared = None if D is None else divergence.prepare(D)
        return kernel_values(divergence.pairwise(divergence.prepare(C), prepared), self.beta)


class AtomUpdate:
    """One half-step: a dictionary that changes atom by atom, and by how much F has.

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
        self.products = data.products_of_codes()
        self.fits = data.fits()

    def run(self) -> None:
        """Re-seed the unused atoms, then update the others block by block."""
        used = np.flatnonzero(self.products.diagonal())
        self._reseed(np.flatnonzero(self.products.diagonal() == 0))
        for part in block_slices(len(used), self.rule.block_size or max(1, len(used))):
            self._update_block(used[part])

    def _reseed(self, unused: Indices) -> None:
        """Replace atoms that no code uses by the worst represented samples: F stays what it is."""
        if len(unused) == 0:
            return
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
            fits = self.data.fits_of(block[waiting], candidates)
            left = np.ones(len(waiting), dtype=bool)
            for C, fit in zip(candidates, fits, strict=True):
                still = np.flatnonzero(left)
                left[still] = ~self._accept(block[waiting[still]], C[still], fit[still])
            waiting = waiting[left]
            count = self.rule.trials_of_a_pass(max(1, len(waiting)))

    def _sums(self, block: Indices) -> Floats:
        """Return the sums over samples and other atoms for the atoms of a block."""
        sums = self.rule.sums
        weights = -self.products[:, block] * self.gram[:, block]
        weights[block, np.arange(len(block))] = 0.0
        over_atoms = sums.sums(
            sums.prepare(self.atoms), scipy.sparse.csc_array(weights), self.atoms[block]
        )
        return self.data.weighted_sums(block, self.atoms) + over_atoms

    def _candidates(self, sums: Floats, block: Indices, move: Move, t: float) -> Floats:
        """Return D_r(t), but the old atom in place of one that is at the edge of the cone."""
        atoms = self.atoms[block]
        C = move(sums, atoms).points(t)
        unfit = ~well_conditioned(C, self.rule.least_eigenvalue)
        C[unfit] = atoms[unfit]
        return C

    def _accept(self, block: Indices, C: Floats, fits: Floats) -> NDArray[np.bool_]:
        """Let each atom of the block in turn become its candidate if F falls; say which did.

        Only if the Gram matrix has lost its margin by that, they are asked again, with a look at the
        margin in every step.
        """
        if len(block) == 0:
            return np.zeros(0, dtype=bool)
        cross, within = self.rule.kernel(C, self.atoms), self.rule.kernel(C)
        before = self.atoms.copy(), self.gram.copy(), self.fits.copy(), self.change
        accepted = self._take_turns(block, C, fits, cross.copy(), within, None)
        if not self.rule.has_margin(self.gram):
            self.atoms, self.gram, self.fits, self.change = before
            margin = self.rule.margin(self.gram)
            accepted = self._take_turns(block, C, fits, cross, within, margin)
        return accepted

    def _take_turns(
        self,
        block: Indices,
        C: Floats,
        fits: Floats,
        cross: Floats,
        within: Floats,
        margin: GramMargin | None,
    ) -> NDArray[np.bool_]:
        accepted = np.zeros(len(block), dtype=bool)
        for p, r in enumerate(block):
            k = cross[p]
            k[r] = 1.0
            gain, cost = fits[p] - self.fits[r], self.products[r] @ (k - self.gram[r])
            change = 2.0 * (cost - gain)
            if change < -_ROUNDING * self._size_of_terms(r) and (
                margin is None or margin.replaced(r, k)
            ):
                self._replace(r, C[p], k)
                cross[:, r] = within[:, p]
                self.fits[r] = fits[p]
                self.change += change
                accepted[p] = True
        return accepted

    def _size_of_terms(self, r: int) -> float:
        return float(abs(self.fits[r]) + np.abs(self.products[r]) @ self.gram[r])

    def _replace(self, r: int, atom: Floats, k: Floats) -> None:
        self.atoms[r] = atom
        self.gram[r] = self.gram[:, r] = k
