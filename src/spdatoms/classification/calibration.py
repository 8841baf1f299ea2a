"""p = softmax(t·s): probabilities from class scores, with the temperature 1/t that left-out matrices ask for."""

from __future__ import annotations

from math import prod

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices

#: t stays within these, where it has no minimum.
_LEAST, _GREATEST = 1e-2, 1e2
_STEPS, _TOLERANCE = 50, 1e-6
#: Scores of cells that are looked at together.
_ENTRIES = 1 << 15


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
    *shape, m, n_classes = scores.shape
    cells = scores.reshape(prod(shape), m, n_classes)
    # Many small cells at once, because there are often few matrices; few large ones, because of the cache.
    count = max(1, _ENTRIES // max(1, m * n_classes))
    found = [_sharpness(cells[some], labels, weights) for some in block_slices(len(cells), count)]
    return np.concatenate([np.zeros(0), *found]).reshape(shape)


def _sharpness(scores: Floats, labels: Indices, weights: Floats | None) -> Floats:
    """Return t for scores (n_cells, m, n_classes)."""
    t = np.ones(len(scores))
    if not len(labels):
        return t
    there = np.isfinite(scores)
    s = np.where(there, scores, 0.0)
    true = s[:, np.arange(len(labels)), labels]
    others = (s.sum(axis=2) - true) / np.maximum(there.sum(axis=2) - 1, 1)
    doubt = 1.0 / (len(labels) + 2.0)
    shares = np.full(len(labels), 1.0 / len(labels)) if weights is None else weights / weights.sum()
    wanted = ((1.0 - doubt) * true + doubt * others) @ shares
    below = scores - scores.max(axis=2, keepdims=True)
    for _ in range(_STEPS):
        p = np.exp(t[:, None, None] * below)
        p /= p.sum(axis=2, keepdims=True)
        expected = np.einsum("cij,cij->ci", p, s)
        slope = expected @ shares - wanted
        curvature = (np.einsum("cij,cij,cij->ci", p, s, s) - expected**2) @ shares
        # Far from the minimum the loss is nearly linear in t: no step of more than a factor of three.
        step = np.where(
            curvature > 0, slope / np.where(curvature > 0, curvature, 1.0), np.sign(slope) * t
        )
        moved = np.clip(t - step, np.maximum(t / 3.0, _LEAST), np.minimum(t * 3.0, _GREATEST))
        done = np.abs(moved - t) <= _TOLERANCE * t
        t = moved
        if done.all():
            break
    return t
