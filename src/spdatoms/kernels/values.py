"""exp(−β·d) of divergences d."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats


def kernel_values(divergences: FloatArray, beta: float) -> FloatArray:
    """Return exp(−β·d) in double precision, with zero in place of numbers too small to compute with quickly."""
    return kernel_in_place(np.array(divergences, np.float64), beta)


def kernel_in_place(divergences: Floats, beta: float) -> Floats:
    """Replace d by exp(−β·d): as `kernel_values`, but without the memory of a copy."""
    divergences *= -beta
    np.exp(divergences, out=divergences)
    tiny = np.finfo(np.float64).tiny
    if divergences.size and divergences.min() < tiny:
        divergences[divergences < tiny] = 0.0
    return divergences
