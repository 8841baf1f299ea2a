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

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats, Indices
from spdatoms.dictionary._loop import LARGEST_LIKENESS, ROUNDING, AtomUpdate
from spdatoms.geometry.geodesics import Geodesics, well_conditioned

#: Where along a geodesic its velocity is measured.
_PROBE = 1e-3
#: Shares of the step that are tried, longest first.
_SHARES = (1.0, 0.25, 0.03)
_TINY = float(np.finfo(np.float64).tiny)


class LandmarkUpdate(AtomUpdate):
    """One half-step of a `LandmarkProblem`; ``images`` are φ(D)."""

    def begin(self) -> None:
        """Compute E, and the kernel values of the atoms with the landmarks."""
        (products,) = self.sums
        self.space = self.problem.space
        self._kernel = self.space.kernel(self.atoms)
        self._pull = products - self.code_gram @ self.images

    def reseed(self, unused: Indices, samples: Floats) -> None:
        """Replace unused atoms by samples that are unlike all others."""
        waiting = list(unused)
        for sample, p in zip(samples, self.problem.images(samples), strict=True):
            if not waiting:
                break
            others = np.delete(self.images, waiting[0], axis=0)
            lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(p)
            if (others @ p <= LARGEST_LIKENESS * lengths).all():
                r = waiting.pop(0)
                self.atoms[r], self.images[r] = sample, p
        self.begin()

    def geodesics(self, D: Floats, slopes: Floats) -> list[Geodesics]:
        """Return geodesics from atoms D along which F falls, given its derivatives by divergences."""
        divergence, weights = self.space.divergence, scipy.sparse.csc_array(slopes.T)
        sums = divergence.atom_sums(self.space.prepared, weights, D)
        downhill = divergence.downhill(sums, D)
        return [downhill] if self.moves.gradient else [downhill, divergence.towards_centre(sums, D)]

    def move(self, block: Indices) -> None:
        """Move atoms along the geodesic on which F is expected to fall most."""
        space = self.space
        slopes = 2.0 * space.beta * self._kernel[block] * (self._pull[block] @ space.roots.T)
        curves = self.geodesics(self.atoms[block], slopes)
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
            fit = waiting[well_conditioned(points[waiting], self.moves.least_eigenvalue)]
            taken = self._accept(block[fit], points[fit])
            waiting = np.setdiff1d(waiting, fit[taken])

    def _steps(self, curves: Geodesics, block: Indices) -> tuple[Floats, Floats]:
        """Return the t that minimises F_r for φ(D_r) + t·φ', with φ' the velocity, and its fall."""
        ahead = self.space.features(curves.points(_PROBE))
        velocity = (ahead - self.images[block]) / _PROBE
        descent = np.maximum(np.einsum("ij,ij->i", self._pull[block], velocity), 0.0)
        curvature = np.einsum("ij,ij->i", velocity, velocity) * self.code_gram[block, block]
        t = descent / np.maximum(curvature, _TINY)
        return t, t * descent

    def _accept(self, block: Indices, atoms: Floats) -> NDArray[np.bool_]:
        """Let each atom in turn become the one given for it if F falls; return which did."""
        if len(block) == 0:
            return np.zeros(0, dtype=bool)
        kernel = self.space.kernel(atoms)
        features = kernel @ self.space.roots
        moves = features - self.images[block]
        q = self.code_gram[block, block]
        risen = q * np.einsum("ij,ij->i", moves, moves)
        least = ROUNDING * q * np.einsum("ij,ij->i", features, features)
        taken = np.zeros(len(block), dtype=bool)
        for i, r in enumerate(block):
            change = risen[i] - 2.0 * moves[i] @ self._pull[r]
            if change < -least[i]:
                self._pull -= np.outer(self.code_gram[:, r], moves[i])
                self.change += float(change)
                taken[i] = True
        moved = block[taken]
        self.atoms[moved], self.images[moved] = atoms[taken], features[taken]
        self._kernel[moved] = kernel[taken]
        return taken
