"""Matrices in memory, with the labels of their clusters; which cluster a matrix belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import effective_n_jobs, run_blocks
from spdatoms._utils.typing import Floats, Indices
from spdatoms.divergences.seeds import Sample
from spdatoms.scale.parts import Largest

#: A matrix is exchanged if its cost falls below this fraction of what it was: not by rounding alone.
_NOTICEABLE = 1.0 - 1e-9
#: Floating point operations per task of a thread: far more than starting the task takes.
_TASK_FLOPS = 5e6


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
        return Tally.of(self.labels, self.own, self.sample.weights, moved)

    def centre_steps(self, clusters: Indices) -> Floats:
        """Return `Divergence.centre` of the members of each of the clusters."""
        sample = self.sample
        steps = np.empty_like(self.centres, shape=(len(clusters), *self.centres.shape[1:]))
        members = self._members()

        def step(some: slice) -> None:
            chosen = clusters[some]
            steps[some] = sample.divergence.centres(
                sample.prepared, members[:, chosen], self.centres[chosen]
            )

        flops = 20 * len(sample) / len(self.centres) * self.centres.shape[-1] ** 3
        # Two tasks per thread even out that clusters differ in size.
        share = -(-len(clusters) // (2 * effective_n_jobs(sample.n_jobs)))
        run_blocks(step, len(clusters), max(share, int(_TASK_FLOPS / flops)), sample.n_jobs)
        return steps

    def _members(self) -> scipy.sparse.csc_array:
        """Return the weights of the matrices in the columns of their clusters, shape (m, k)."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(len(self.centres) + 1))
        shape = len(order), len(self.centres)
        return scipy.sparse.csc_array((self.sample.weights[order], order, starts), shape=shape)

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i d(X_i, C) over the members of each cluster, with its centre and with this one."""
        rows = self.sample.divergences(centres)
        self._tried = clusters, centres, rows
        places = np.full(len(self.centres), -1)
        places[clusters] = np.arange(len(clusters))
        members = np.flatnonzero(places[self.labels] >= 0)
        at, weights = places[self.labels[members]], self.sample.weights[members]

        def costs(divergences: Floats) -> Floats:
            return np.asarray(np.bincount(at, weights * divergences, len(clusters)), np.float64)

        return costs(self.own[members]), costs(rows[at, members])

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Replace the chosen centres by those just tried."""
        clusters, centres, rows = self._tried
        for a in np.flatnonzero(chosen):
            self.centres[clusters[a]], self.divergences[clusters[a]] = centres[a], rows[a]

    def assign(self, totals: Floats | None = None) -> Tally:
        """Give every matrix to its nearest centre, or by Hartigan's rule, given the weights of the clusters."""
        self.labels, moved = relabelled(self.divergences, self.labels, self.sample.weights, totals)
        return self._tally(moved)

    def worst_represented(self, count: int) -> Largest:
        """Return the matrices with the largest w_i d(X_i, C_{l_i}), and their labels."""
        return Largest.of(count, self.sample.weights * self.own, self._every, self.labels)

    def occupy(self, clusters: Indices, chosen: Indices) -> None:
        """Let the chosen matrices be the centres of these clusters."""
        self.centres[clusters] = self.sample.matrices[chosen]
        self.divergences[clusters] = self.sample.divergences(self.centres[clusters])
        # A matrix is its own centre, though rounding may leave its divergence above zero.
        self.divergences[clusters, chosen] = 0.0

    def saved(self) -> Any:
        """Return the current state, for `restore`."""
        return self.centres.copy(), self.divergences.copy(), self.labels.copy()

    def restore(self, state: Any) -> None:
        """Return to a state that was saved."""
        self.centres, self.divergences, self.labels = state


def relabelled(
    divergences: Floats, labels: Indices, weights: Floats, totals: Floats | None
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return new labels, and which clusters a matrix has entered or left.

    Matrices go to their nearest centre, at a tie they stay. With the weights W of the clusters, ``totals``, they go by
    Hartigan's rule: matrix i moves from a to b if W_b/(W_b + w_i)·d_ib < W_a/(W_a − w_i)·d_ia. ``divergences`` has
    d(X_i, C_j) at [j, i].
    """
    every = np.arange(len(labels))
    costs, stay = divergences, divergences[labels, every]
    if totals is not None:
        own_total = totals[labels]
        others = own_total - weights
        company = others > 1e-9 * own_total
        # A matrix alone in its cluster is its own centre, and stays.
        factors = np.divide(own_total, others, out=np.zeros(len(weights)), where=company)
        stay = factors * stay
        costs = divergences * (totals[:, None] / (totals[:, None] + weights))
        costs[labels, every] = stay
    goals = costs.argmin(axis=0)
    leaves = costs[goals, every] < (stay if totals is None else _NOTICEABLE * stay)
    moved = np.zeros(len(divergences), dtype=bool)
    moved[labels[leaves]] = moved[goals[leaves]] = True
    return np.where(leaves, goals, labels), moved
