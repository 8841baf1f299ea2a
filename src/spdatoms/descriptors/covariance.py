"""Covariances of feature vectors that are positive definite even where nothing varies."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.native import kernel

_mean_and_variance = kernel("mean_and_variance", "DqqDD")

#: A feature whose standard deviation is below a thousandth of its size counts as flat.
_FLAT = 1e-6


def sample_moments(samples: FloatArray) -> tuple[Floats, Floats]:
    """Return the mean (F,) and the covariance Σ (f − μ)(f − μ)ᵀ / (N − 1) of samples (N, F).

    The covariance of one sample is zero.
    """
    values = np.asarray(samples, dtype=np.float64)
    mean = values.mean(axis=0)
    centred = values - mean
    return mean, centred.T @ centred / max(len(values) - 1, 1)


def mean_and_scale(samples: FloatArray) -> tuple[Floats, Floats]:
    """Return the mean of each feature of samples (N, F) and s_f = var(f) + 1e-6 · mean(f²).

    s_f is the squared scale of a feature. For a feature that is zero everywhere it is the mean over the
    others, and 1 if all are zero.
    """
    values = np.ascontiguousarray(samples, dtype=np.float64)
    mean, variance = np.empty((2, values.shape[1]))
    _mean_and_variance(values, *values.shape, mean, variance)
    scale = variance + _FLAT * (variance + mean**2)
    present = scale > 0.0
    return mean, np.where(present, scale, scale[present].mean() if present.any() else 1.0)


def definite(covariances: Floats, scale: Floats, shrinkage: float) -> Floats:
    """Turn covariances C (..., F, F) into C + shrinkage · diag(C_ff + s_f), in place.

    The shrinkage of a feature has the units of its variance, so that no choice of units matters: the
    correlation matrix has no eigenvalue below shrinkage / (1 + shrinkage), whatever C is.
    """
    diagonal = np.einsum("...ii->...i", covariances)
    diagonal += shrinkage * (diagonal + scale)
    return covariances


def definite_covariance(samples: FloatArray, shrinkage: float, mean: bool = False) -> Floats:
    """Return the definite covariance of samples (N, F), with their mean if asked for.

    The samples also give the scales of the features, as the whole image does for its regions.
    """
    centre, covariance = sample_moments(samples)
    _, scale = mean_and_scale(samples)
    covariance = definite(covariance, scale, shrinkage)
    return with_mean(covariance, centre) if mean else covariance


def with_mean(covariances: Floats, means: Floats) -> Floats:
    """Return [[C + μμᵀ, μ], [μᵀ, 1]], which is definite with C (its Schur complement)."""
    n = means.shape[-1]
    out = np.empty((*means.shape[:-1], n + 1, n + 1))
    out[..., :n, :n] = covariances + means[..., :, None] * means[..., None, :]
    out[..., :n, n] = out[..., n, :n] = means
    out[..., n, n] = 1.0
    return out
