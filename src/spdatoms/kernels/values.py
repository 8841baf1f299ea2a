"""exp(−β·d) of divergences d."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.native import kernel

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
