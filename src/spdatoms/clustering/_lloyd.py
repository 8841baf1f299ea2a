"""Lloyd's algorithm for SPD matrices and any divergence, with exchanges by Hartigan's rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats, Indices
from spdatoms.divergences import Divergence
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import relative_change
from spdatoms.scale.largest import Largest

#: Shorter steps along the geodesic, tried if the full one would make a cluster worse.
_STEP_LENGTHS = (0.5, 0.25, 0.0625)
#: A matrix is exchanged if its cost falls below this fraction of what it was: not by rounding alone.
_NOTICEABLE = 1.0 - 1e-9
#: Exchanges are kept if the inertia falls below this fraction of what it was. They are followed by several
#: iterations; asking for more saves some of them, but ends in poorer minima.
_WORTHWHILE = 1.0 - 1e-6


@dataclass(frozen=True)
class Tally:
    """Sizes, weights and costs of clusters; tallies of parts of the data add up.

    Attributes
    ----------
    sizes, weights : ndarray of shape (k,)
        The number of their matrices, and the sum of their weights.
    moved : ndarray of shape (k,)
        Whether a matrix has entered or left.
    inertia : float
        Σ_i w_i d(X_i, C_{l_i}).
    """

    sizes: Indices
    weights: Floats
    moved: NDArray[np.bool_]
    inertia: float

    @classmethod
    def of(cls, labels: Indices, own: Floats, weights: Floats, moved: NDArray[np.bool_]) -> Tally:
        """Return the tally of matrices with these labels and divergences to their own centres."""
        count = len(moved)
        return cls(
            np.bincount(labels, minlength=count),
            np.asarray(np.bincount(labels, weights, minlength=count), np.float64),
            moved,
            float(weights @ own),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.sizes + other.sizes,
            self.weights + other.weights,
            self.moved | other.moved,
            self.inertia + other.inertia,
        )


class Clustering(Protocol):
    """What Lloyd's algorithm needs of the data; see `ClusteredSample` for what these methods do."""

    divergence: Divergence

    def start(self, centres: Floats) -> Tally: ...

    def centre_steps(self, clusters: Indices) -> Floats: ...

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]: ...

    def keep(self, chosen: NDArray[np.bool_]) -> None: ...

    def assign(self) -> Tally: ...

    def exchange(self, weights: Floats) -> Tally: ...

    def worst_represented(self, count: int) -> Largest: ...

    def occupy(self, clusters: Indices, chosen: Indices) -> None: ...

    def saved(self) -> Any: ...

    def restore(self, state: Any) -> None: ...

    @property
    def centres(self) -> Floats: ...


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

    def __init__(self, data: Clustering, centres: Floats, tol: float) -> None:
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

    def _shorten(
        self,
        clusters: Indices,
        proposals: Floats,
        before: Floats,
    ) -> None:
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
        """Move matrices by `exchange_goals`, and return whether that helped.

        The rule tells to first order what the move of a single matrix does to both centres. So it is
        only a proposal: if the inertia is not clearly lower after an iteration, all is undone.
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


def relabelled(
    divergences: Floats, labels: Indices, weights: Floats, totals: Floats | None
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return new labels, and which clusters a matrix has entered or left.

    Matrices go to their nearest centre, at a tie they stay; with the weights of the clusters, ``totals``, by
    Hartigan's rule. ``divergences`` has d(X_i, C_j) at [j, i].
    """
    every = np.arange(len(labels))
    if totals is None:
        goals = divergences.argmin(axis=0)
        leaves = divergences[goals, every] < divergences[labels, every]
    else:
        goals, leaves = exchange_goals(divergences, labels, weights, totals)
    moved = np.zeros(len(divergences), dtype=bool)
    moved[labels[leaves]] = moved[goals[leaves]] = True
    return np.where(leaves, goals, labels), moved


def exchange_goals(
    divergences: Floats,
    labels: Indices,
    weights: Floats,
    totals: Floats,
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the best cluster of every matrix by Hartigan's rule, and whether it is another one.

    Matrix i moves from a to b if W_b/(W_b + w_i)·d_ib < W_a/(W_a − w_i)·d_ia, with the weights W of the
    clusters, here ``totals``.
    """
    every = np.arange(len(labels))
    costs = divergences * (totals[:, None] / (totals[:, None] + weights))
    own_total = totals[labels]
    others = own_total - weights
    company = others > 1e-9 * own_total
    # A matrix alone in its cluster is its own centre, and stays.
    factors = np.divide(own_total, others, out=np.zeros(len(weights)), where=company)
    stay = factors * divergences[labels, every]
    costs[labels, every] = stay
    goals = costs.argmin(axis=0)
    return goals, costs[goals, every] < _NOTICEABLE * stay
