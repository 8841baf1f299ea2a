"""Matrices in memory with the labels of their clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import Floats, Indices
from spdatoms.divergences import Divergence

#: Flops in a block of clusters, far more than it takes to hand it to a thread.
_BLOCK_FLOPS = 5e6


#: A sum is less than another if it is less than so many times it: rounding does not count.
_NOTICEABLE = 1.0 - 1e-9


@dataclass(frozen=True)
class Sample:
    """Weighted matrices, prepared once for all divergences to all centres."""

    divergence: Divergence
    matrices: Floats
    weights: Floats
    n_jobs: int | None = None
    prepared: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", self.divergence.prepare(self.matrices))

    def __len__(self) -> int:
        return len(self.matrices)

    def divergences(self, centres: Floats) -> Floats:
        """Return d(X_i, C_j) at [j, i]: a row a centre, so that one of them is replaced quickly."""
        return self.divergence.to_centres(self.prepared, centres, self.n_jobs)


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

    sizes: Indices
    weights: Floats
    moved: NDArray[np.bool_]
    inertia: float

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.sizes + other.sizes,
            self.weights + other.weights,
            self.moved | other.moved,
            self.inertia + other.inertia,
        )


@dataclass(frozen=True)
class Costliest:
    """The matrices with the greatest w_i d(X_i, C_{l_i}), of those looked at; the earlier at a tie."""

    samples: Indices
    costs: Floats
    labels: Indices
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

    def start(self, centres: Floats) -> Tally:
        """Give every matrix to the nearest of these centres."""
        self.centres = np.array(centres)
        self.divergences = self.sample.divergences(self.centres)
        self.labels = self.divergences.argmin(axis=0)
        return self._tally(np.ones(len(centres), dtype=bool))

    @property
    def own(self) -> Floats:
        """The divergences of the matrices to the centres of their clusters."""
        own: Floats = self.divergences[self.labels, self._every]
        return own

    def _tally(self, moved: NDArray[np.bool_]) -> Tally:
        return tally(self.labels, self.own, self.sample.weights, moved)

    def centre_steps(self, clusters: Indices) -> Floats:
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

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]:
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

    def exchange(self, weights: Floats) -> Tally:
        """Give matrices to other clusters by Hartigan's rule, given the weights of the clusters."""
        return self._give(
            *exchange_goals(self.divergences, self.labels, self.sample.weights, weights)
        )

    def _give(self, goals: Indices, leaves: NDArray[np.bool_]) -> Tally:
        moved = np.zeros(len(self.centres), dtype=bool)
        moved[self.labels[leaves]] = moved[goals[leaves]] = True
        self.labels[leaves] = goals[leaves]
        return self._tally(moved)

    def costliest(self, count: int) -> Costliest:
        """Return the matrices that are represented worst."""
        return Costliest(self._every, self.sample.weights * self.own, self.labels, count).cut()

    def occupy(self, clusters: Indices, chosen: Indices) -> None:
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


def tally(
    labels: Indices,
    own: Floats,
    weights: Floats,
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
    divergences: Floats,
    labels: Indices,
    weights: Floats,
    totals: Floats,
) -> tuple[Indices, NDArray[np.bool_]]:
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
