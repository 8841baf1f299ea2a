"""Lloyd's algorithm on SPD matrices for any divergence, and the seeds it starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

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


@dataclass(frozen=True)
class Tally:
    """What is known of clusters: they are added up over parts of the data.

    Attributes
    ----------
    sizes, weights : ndarray of shape (k,)
        How many matrices they have, and the sum of their weights.
    moved : ndarray of shape (k,)
        Whether a matrix has come or gone.
    inertia : float
        Σ_i w_i d(X_i, C_{l_i}).
    """

    sizes: NDArray[np.intp]
    weights: NDArray[np.float64]
    moved: NDArray[np.bool_]
    inertia: float

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.sizes + other.sizes,
            self.weights + other.weights,
            self.moved | other.moved,
            self.inertia + other.inertia,
        )


class Clustering(Protocol):
    """What Lloyd's algorithm asks of the data; `ClusteredSample` says what these methods do."""

    divergence: Divergence

    def start(self, centres: NDArray[np.float64]) -> Tally: ...

    def centre_steps(self, clusters: NDArray[np.intp]) -> NDArray[np.float64]: ...

    def try_centres(
        self, clusters: NDArray[np.intp], centres: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def keep(self, chosen: NDArray[np.bool_]) -> None: ...

    def assign(self) -> Tally: ...

    def exchange(self, weights: NDArray[np.float64]) -> Tally: ...

    def costliest(self, count: int) -> Costliest: ...

    def occupy(self, clusters: NDArray[np.intp], chosen: NDArray[np.intp]) -> None: ...

    def saved(self) -> Any: ...

    def restore(self, state: Any) -> None: ...

    @property
    def centres(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Costliest:
    """The matrices with the greatest w_i d(X_i, C_{l_i}), of those looked at; the earlier at a tie."""

    samples: NDArray[np.intp]
    costs: NDArray[np.float64]
    labels: NDArray[np.intp]
    count: int

    def cut(self) -> Costliest:
        """Return no more than are asked for, the costliest first."""
        order = np.argsort(-self.costs, kind="stable")[: self.count]
        return Costliest(self.samples[order], self.costs[order], self.labels[order], self.count)

    def __add__(self, later: Costliest) -> Costliest:
        samples, costs, labels = (
            np.concatenate([getattr(self, name), getattr(later, name)])
            for name in ("samples", "costs", "labels")
        )
        return Costliest(samples, costs, labels, self.count).cut()


class ClusteredSample:
    """Matrices in memory with their labels and d(X_i, C_j) at [j, i] for all centres.

    Only the rows of centres that move are computed again.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample, self.divergence = sample, sample.divergence
        self._every = np.arange(len(sample))

    def start(self, centres: NDArray[np.float64]) -> Tally:
        """Give every matrix to the nearest of these centres."""
        self.centres = np.array(centres)
        self.divergences = self.sample.divergences(self.centres)
        self.labels = self.divergences.argmin(axis=0)
        return self._tally(np.ones(len(centres), dtype=bool))

    @property
    def own(self) -> NDArray[np.float64]:
        """The divergences of the matrices to the centres of their clusters."""
        own: NDArray[np.float64] = self.divergences[self.labels, self._every]
        return own

    def _tally(self, moved: NDArray[np.bool_]) -> Tally:
        return tally(self.labels, self.own, self.sample.weights, moved)

    def centre_steps(self, clusters: NDArray[np.intp]) -> NDArray[np.float64]:
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

    def try_centres(
        self, clusters: NDArray[np.intp], centres: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Σ w_i d(X_i, C) over the members of each of the clusters, as it is and with these."""
        rows = self.sample.divergences(centres)
        self._tried = clusters, centres, rows
        weights = np.where(self.labels == clusters[:, None], self.sample.weights, 0.0)
        before = np.einsum("ji,ji->j", weights, self.divergences[clusters])
        return before, np.einsum("ji,ji->j", weights, rows)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Replace centres by those just tried, where chosen."""
        clusters, centres, rows = self._tried
        for a in np.flatnonzero(chosen):
            self.centres[clusters[a]], self.divergences[clusters[a]] = centres[a], rows[a]

    def assign(self) -> Tally:
        """Give every matrix to its nearest centre; at a tie it stays where it is."""
        goals = self.divergences.argmin(axis=0)
        return self._give(goals, self.divergences[goals, self._every] < self.own)

    def exchange(self, weights: NDArray[np.float64]) -> Tally:
        """Give matrices to other clusters by Hartigan's rule, given the weights of the clusters."""
        return self._give(
            *exchange_goals(self.divergences, self.labels, self.sample.weights, weights)
        )

    def _give(self, goals: NDArray[np.intp], leaves: NDArray[np.bool_]) -> Tally:
        moved = np.zeros(len(self.centres), dtype=bool)
        moved[self.labels[leaves]] = moved[goals[leaves]] = True
        self.labels[leaves] = goals[leaves]
        return self._tally(moved)

    def costliest(self, count: int) -> Costliest:
        """Return the matrices that are represented worst."""
        return Costliest(self._every, self.sample.weights * self.own, self.labels, count).cut()

    def occupy(self, clusters: NDArray[np.intp], chosen: NDArray[np.intp]) -> None:
        """Put the centres of clusters where these matrices are."""
        self.centres[clusters] = self.sample.matrices[chosen]
        self.divergences[clusters] = self.sample.divergences(self.centres[clusters])
        # Not by the divergence, which rounding may leave above zero: a matrix is its own centre.
        self.divergences[clusters, chosen] = 0.0

    def saved(self) -> Any:
        """Return what `restore` brings back."""
        return self.centres.copy(), self.divergences.copy(), self.labels.copy()

    def restore(self, state: Any) -> None:
        """Return to a state that was saved."""
        self.centres, self.divergences, self.labels = state


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

    def __init__(self, data: Clustering, centres: NDArray[np.float64], tol: float) -> None:
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
        clusters: NDArray[np.intp],
        proposals: NDArray[np.float64],
        before: NDArray[np.float64],
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


def tally(
    labels: NDArray[np.intp],
    own: NDArray[np.float64],
    weights: NDArray[np.float64],
    moved: NDArray[np.bool_],
) -> Tally:
    """Count the matrices of every cluster, and add up their weights and costs."""
    count = len(moved)
    return Tally(
        np.bincount(labels, minlength=count),
        np.asarray(np.bincount(labels, weights, minlength=count), np.float64),
        moved,
        float(weights @ own),
    )


def exchange_goals(
    divergences: NDArray[np.float64],
    labels: NDArray[np.intp],
    weights: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the best cluster of every matrix by Hartigan's rule, and whether it is another one.

    Matrix i goes from a to b where W_b/(W_b + w_i)·d_ib < W_a/(W_a − w_i)·d_ia, with the weights W of
    the clusters.
    """
    every = np.arange(len(labels))
    costs = divergences * (totals[:, None] / (totals[:, None] + weights))
    own_total = totals[labels]
    others = own_total - weights
    company = others > 1e-9 * own_total
    # A matrix alone in its cluster stays: nothing is gained where it is its own centre.
    factors = np.divide(own_total, others, out=np.zeros(len(weights)), where=company)
    stay = factors * divergences[labels, every]
    costs[labels, every] = stay
    goals = costs.argmin(axis=0)
    return goals, costs[goals, every] < _NOTICEABLE * stay


def relative_changes(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ‖L⁻¹ (new − old) L⁻ᵀ‖_F / √n with old = L Lᵀ, which congruence does not change."""
    L = np.linalg.cholesky(old)
    half = np.linalg.solve(L, new - old)
    whitened = np.linalg.solve(L, half.swapaxes(1, 2))
    return np.asarray(np.linalg.norm(whitened, axis=(1, 2)) / np.sqrt(old.shape[-1]))
