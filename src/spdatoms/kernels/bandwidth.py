"""The bandwidth β of a kernel exp(−β·divergence)."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray
from spdatoms.divergences import Divergence

#: β is taken from this many matrices at most: the median of their 125,000 divergences is exact enough.
_SUBSAMPLE = 500


def subsample_beta(X: FloatArray, divergence: Divergence, beta: float | str) -> float:
    """Return the β that was given, or the automatic one for these matrices."""
    samples = X[evenly_spaced(len(X), _SUBSAMPLE)]
    return choose_beta(beta, divergence.pairwise(divergence.prepare(samples)))


def automatic_beta(divergences: FloatArray) -> float:
    """Return 1 / median of the positive off-diagonal entries of a matrix of divergences.

    At this β a typical pair has the kernel value 1/e. Exact duplicates, whose divergence is zero,
    say nothing about the scale; where there is nothing else, β is 1.
    """
    off_diagonal = divergences[~np.eye(len(divergences), dtype=bool)]
    positive = off_diagonal[off_diagonal > 0]
    return float(1.0 / np.median(positive)) if len(positive) else 1.0


def choose_beta(beta: float | str, divergences: FloatArray) -> float:
    """Return the β that was given, or the automatic one for these divergences."""
    if not isinstance(beta, str):
        return float(beta)
    part = evenly_spaced(len(divergences), _SUBSAMPLE)
    return automatic_beta(divergences[part, part])
