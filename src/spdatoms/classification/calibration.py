"""p = softmax(t·s): probabilities from class scores, with the temperature 1/t that left-out matrices ask for."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats, Indices

#: t stays within these, where it has no minimum.
_LEAST, _GREATEST = 1e-2, 1e2
_STEPS, _TOLERANCE = 50, 1e-6


def log_losses(scores: Floats, labels: Indices) -> Floats:
    """Return −log p of the true class, shape (…, m), for p = softmax of scores (…, m, n_classes)."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    true = np.take_along_axis(
        shifted, labels[:, None] * np.ones_like(shifted[..., :1], np.intp), -1
    )
    return np.asarray(np.log(np.exp(shifted).sum(axis=-1)) - true[..., 0])


def sharpness(scores: Floats, labels: Indices, weights: Floats | None = None) -> Floats:
    """Return the t that minimises the mean loss of softmax(t·s), shape (…), for scores (…, m, n_classes).

    The loss is −Σ_c q_c log p_c with q = 1 − 1/(m + 2) for the true class, and the rest spread over the others,
    as Platt (1999) does: m matrices that are all classified rightly do not prove that no error is possible.
    It is convex in t, so Newton's steps find its minimum. Scores of −inf stand for classes that were not there.
    The mean may have weights.
    """
    t = np.empty(scores.shape[:-2])
    for cell in np.ndindex(t.shape):
        t[cell] = _sharpness(scores[cell], labels, weights)
    return t


def _sharpness(scores: Floats, labels: Indices, weights: Floats | None) -> float:
    """Return t for scores (m, n_classes)."""
    t = 1.0
    if not len(labels):
        return t
    absent = ~np.isfinite(scores)
    s = np.where(absent, 0.0, scores)
    true = s[np.arange(len(labels)), labels]
    others = (s.sum(axis=1) - true) / np.maximum((~absent).sum(axis=1) - 1, 1)
    doubt = 1.0 / (len(labels) + 2.0)
    wanted = (1.0 - doubt) * true + doubt * others
    top = scores.max(axis=1, keepdims=True)
    for _ in range(_STEPS):
        p = np.exp(t * (scores - top))
        p /= p.sum(axis=1, keepdims=True)
        weighted = p * s
        expected = weighted.sum(axis=1)
        slope = np.average(expected - wanted, weights=weights)
        variances = np.einsum("ij,ij->i", weighted, s) - expected**2
        curvature = np.average(variances, weights=weights)
        # Far from the minimum the loss is nearly linear in t: no step of more than a factor of three.
        step = slope / curvature if curvature > 0 else np.sign(slope) * t
        moved = float(np.clip(t - step, max(t / 3.0, _LEAST), min(t * 3.0, _GREATEST)))
        if abs(moved - t) <= _TOLERANCE * t:
            return moved
        t = moved
    return t
