"""exp(−β·d) of divergences d, and the bandwidth β."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences import Divergence
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.semidefinite import eigenvalue_tolerance
from spdatoms.native import kernel

#: β is taken from this many matrices at most: the median of their 125,000 divergences is exact enough.
_SUBSAMPLE = 500
#: The β of coders and dictionaries that are tried, as multiples of 1 / median, before it is 1 / median itself.
_CODING_FACTORS = (0.2, 0.5)
#: That of a divergence whose kernel is known to be positive definite for no β.
_NEVER_SOUND_FACTOR = 1.0

_scaled_exp = kernel("scaled_exp", "Dqd")


def kernel_values(divergences: FloatArray, beta: float) -> FloatArray:
    """Return exp(−β·d) in double precision, with zero in place of numbers too small to compute with quickly."""
    return kernel_in_place(np.array(divergences, np.float64, order="C"), beta)


def kernel_in_place(divergences: Floats, beta: float) -> Floats:
    """Replace d by exp(−β·d): as `kernel_values`, but without the memory of a copy."""
    if not divergences.flags.forc:  # neither rows nor columns lie one after the other
        divergences[...] = kernel_values(divergences, beta)
    else:
        _scaled_exp(divergences.ravel(order="K"), divergences.size, -beta)
    return divergences


def subsample_divergences(X: FloatArray, divergence: Divergence) -> FloatArray:
    """Return the divergences between the matrices that an automatic β is found from."""
    samples = as_double(X[evenly_spaced(len(X), _SUBSAMPLE)])
    return divergence.pairwise(divergence.prepare(samples))


def subsample_beta(X: FloatArray, divergence: Divergence, beta: float | str) -> float:
    """Return the β that was given, or the automatic one for these matrices."""
    return choose_beta(beta, subsample_divergences(X, divergence))


def coding_beta(
    median_beta: float,
    divergences: FloatArray,
    divergence: Divergence,
    n: int,
    allowance: float = 0.0,
) -> float:
    """Return the automatic β of coders and dictionaries: 0.2 / median, if the kernel is sound there.

    With a small β many atoms resemble a matrix, and codes tell more of it. But the smaller β is, the further from
    positive definite a kernel may be. So it is 0.5 or 1 / median if the Gram matrix has an eigenvalue below
    −allowance·(1 − k̄), where k̄ is the mean of the kernel, and 1 / median for a divergence whose kernel is known to be
    positive definite for no β, such as Jeffrey's.

    Parameters
    ----------
    median_beta : float
        1 / median, the `automatic_beta`.
    divergences : ndarray of shape (m, m)
        The divergences between some matrices.
    divergence : Divergence
        The divergence.
    n : int
        The size of the matrices.
    allowance : float, default=0.0
        What a ridge makes up for.

    Returns
    -------
    float
    """
    if not divergence.kernel_is_guaranteed(np.inf, n):
        return _NEVER_SOUND_FACTOR * median_beta
    for factor in _CODING_FACTORS:
        beta = factor * median_beta
        if divergence.kernel_is_guaranteed(beta, n):
            return beta
        gram = kernel_values(divergences, beta)
        eigenvalues = np.linalg.eigvalsh(gram)
        rounding = eigenvalue_tolerance(gram) * eigenvalues[-1]
        if eigenvalues[0] >= -max(rounding, allowance * (1.0 - float(gram.mean()))):
            return beta
    return median_beta


def automatic_beta(divergences: FloatArray) -> float:
    """Return 1 / median of the positive off-diagonal entries of a symmetric matrix of divergences.

    At this β a typical pair has the kernel value 1/e. Exact duplicates, whose divergence is zero,
    say nothing about the scale; where there is nothing else, β is 1.
    """
    below_diagonal = divergences[np.tri(len(divergences), k=-1, dtype=bool)]
    positive = below_diagonal[below_diagonal > 0]
    return float(1.0 / np.median(positive)) if len(positive) else 1.0


def choose_beta(beta: float | str, divergences: FloatArray) -> float:
    """Return the β that was given, or the automatic one for these divergences."""
    if not isinstance(beta, str):
        return float(beta)
    part = evenly_spaced(len(divergences), _SUBSAMPLE)
    return automatic_beta(divergences[part, part])
