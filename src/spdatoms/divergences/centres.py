"""The step of `Divergence.centre` as a sum over parts of the data.

In the right coordinates the step over all matrices is the weighted mean of the steps over parts of
them, all taken from the same centre C:

=====================  ==========================================
Euclidean, Burg right  C itself: means of matrices
Stein, Burg left       C⁻¹: means of inverses
log-Euclidean          log C
affine-invariant       log_C, the tangent vectors at C
=====================  ==========================================

Jeffrey's centre Q # P⁻¹ has no such coordinates, but Q and P are sums themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.divergences.affine_invariant import AffineInvariant
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.burg import Burg
from spdatoms.divergences.euclidean import Euclidean
from spdatoms.divergences.jeffrey import Jeffrey, JeffreySet
from spdatoms.divergences.log_euclidean import LogEuclidean
from spdatoms.divergences.stein import Stein
from spdatoms.geometry import batched
from spdatoms.geometry.functions import exp_map, expm, log_map, logm


def check_centres_add_up(divergence: Divergence) -> None:
    """Refuse a divergence of which it is not known how its centres add up."""
    known = (AffineInvariant, Burg, Euclidean, Jeffrey, LogEuclidean, Stein)
    if not isinstance(divergence, known):
        raise ValueError(
            f"The {divergence.name} divergence clusters matrices in memory only: it is not known how "
            "its centres add up over parts of the data."
        )


def centre_term(divergence: Divergence, Z: Any, weights: Floats, C: Floats) -> Floats:
    """Return what matrices Z (a prepared set) with these weights, not negative, add to the step from C."""
    if isinstance(divergence, Jeffrey):
        return np.asarray(weights @ Z.stacked)
    total = float(weights.sum())
    if total == 0.0:
        return np.zeros_like(C)
    return total * _coordinates(divergence, divergence.centre(Z, weights, C), C)


def centre_from_sum(divergence: Divergence, terms: Floats, total: float, C: Floats) -> Floats:
    """Return the step from C, given the sum of all terms and of all weights."""
    if isinstance(divergence, Jeffrey):
        return divergence.centre(JeffreySet(C.shape[-1], terms[None]), np.ones(1), C)
    mean = terms / total
    if isinstance(divergence, AffineInvariant):
        return np.asarray(exp_map(mean, C))
    if isinstance(divergence, LogEuclidean):
        return np.asarray(expm(mean))
    return _inverse(mean) if _by_inverses(divergence) else mean


def _coordinates(divergence: Divergence, step: Floats, C: Floats) -> Floats:
    if isinstance(divergence, AffineInvariant):
        return np.asarray(log_map(step, C))
    if isinstance(divergence, LogEuclidean):
        return np.asarray(logm(step))
    return _inverse(step) if _by_inverses(divergence) else step


def _by_inverses(divergence: Divergence) -> bool:
    return isinstance(divergence, Stein) or (
        isinstance(divergence, Burg) and divergence.side == "left"
    )


def _inverse(A: Floats) -> Floats:
    return np.asarray(batched.inverse(A[None])[0])
