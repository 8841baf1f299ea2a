"""Lloyd's algorithm on SPD matrices for any divergence, and the seeds it starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._blocks import run_blocks
from spdatoms.divergences import Burg, Divergence
from spdatoms.geometry import geodesic

#: Shorter steps tried along the geodesic where the full one would make a cluster worse.
_STEP_LENGTHS = (0.5, 0.25, 0.0625)
#: Flops in a block of clusters, far more than it takes to hand it to a thread.
_BLOCK_FLOPS = 5e6
#: A sum is less than another if it is less than so many times it: rounding does not count.
_NOTICEABLE = 1.0 - 1e-9
#: An exchange is kept if the sum falls below so many times what it was. Each is followed by several
#: iterations; to ask for more saves some of them and ends in poorer minima.
_WORTHWHILE = 1.0 - 1e-6


@dataclass(frozen=True)
class Sample:
    """Weighted matrices, prepared once for all divergences to all centres."""

    divergence: Divergence
    matrices: NDArray[np.float64]
    weights: NDArray[np.float64]
    n_jobs: int | None = None
    prepared: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", self.divergence.prepare(self.matrices))

    def __len__(self) -> int:
        return len(self.matrices)

    def divergences(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d(X_i, C_j) at [j, i]: a row a centre, so that one of them is replaced quickly."""
        return divergences_to(self.divergence, self.prepared, centres, self.n_jobs)


def divergences_to(
    divergence: Divergence, prepared: Any, centres: NDArray[np.float64], n_jobs: int | None
) -> NDArray[np.float64]:
    """Return d(X_i, C_j) at [j, i]; where the order counts, the centre is where `centre` seeks it."""
    C = divergence.prepare(centres)
    left = isinstance(divergence, Burg) and divergence.side == "left"
    if divergence.symmetric or left:
        return divergence.pairwise(C, prepared, n_jobs=n_jobs)
    return np.ascontiguousarray(divergence.pairwise(prepared, C, n_jobs=n_jobs).T)


def random_seeds(sample: Sample, count: int, rng: Any) -> NDArray[np.intp]:
    """Draw matrices without repetition, each with a probability proportional to its weight."""
    p = sample.weights / sample.weights.sum()
    return np.asarray(rng.choice(len(sample), count, replace=False, p=p), dtype=np.intp)


