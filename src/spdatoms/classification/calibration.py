"""p = softmax(t·s): probabilities from standardised scores, with the temperature 1/t that left-out matrices ask for."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices

#: t stays within these, where it has no minimum.
_LEAST, _GREATEST = 1e-2, 1e2
_STEPS, _TOLERANCE = 50, 1e-6
#: Scores of cells that are looked at together.
_ENTRIES = 1 << 15
#: Scores of a query are divided by their spread over the classes. A small share of what is usual is added to it: of two
#: classes, whose spread is their difference, nothing but the sign would remain.
_USUAL_SHARE = 1e-3


def standardised(scores: Floats, usual: float | Floats) -> Floats:
    """Return scores (…, m, n_classes) minus their mean, divided by their spread over the classes.

    ``usual`` is the mean square spread of left-out matrices. Classes with a score of −inf were not there.
    """
    there, centred, spread = _centred(scores)
    return np.where(there, centred / _scale(spread, usual), -np.inf)


def standard_scale(scores: Floats, usual: float) -> Floats:
    """Return what `standardised` divides the scores (m, n_classes) of every query by, shape (m, 1)."""
    return _scale(_centred(scores)[2], usual)


def _scale(spread: Floats, usual: float | Floats) -> Floats:
    scale = np.sqrt((spread + _USUAL_SHARE * usual) / (1.0 + _USUAL_SHARE))
    return np.where(scale > 0, scale, 1.0)


def usual_spread(scores: Floats) -> Floats:
    """Return the mean square spread over the classes, shape (…, 1, 1), of scores (…, m, n_classes)."""
    there, _, spread = _centred(scores)
    counting = there.any(axis=-1, keepdims=True)
    total = np.where(counting, spread, 0.0).sum(axis=-2, keepdims=True)
    return np.asarray(total / np.maximum(counting.sum(axis=-2, keepdims=True), 1))


def _centred(scores: Floats) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Return which scores are there, those minus their mean, zero for the others, and their mean square."""
    there = np.isfinite(scores)
    count = np.maximum(there.sum(axis=-1, keepdims=True), 1)
    centred = np.where(there, scores, 0.0)
    centred = np.where(there, centred - centred.sum(axis=-1, keepdims=True) / count, 0.0)
    return there, centred, (centred**2).sum(axis=-1, keepdims=True) / count


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
