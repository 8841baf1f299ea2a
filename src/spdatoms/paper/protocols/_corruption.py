"""What makes classification hard: few training matrices, wrong labels, queries that are not what they were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


#: What channels break by.
FAULTS = ("gain", "noise", "weak noise", "flat", "swapped")


def with_faults(
    X: FloatArray, kind: str, count: int, rng: np.random.Generator, sets: int | None = None
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return X with ``count`` broken channels in every matrix, and the mask (m, n) of these.

    Matrices take turns with ``sets`` random sets of channels, or each has its own.

    Gain: the variance is ten times what it was. Noise: three times the variance, weak noise: the variance, and no
    covariance with other channels. Flat: as noise, of 1e-4 times the variance. Swapped: channels change places.
    """
    m, n, _ = X.shape
    spoilt, bad = X.copy(), np.zeros((m, n), np.bool_)
    drawn = [rng.choice(n, count, replace=False) for _ in range(sets or m)] if count else []
    for i in range(m if count else 0):
        channels = drawn[i % len(drawn)]
        bad[i, channels] = True
        if kind == "gain":
            gains = np.where(bad[i], np.sqrt(10.0), 1.0)
            spoilt[i] *= (gains[:, None] * gains).astype(X.dtype)
        elif kind == "swapped":
            order = np.arange(n)
            order[channels] = channels[::-1]
            spoilt[i] = X[i][np.ix_(order, order)]
        else:
            times = {"noise": 3.0, "weak noise": 1.0, "flat": 1e-4}[kind]
            variances = times * X[i, channels, channels]
            spoilt[i, channels] = 0.0
            spoilt[i, :, channels] = 0.0
            spoilt[i, channels, channels] = variances
    return spoilt, bad