def plus_plus_seeds(sample: Sample, count: int, rng: Any) -> NDArray[np.intp]:
    """Draw matrices one by one, i with a probability proportional to w_i min_j d(X_i, X_j), j drawn.

    Of a few candidates the one that leaves the least sum is taken (greedy k-means++).
    """
    X, weights = sample.matrices, sample.weights
    trials = 2 + int(np.log(count))
    seeds = [int(random_seeds(sample, 1, rng)[0])]
    nearest = sample.divergences(X[seeds])[0]
    while len(seeds) < count:
        potential = weights * nearest
        total = potential.sum()
        if not total > 0:  # every matrix equals a seed: which of them come next does not matter
            unused = np.setdiff1d(np.arange(len(X)), seeds)
            seeds.extend(rng.choice(unused, count - len(seeds), replace=False))
            break
        candidates = rng.choice(len(X), trials, p=potential / total)
        remaining = np.minimum(nearest, sample.divergences(X[candidates]))
        best = int(np.argmin(remaining @ weights))
        nearest = remaining[best]
        seeds.append(int(candidates[best]))
    return np.array(seeds, dtype=np.intp)


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

    def __init__(self, sample: Sample, centres: NDArray[np.float64], tol: float) -> None:
        self.sample = sample
        self.tol = tol
        self.centres = np.array(centres)
        self.divergences = sample.divergences(self.centres)
        self.labels = self.divergences.argmin(axis=0)
        self.moving = np.ones(len(centres), dtype=bool)
        self._relocate_empty()
        self.history: list[float] = []

    @property
    def own(self) -> NDArray[np.float64]:
        """The divergences of the matrices to the centres of their clusters."""
        own: NDArray[np.float64] = self.divergences[self.labels, np.arange(len(self.sample))]
        return own

    @property
    def inertia(self) -> float:
        """The sum Σ_i w_i d(X_i, C_{l_i})."""
        return float(self.sample.weights @ self.own)

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
        return self

    def _iterate(self) -> None:
        self._move_centres()
        self._assign()
        self._relocate_empty()

    def _move_centres(self) -> None:
        divergence = self.sample.divergence
        sizes = np.bincount(self.labels, minlength=len(self.centres))
        clusters = np.flatnonzero(self.moving & (sizes > 0))
        old = self.centres[clusters]
        proposals = self._centre_steps(clusters)
        changes = relative_changes(old, proposals)
        self.moving[:] = False
        if not divergence.closed_form:  # a closed form is exact: only new members can move it
            self.moving[clusters] = changes > self.tol
        if divergence.relaxation != 1.0:
            proposals = np.asarray(geodesic(old, proposals, divergence.relaxation))
        self._accept(clusters, proposals)

    def _centre_steps(self, clusters: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return `Divergence.centre` of the members of each of the clusters."""
        sample = self.sample
        steps = np.empty((len(clusters), *self.centres.shape[1:]))

        def step(part: slice) -> None:
            for a in range(part.start, part.stop):
                weights = np.where(self.labels == clusters[a], sample.weights, 0.0)
                current = self.centres[clusters[a]]
                steps[a] = sample.divergence.centre(sample.prepared, weights, current)

        flops = 20 * len(sample) / len(self.centres) * self.centres.shape[-1] ** 3
        run_blocks(step, len(clusters), int(_BLOCK_FLOPS / flops), sample.n_jobs)
        return steps

    def _accept(self, clusters: NDArray[np.intp], proposals: NDArray[np.float64]) -> None:
        """Move the centres for which Σ w_i d(X_i, C), over the members, does not become greater."""
        rows = self.sample.divergences(proposals)
        members = self.labels == clusters[:, None]
        weights = np.where(members, self.sample.weights, 0.0)
        before = np.einsum("ji,ji->j", weights, self.divergences[clusters])
        after = np.einsum("ji,ji->j", weights, rows)
        for a, cluster in enumerate(clusters):
            if after[a] <= before[a]:
                self.centres[cluster], self.divergences[cluster] = proposals[a], rows[a]
            elif self.moving[cluster]:
                self._shorten(cluster, proposals[a], weights[a], before[a])

    def _shorten(
        self,
        cluster: np.intp,
        proposal: NDArray[np.float64],
        weights: NDArray[np.float64],
        before: float,
    ) -> None:
        """Go a part of the way to a proposal that is too far, or stay."""
        for t in _STEP_LENGTHS:
            centre = np.asarray(geodesic(self.centres[cluster], proposal, t))
            row = self.sample.divergences(centre[None])[0]
            if weights @ row < before:
                self.centres[cluster], self.divergences[cluster] = centre, row
                return
        self.moving[cluster] = False

    def _assign(self) -> None:
        """Give every matrix to its nearest centre; at a tie it stays where it is."""
        nearest = self.divergences.argmin(axis=0)
        every = np.arange(len(self.sample))
        leaves = self.divergences[nearest, every] < self.own
        self.moving[self.labels[leaves]] = True
        self.moving[nearest[leaves]] = True
        self.labels[leaves] = nearest[leaves]

    def _exchange(self) -> bool:
        """Move i from a to b where W_b/(W_b + w_i)·d_ib < W_a/(W_a − w_i)·d_ia; say if that helped.

        W are the weights of the clusters. The factors tell what the move does to both centres, to
        first order in w_i/W and for one matrix at a time. So it is a proposal: unless the sum has
        become clearly less after a step of the centres, everything stays as it was.
        """
        goals, leaves = self._exchange_goals()
        if not leaves.any():
            return False
        before = self.inertia
        state = self.centres.copy(), self.divergences.copy(), self.labels.copy()
        self.moving[self.labels[leaves]] = True
        self.moving[goals[leaves]] = True
        self.labels[leaves] = goals[leaves]
        self._iterate()
        if self.inertia < _WORTHWHILE * before:
            return True
        self.centres, self.divergences, self.labels = state
        self.moving[:] = False
        return False

    def _exchange_goals(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the best cluster of every matrix by Hartigan's rule, and whether it is another one."""
        weights, every = self.sample.weights, np.arange(len(self.sample))
        totals = np.bincount(self.labels, weights, minlength=len(self.centres))[:, None]
        costs = self.divergences * (totals / (totals + weights))
        own_total = totals[self.labels, 0]
        others = own_total - weights
        company = others > 1e-9 * own_total
        # A matrix alone in its cluster stays: nothing is gained where it is its own centre.
        factors = np.divide(own_total, others, out=np.zeros(len(weights)), where=company)
        stay = factors * self.own
        costs[self.labels, every] = stay
        goals = costs.argmin(axis=0)
        return goals, costs[goals, every] < _NOTICEABLE * stay

    def _relocate_empty(self) -> None:
        """Move the centres of empty clusters to the worst represented matrices."""
        count = len(self.centres)
        sizes = np.bincount(self.labels, minlength=count)
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            return
        cost = self.sample.weights * self.own
        chosen: list[int] = []
        for i in np.argsort(-cost, kind="stable"):
            if len(chosen) == len(empty) or not cost[i] > 0:
                break
            if sizes[self.labels[i]] > 1:  # else its cluster would be the next empty one
                sizes[self.labels[i]] -= 1
                chosen.append(int(i))
        filled = empty[: len(chosen)]
        if not len(filled):
            return
        self.centres[filled] = self.sample.matrices[chosen]
        self.divergences[filled] = self.sample.divergences(self.centres[filled])
        self.moving[self.labels[chosen]] = True
        self.moving[filled] = True
        # Not by the divergence, which rounding may leave above zero: a matrix is its own centre.
        self.divergences[filled, chosen] = 0.0
        self._assign()


def relative_changes(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ‖L⁻¹ (new − old) L⁻ᵀ‖_F / √n with old = L Lᵀ, which congruence does not change."""
    L = np.linalg.cholesky(old)
    half = np.linalg.solve(L, new - old)
    whitened = np.linalg.solve(L, half.swapaxes(1, 2))
    return np.asarray(np.linalg.norm(whitened, axis=(1, 2)) / np.sqrt(old.shape[-1]))
