"""The first centres of k-means."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Indices
from spdatoms.clustering._labelled import Sample


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
    while len(seeds) < count:
        potential = weights * nearest
        total = potential.sum()
        if not total > 0:  # every matrix equals a seed: any of them will do
            unused = np.setdiff1d(np.arange(len(X)), seeds)
            seeds.extend(rng.choice(unused, count - len(seeds), replace=False))
            break
        candidates = rng.choice(len(X), trials, p=potential / total)
        remaining = np.minimum(nearest, sample.divergences(X[candidates]))
        best = int(np.argmin(remaining @ weights))
        nearest = remaining[best]
        seeds.append(int(candidates[best]))
    return np.array(seeds, dtype=np.intp)
