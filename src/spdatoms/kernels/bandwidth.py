"""The bandwidth β of a kernel exp(−β·divergence)."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray
from spdatoms.divergences import Divergence
from spdatoms.geometry.hermitian import as_double

#: β is taken from this many matrices at most: the median of their 125,000 divergences is exact enough.
_SUBSAMPLE = 500
#: The β of coders and dictionaries, as a multiple of 1 / median: where the kernel is positive definite for some β, and
#: where it is for none.
_CODING_FACTOR, _NEVER_DEFINITE_FACTOR = 0.2, 2.0


def coding_factor(divergence: Divergence, n: int) -> float:
    """Return which multiple of 1 / median the automatic β of coders and dictionaries is, for matrices of size n.

    It is 0.2: codes tell more of a matrix if many atoms resemble it. But it is 2 for a divergence whose kernel is known
    to be positive definite for no β, such as Jeffrey's: the smaller β is, the further from that is the kernel.
    """
    return _CODING_FACTOR if divergence.kernel_is_guaranteed(np.inf, n) else _NEVER_DEFINITE_FACTOR


def subsample_beta(
    X: FloatArray, divergence: Divergence, beta: float | str, factor: float = 1.0
) -> float:
    """Return the β that was given, or the automatic one for these matrices: a multiple of 1 / median."""
    if not isinstance(beta, str):
        return float(beta)
    samples = as_double(X[evenly_spaced(len(X), _SUBSAMPLE)])
    return choose_beta(beta, divergence.pairwise(divergence.prepare(samples)), factor)


def automatic_beta(divergences: FloatArray) -> float:
    """Return 1 / median of the positive off-diagonal entries of a matrix of divergences.

    At this β a typical pair has the kernel value 1/e. Exact duplicates, whose divergence is zero,
    say nothing about the scale; where there is nothing else, β is 1.
    """
    off_diagonal = divergences[~np.eye(len(divergences), dtype=bool)]
    positive = off_diagonal[off_diagonal > 0]
    return float(1.0 / np.median(positive)) if len(positive) else 1.0


def choose_beta(beta: float | str, divergences: FloatArray, factor: float = 1.0) -> float:
    """Return the β that was given, or the automatic one for these divergences: a multiple of 1 / median."""
    if not isinstance(beta, str):
        return float(beta)
    part = evenly_spaced(len(divergences), _SUBSAMPLE)
    return factor * automatic_beta(divergences[part, part])
