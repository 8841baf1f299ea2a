"""Matrices around three centres, of which some lack channels."""

from __future__ import annotations

import numpy as np

from _matrices import random_spd


def clusters(
    count: int = 20, n: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices around three centres, the same of which two thirds lack channels, and their labels."""
    rng = np.random.default_rng(seed)
    centres = random_spd(3, n, seed=seed)
    y = np.arange(3 * count) % 3
    samples = np.linalg.cholesky(centres)[y] @ rng.standard_normal((3 * count, n, 40))
    X = samples @ samples.swapaxes(1, 2) / 40
    queries = X.copy()
    for one in queries[: 2 * count]:
        missing = rng.permutation(n)[:2]
        one[missing] = one[:, missing] = np.nan
    return X, queries, y
