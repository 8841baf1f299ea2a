"""Matrices that represent others: drawn at random, or far apart from each other (k-means++)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Floats, Indices
from spdatoms.divergences.base import Divergence, PreparedSet


@dataclass(frozen=True)
class Sample:
    """Weighted matrices, prepared once for the divergences to any centres."""

    divergence: Divergence
    matrices: Floats
    weights: Floats
    n_jobs: int | None = None

    @cached_property
    def prepared(self) -> PreparedSet:
        """What the divergence knows about the matrices."""
        return self.divergence.prepare(self.matrices)

    def __len__(self) -> int:
        return len(self.matrices)

    def divergences(self, centres: Floats) -> Floats:
        """Return d(X_i, C_j) at [j, i]: one row per centre, so that a centre is quickly replaced."""
        return self.divergence.to_centres(self.prepared, centres, self.n_jobs)


def random_seeds(sample: Sample, count: int, rng: Any) -> Indices:
    """Draw matrices without repetition, each with a probability proportional to its weight."""
    p = sample.weights / sample.weights.sum()
    return np.asarray(rng.choice(len(sample), count, replace=False, p=p), dtype=np.intp)


def plus_plus_seeds(sample: Sample, count: int, rng: Any) -> Indices:
    """Draw matrices one by one, i with a probability proportional to w_i min_j d(X_i, X_j) over the seeds j.

    Of a few candidates the one that leaves the least sum of these becomes the next seed (greedy k-means++).
    """
    X, weights = sample.matrices, sample.weights
    trials = 2 + int(np.log(count))
    seeds = [int(random_seeds(sample, 1, rng)[0])]
    nearest = sample.divergences(X[seeds])[0]
    with progress_bar(count, "k-means++", initial=1) as advance:
        while len(seeds) < count:
            cumulated = np.cumsum(weights * nearest)
            if not cumulated[-1] > 0:  # every matrix equals a seed: any of them will do
                unused = np.setdiff1d(np.arange(len(X)), seeds)
                seeds.extend(rng.choice(unused, count - len(seeds), replace=False))
                break
            # The draws of `rng.choice` with these probabilities, which takes longer to check them.
            cumulated /= cumulated[-1]
            candidates = np.searchsorted(cumulated, rng.random(trials), side="right")
            remaining = np.minimum(nearest, sample.divergences(X[candidates]))
            best = int(np.argmin(remaining @ weights))
            nearest = remaining[best]
            seeds.append(int(candidates[best]))
            advance()
    return np.array(seeds, dtype=np.intp)


#: How seeds are drawn, by the names that users know.
SEEDS = {"k-means++": plus_plus_seeds, "random": random_seeds}
