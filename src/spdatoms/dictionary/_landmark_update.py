"""The atoms' half-step in the span of landmarks: F(D) falls, or D stays, with the codes Y fixed.

With A = YᵀY, B = YᵀΦ, the features p_r = φ(D_r) of the atoms and E = B − AP, a move of φ(D_r) by δ
changes F by

    q_r ‖δ‖² − 2 E_rᵀδ,     q_r = A_rr,

so E pulls at the atoms. The derivative of F with respect to the divergence d(D_r, Z_l) to a landmark is
c_l = 2β κ_l(D_r) [R E_r]_l, so F is stationary in D_r where Σ_l c_l ∇d(D_r, Z_l) = 0: at the weighted
centre of the landmarks. The sums of the divergence give the geodesics that lead there, and those
downhill. Along each of them the step is that of Gauss and Newton for the curve φ(D_r(t)); the better
one is taken, shortened until F falls. No sample is looked at.
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

#: Where along a geodesic its velocity is measured.
_PROBE = 1e-3
#: Shares of the step that are tried, longest first.
_SHARES = (1.0, 0.25, 0.03)
#: A change of F below this fraction of the terms it is the difference of is rounding.
_ROUNDING = 1e-14
_TINY = float(np.finfo(np.float64).tiny)
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
        """Re-seed the unused atoms, then move the others block by block."""
        A, B = self.statistics.code_gram, self.statistics.products
        self._reseed(np.flatnonzero(A.diagonal() == 0), data)
        used = np.flatnonzero(A.diagonal() > 0)
        self._kernel = self.rule.space.kernel(self.atoms)
        self._pull = B - A @ self.features
        for part in block_slices(len(used), self.rule.block_size or max(1, len(used))):
            self._move(used[part])

    def _move(self, block: Indices) -> None:
        """Move atoms along the geodesic on which F is expected to fall most."""
        space = self.rule.space
        slopes = 2.0 * space.beta * self._kernel[block] * (self._pull[block] @ space.roots.T)
        curves = self.rule.geodesics(self.atoms[block], slopes)
        lengths, falls = zip(*(self._steps(curve, block) for curve in curves), strict=True)
        best = np.argmax(falls, axis=0)
        waiting = np.flatnonzero(np.max(falls, axis=0) > 0)
        for share in _SHARES:
            if len(waiting) == 0:
                return
            points = np.choose(
                best[:, None, None],
                [curve.points(share * t) for curve, t in zip(curves, lengths, strict=True)],
            )
            fit = waiting[well_conditioned(points[waiting], self.rule.least_eigenvalue)]
            taken = self._accept(block[fit], points[fit])
            waiting = np.setdiff1d(waiting, fit[taken])

    def _steps(self, curves: Geodesics, block: Indices) -> tuple[Floats, Floats]:
        """Return the t that minimises F_r for φ(D_r) + t·φ', with φ' the velocity, and its fall."""
        ahead = self.rule.space.features(curves.points(_PROBE))
        velocity = (ahead - self.features[block]) / _PROBE
        descent = np.maximum(np.einsum("ij,ij->i", self._pull[block], velocity), 0.0)
        curvature = np.einsum("ij,ij->i", velocity, velocity) * self._weights(block)
        t = descent / np.maximum(curvature, _TINY)
        return t, t * descent

    def _weights(self, block: Indices) -> Floats:
        """Return q_r."""
        return np.asarray(self.statistics.code_gram[block, block])

    def _accept(self, block: Indices, atoms: Floats) -> NDArray[np.bool_]:
        """Let each atom in turn become the one given for it if F falls; return which did."""
        if len(block) == 0:
            return np.zeros(0, dtype=bool)
        kernel = self.rule.space.kernel(atoms)
        features = kernel @ self.rule.space.roots
        moves = features - self.features[block]
        q = self._weights(block)
        risen = q * np.einsum("ij,ij->i", moves, moves)
        least = _ROUNDING * q * np.einsum("ij,ij->i", features, features)
        taken = np.zeros(len(block), dtype=bool)
        for i, r in enumerate(block):
            change = risen[i] - 2.0 * moves[i] @ self._pull[r]
            if change < -least[i]:
                self._pull -= np.outer(self.statistics.code_gram[:, r], moves[i])
                self.change += float(change)
                taken[i] = True
        moved = block[taken]
        self.atoms[moved], self.features[moved] = atoms[taken], features[taken]
        self._kernel[moved] = kernel[taken]
        return taken

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
