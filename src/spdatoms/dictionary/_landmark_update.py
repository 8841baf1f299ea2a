"""The atoms' half-step in the span of landmarks: F(D) falls, or D stays, with the codes Y fixed.

With A = YᵀY, B = YᵀΦ and the features p_r = φ(D_r) of the atoms, the terms of F that contain D_r are

    F_r = q_r ‖φ(D_r)‖² − 2 t_rᵀφ(D_r),     q_r = A_rr,     t_r = B_r − Σ_{j≠r} A_rj p_j,

that is q_r ‖φ(D_r) − t_r/q_r‖² up to a constant. The derivative of F_r with respect to the divergence
d(D_r, Z_l) to a landmark is c_l = −2β κ_l(D_r) [R (q_r p_r − t_r)]_l, so F_r is stationary where
Σ_l c_l ∇d(D_r, Z_l) = 0: at the weighted centre of the landmarks. The sums of the divergence give the
geodesics that lead there, and those downhill. Along each of them the step is that of Gauss and Newton
for the curve φ(D_r(t)), shortened until F_r falls. No sample is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary.features import Statistics
from spdatoms.geometry.geodesics import Geodesics, well_conditioned
from spdatoms.kernels.landmarks import LandmarkSpace

#: How often the atoms move between two codings: that costs N·L divergences, whatever the data.
_ROUNDS = 3
#: Where along a geodesic its velocity is measured.
_PROBE = 1e-3
#: Shares of the step that are tried, longest first.
_SHARES = (1.0, 0.25, 0.03)
#: A change of F below this fraction of the terms it is the difference of is rounding.
_ROUNDING = 1e-14
#: A re-seeded atom must differ from the others: no cosine with them is above this.
_LARGEST_LIKENESS = 0.99


class Samples(Protocol):
    """What re-seeding wants of the data; `FeatureData` says what these methods return."""

    def worst_represented(self, count: int) -> Indices: ...

    def samples(self, chosen: Indices) -> Floats: ...


@dataclass(frozen=True)
class LandmarkRule:
    """How atoms move.

    Attributes
    ----------
    space : LandmarkSpace
        The map φ.
    gradient : bool
        Move downhill only, rather than downhill or towards the centre, whichever F falls more.
    block_size : int or None
        How many atoms are moved at once; None is all of them.
    least_eigenvalue : float
        The least eigenvalue that an atom may have in its unit-diagonal scaling.
    """

    space: LandmarkSpace
    gradient: bool = False
    block_size: int | None = None
    least_eigenvalue: float = 1e-10

    def geodesics(self, D: Floats, slopes: Floats) -> list[Geodesics]:
        """Return geodesics from atoms D along which F falls, given its derivatives by divergences."""
        sums = self.space.divergence.atom_sums()
        weights = scipy.sparse.csc_array(slopes.T)
        totals = sums.sums(self.space.prepared, weights, D)
        downhill = sums.downhill(totals, D)
        return [downhill] if self.gradient else [downhill, sums.towards_centre(totals, D)]


@dataclass
class LandmarkUpdate:
    """One half-step: atoms that move, and by how much F has changed.

    Attributes
    ----------
    rule : LandmarkRule
        How atoms move.
    statistics : Statistics
        A and B.
    atoms, features : ndarray
        The dictionary D (N, n, n) as it is now, and φ(D) (N, r).
    change : float
        The change of F so far; it is never positive.
    """

    rule: LandmarkRule
    statistics: Statistics
    atoms: Floats
    features: Floats
    change: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.atoms, self.features = self.atoms.copy(), self.features.copy()

    def run(self, data: Samples) -> None:
        """Re-seed the unused atoms, then move the others block by block, some times."""
        weights = self.statistics.code_gram.diagonal()
        self._reseed(np.flatnonzero(weights == 0), data)
        used = np.flatnonzero(weights > 0)
        for _ in range(_ROUNDS):
            for part in block_slices(len(used), self.rule.block_size or max(1, len(used))):
                self._move(used[part])

    def _goals(self, block: Indices) -> tuple[Floats, Floats]:
        """Return t_r/q_r, where φ(D_r) should be, and q_r."""
        A, B, P = self.statistics.code_gram, self.statistics.products, self.features
        q = A[block, block]
        return P[block] + (B[block] - A[block] @ P) / q[:, None], q

    def _move(self, block: Indices) -> None:
        space, D, P = self.rule.space, self.atoms[block], self.features[block]
        goals, q = self._goals(block)
        pull = (q[:, None] * (P - goals)) @ space.roots.T
        slopes = -2.0 * space.beta * space.kernel(D) * pull
        waiting = np.arange(len(block))
        candidates = [
            (geodesics, self._step_lengths(geodesics, goals - P, P))
            for geodesics in self.rule.geodesics(D, slopes)
        ]
        for share in _SHARES:
            if len(waiting) == 0:
                return
            trials = [self._at(geodesics, share * t, D)[waiting] for geodesics, t in candidates]
            taken = self._accept(block[waiting], trials)
            waiting = waiting[~taken]

    def _step_lengths(self, geodesics: Geodesics, residuals: Floats, P: Floats) -> Floats:
        """Return the t that minimises ‖φ(D) + t·φ' − goal‖² along every geodesic, with φ' its velocity."""
        velocity = (self.rule.space.features(geodesics.points(_PROBE)) - P) / _PROBE
        squares = np.einsum("ij,ij->i", velocity, velocity)
        t = np.einsum("ij,ij->i", residuals, velocity) / np.maximum(squares, 1e-300)
        return np.asarray(np.maximum(t, 0.0))

    def _at(self, geodesics: Geodesics, t: Floats, D: Floats) -> Floats:
        """Return D(t), but D itself in place of what is at the edge of the cone."""
        C = geodesics.points(t)
        unfit = ~well_conditioned(C, self.rule.least_eigenvalue)
        C[unfit] = D[unfit]
        return C

    def _accept(self, block: Indices, trials: list[Floats]) -> NDArray[np.bool_]:
        """Let each atom in turn become the best of its candidates if F falls; return which did."""
        features = [self.rule.space.features(C) for C in trials]
        taken = np.zeros(len(block), dtype=bool)
        for i, r in enumerate(block):
            (goal,), (q,) = self._goals(np.array([r]))
            before = self._distance(self.features[r], goal)
            distances = [self._distance(P[i], goal) for P in features]
            best = int(np.argmin(distances))
            change = q * (distances[best] - before)
            if change < -_ROUNDING * q * (before + goal @ goal):
                self.atoms[r], self.features[r] = trials[best][i], features[best][i]
                self.change += float(change)
                taken[i] = True
        return taken

    @staticmethod
    def _distance(p: Floats, goal: Floats) -> float:
        return float((p - goal) @ (p - goal))

    def _reseed(self, unused: Indices, data: Samples) -> None:
        """Replace atoms that no code uses by the worst represented samples: F stays what it is."""
        if len(unused) == 0:
            return
        samples = data.samples(data.worst_represented(2 * len(unused)))
        features = self.rule.space.features(samples)
        waiting = list(unused)
        for sample, p in zip(samples, features, strict=True):
            if not waiting:
                return
            others = np.delete(self.features, waiting[0], axis=0)
            lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(p)
            if (others @ p <= _LARGEST_LIKENESS * lengths).all():
                r = waiting.pop(0)
                self.atoms[r], self.features[r] = sample, p
