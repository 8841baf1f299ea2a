"""What makes classification hard: few training matrices, wrong labels, queries that are not what they were."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Array, FloatArray, Indices


def some_per_class(y: Array, per_class: int) -> Indices:
    """Return the indices of the first ``per_class`` samples of every class, or of all if it has fewer."""
    members = (np.flatnonzero(y == label) for label in np.unique(y))
    return np.sort(np.concatenate([of[:per_class] for of in members]))


def mislabelled(y: Array, share: float, rng: np.random.Generator) -> Array:
    """Return labels of which a share is replaced by labels of other classes, at random."""
    classes, labels = np.unique(y, return_inverse=True)
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    labels[wrong] += rng.integers(1, len(classes), len(wrong))
    replaced: Array = classes[labels % len(classes)]
    return replaced


def with_outlier_channel(X: FloatArray, factor: float, rng: np.random.Generator) -> FloatArray:
    """Return X + factor·x_jj e_j e_jᵀ for a random channel j of each matrix: independent noise in one channel."""
    corrupted = X.copy()
    rows, channels = np.arange(len(X)), rng.integers(0, X.shape[-1], len(X))
    corrupted[rows, channels, channels] *= 1.0 + factor
    return corrupted


def with_noise(X: FloatArray, factor: float) -> FloatArray:
    """Return X + factor·diag(X): independent noise in every channel, in proportion to its variance."""
    corrupted = X.copy()
    diagonal = np.arange(X.shape[-1])
    corrupted[:, diagonal, diagonal] *= 1.0 + factor
    return corrupted
