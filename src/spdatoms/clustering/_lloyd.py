"""Lloyd's algorithm on SPD matrices for any divergence, and the seeds it starts from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats, Indices
from spdatoms.clustering._labelled import Costliest, Tally
from spdatoms.divergences import Divergence
from spdatoms.geometry.functions import geodesic

#: Shorter steps tried along the geodesic where the full one would make a cluster worse.
_STEP_LENGTHS = (0.5, 0.25, 0.0625)
#: An exchange is kept if the sum falls below so many times what it was. Each is followed by several
#: iterations; to ask for more saves some of them and ends in poorer minima.
_WORTHWHILE = 1.0 - 1e-6


class Clustering(Protocol):
    """What Lloyd's algorithm asks of the data; `ClusteredSample` says what these methods do."""

    divergence: Divergence

    def start(self, centres: Floats) -> Tally: ...

    def centre_steps(self, clusters: Indices) -> Floats: ...

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]: ...

    def keep(self, chosen: NDArray[np.bool_]) -> None: ...

    def assign(self) -> Tally: ...

    def exchange(self, weights: Floats) -> Tally: ...

    def costliest(self, count: int) -> Costliest: ...

    def occupy(self, clusters: Indices, chosen: Indices) -> None: ...

    def saved(self) -> Any: ...

    def restore(self, state: Any) -> None: ...

    @property
    def centres(self) -> Floats: ...


class Lloyd:
    """min Σ_i w_i d(X_i, C_{l_i}), over the centres C and the labels l in turn.

    An iteration takes one step of `Divergence.centre` for every cluster (all the way where that is
    closed form) and gives every matrix to its nearest centre. Long before the labels settle the
    exact centre of a cluster is worth nothing, and once they have settled the same steps converge to
    it. Clusters whose members stay and whose centre stands still cost nothing any more.

    No step makes the sum greater: a centre moves only if its own cluster gains, if need be by a
    shorter way along the geodesic.

    Where nothing moves any more, matrices between two clusters are tried on the other side by
    Hartigan's rule, which leads out of many of the poor minima in which Lloyd's algorithm stops.
    """

    def __init__(self, data: Clustering, centres: Floats, tol: float) -> None:
        self.data, self.tol = data, tol
        self.tally = data.start(centres)
        self.moving = np.ones(len(centres), dtype=bool)
        self._relocate_empty()
        self.history: list[float] = []

    @property
    def inertia(self) -> float:
        """The sum Σ_i w_i d(X_i, C_{l_i})."""
        return self.tally.inertia

    @property
    def converged(self) -> bool:
        """Whether neither a label nor a centre moves any more."""
        return not self.moving.any()

    def run(self, max_iter: int, report: Callable[[Lloyd], None]) -> Lloyd:
        """Iterate until nothing moves, ``max_iter`` times at most."""
        self.history.append(self.inertia)
        while len(self.history) <= max_iter:
            if not self.converged:
                self._iterate()
            elif not self._exchange():
                break
            self.history.append(self.inertia)
            report(self)
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
        changes = relative_changes(old, proposals)
        self.moving[:] = False
        if not divergence.closed_form:  # a closed form is exact: only new members can move it
            self.moving[clusters] = changes > self.tol
        if divergence.relaxation != 1.0:
            proposals = np.asarray(geodesic(old, proposals, divergence.relaxation))
        before, after = self.data.try_centres(clusters, proposals)
        better = after <= before
        self.data.keep(better)
        too_far = ~better & self.moving[clusters]
        self._shorten(clusters[too_far], proposals[too_far], before[too_far])

    def _shorten(
        self,
        clusters: Indices,
        proposals: Floats,
        before: Floats,
    ) -> None:
        """Go a part of the way to proposals that are too far, or stay."""
        for t in _STEP_LENGTHS:
            if not len(clusters):
                return
            nearer = np.asarray(geodesic(self.data.centres[clusters], proposals, t))
            _, after = self.data.try_centres(clusters, nearer)
            better = after < before
            self.data.keep(better)
            clusters, proposals, before = clusters[~better], proposals[~better], before[~better]
        self.moving[clusters] = False

    def _exchange(self) -> bool:
        """Move matrices by `exchange_goals`, and say if that helped.

        The factors there tell what the move of one matrix does to both centres, to first order. So
        it is a proposal: unless the sum has become clearly less after a step of the centres,
        everything stays as it was.
        """
        before, state = self.tally, self.data.saved()
        self._count(self.data.exchange(before.weights))
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
        # Of every cluster one matrix at most is passed over.
        worst = self.data.costliest(len(empty) + len(sizes))
        chosen: list[int] = []
        for i, (cost, label) in enumerate(zip(worst.costs, worst.labels, strict=True)):
            if len(chosen) == len(empty) or not cost > 0:
                break
            if sizes[label] > 1:  # else its cluster would be the next empty one
                sizes[label] -= 1
                chosen.append(i)
        filled = empty[: len(chosen)]
        if not len(filled):
            return
        self.data.occupy(filled, worst.samples[chosen])
        self.moving[worst.labels[chosen]] = True
        self.moving[filled] = True
        self._count(self.data.assign())


def relative_changes(old: Floats, new: Floats) -> Floats:
    """Return ‖L⁻¹ (new − old) L⁻ᵀ‖_F / √n with old = L Lᵀ, which congruence does not change."""
    L = np.linalg.cholesky(old)
    half = np.linalg.solve(L, new - old)
    whitened = np.linalg.solve(L, half.swapaxes(1, 2))
    return np.asarray(np.linalg.norm(whitened, axis=(1, 2)) / np.sqrt(old.shape[-1]))
