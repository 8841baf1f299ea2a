"""Lloyd's algorithm for SPD matrices and any divergence, with exchanges by Hartigan's rule."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Floats, Indices
from spdatoms.clustering._assignment import ClusteredSample, Tally
from spdatoms.clustering._streamed import ClusteredStream
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import relative_change

#: Shorter steps along the geodesic, tried if the full one would make a cluster worse.
_STEP_LENGTHS = (0.5, 0.25, 0.0625)
#: Exchanges are kept if the inertia falls below this fraction of what it was. They are followed by several
#: iterations; asking for more saves some of them, but ends in poorer minima.
_WORTHWHILE = 1.0 - 1e-6


class Lloyd:
    """min Σ_i w_i d(X_i, C_{l_i}), over the centres C and the labels l in turn.

    An iteration takes one step of `Divergence.centre` for every cluster (the whole way if that has a
    closed form) and gives every matrix to its nearest centre. Long before the labels settle, the exact
    centre of a cluster is of no use; once they have settled, the same steps converge to it. Clusters whose
    members stay and whose centre has converged cost nothing any more.

    No step raises the inertia: a centre moves only if the cost of its own cluster falls, if need be by a
    shorter step along the geodesic.

    When nothing moves any more, matrices between two clusters are moved to the other one by Hartigan's
    rule. This leads out of many of the poor minima in which Lloyd's algorithm stops.
    """

    def __init__(
        self, data: ClusteredSample | ClusteredStream, centres: Floats, tol: float
    ) -> None:
        self.data, self.tol = data, tol
        self.tally = data.start(centres)
        self.moving = np.ones(len(centres), dtype=bool)
        self._relocate_empty()
        self.history: list[float] = []

    @property
    def inertia(self) -> float:
        """Σ_i w_i d(X_i, C_{l_i})."""
        return self.tally.inertia

    @property
    def converged(self) -> bool:
        """Whether neither a label nor a centre moves any more."""
        return not self.moving.any()

    def run(self, max_iter: int) -> Lloyd:
        """Iterate until nothing moves, ``max_iter`` times at most."""
        self.history.append(self.inertia)
        with progress_bar(max_iter, "k-means") as advance:
            while len(self.history) <= max_iter:
                if not self.converged:
                    self._iterate()
                elif not self._exchange():
                    break
                self.history.append(self.inertia)
                advance(inertia=f"{self.inertia:.6g}", moving=int(self.moving.sum()))
        # The data may be used for another start.
        self.centres = self.data.centres.copy()
        return self

    def _iterate(self) -> None:
        self._move_centres()
        self._count(self.data.assign())
        self._relocate_empty()

    def _count(self, tally: Tally) -> None:
        self.tally = tally
        self.moving |= tally.moved

    def _move_centres(self) -> None:
        divergence = self.data.divergence
        clusters = np.flatnonzero(self.moving & (self.tally.sizes > 0))
        old = self.data.centres[clusters]
        proposals = self.data.centre_steps(clusters)
        changes = relative_change(old, proposals)
        self.moving[:] = False
        if not divergence.closed_form:  # a closed form is exact: only new members can move it
            self.moving[clusters] = changes > self.tol
        if divergence.relaxation != 1.0:
            proposals = points_between(old, proposals, divergence.relaxation)
        before, after = self.data.try_centres(clusters, proposals)
        better = after <= before
        self.data.keep(better)
        too_far = ~better & self.moving[clusters]
        self._shorten(clusters[too_far], proposals[too_far], before[too_far])

    def _shorten(self, clusters: Indices, proposals: Floats, before: Floats) -> None:
        """Take shorter steps towards proposals that are too far, or none."""
        for t in _STEP_LENGTHS:
            if not len(clusters):
                return
            nearer = points_between(self.data.centres[clusters], proposals, t)
            _, after = self.data.try_centres(clusters, nearer)
            better = after < before
            self.data.keep(better)
            clusters, proposals, before = clusters[~better], proposals[~better], before[~better]
        self.moving[clusters] = False

    def _exchange(self) -> bool:
        """Move matrices by Hartigan's rule, and return whether that helped.

        The rule tells to first order what the move of a single matrix does to both centres. So it is
        only a proposal: if the inertia is not clearly lower after an iteration, all is undone.
        """
        before, state = self.tally, self.data.saved()
        self._count(self.data.assign(before.weights))
        if self.moving.any():
            self._iterate()
            if self.inertia < _WORTHWHILE * before.inertia:
                return True
        self.data.restore(state)
        self.tally = before
        self.moving[:] = False
        return False

    def _relocate_empty(self) -> None:
        """Move the centres of empty clusters to the worst represented matrices."""
        sizes = self.tally.sizes.copy()
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            return
        # At most one matrix of each cluster is skipped.
        worst = self.data.worst_represented(len(empty) + len(sizes))
        chosen: list[int] = []
        for i, (cost, label) in enumerate(zip(worst.values, worst.labels, strict=True)):
            if len(chosen) == len(empty) or not cost > 0:
                break
            if sizes[label] > 1:  # otherwise its cluster would become empty
                sizes[label] -= 1
                chosen.append(i)
        filled = empty[: len(chosen)]
        if not len(filled):
            return
        self.data.occupy(filled, worst.indices[chosen])
        self.moving[worst.labels[chosen]] = True
        self.moving[filled] = True
        self._count(self.data.assign())
