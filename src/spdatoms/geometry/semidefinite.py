"""Is a symmetric matrix positive semidefinite, but for rounding?"""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray


def eigenvalue_tolerance(gram: FloatArray) -> float:
    """Return how negative, relative to the largest, an eigenvalue may be by rounding alone."""
    return 8.0 * len(gram) * float(np.finfo(gram.dtype).eps)


def is_semidefinite(gram: FloatArray) -> bool:
    """Return whether K = Kᵀ, and K + εI has a Cholesky factor with an ε that rounding explains."""
    scale = float(np.abs(gram).max(initial=0.0))
    if not np.allclose(gram, gram.T, rtol=0.0, atol=eigenvalue_tolerance(gram) * scale):
        return False
    if not len(gram) or scale == 0.0:
        return True
    # In units of its greatest entry, so that nothing overflows; λ_max is at most the trace.
    unit = np.asarray(gram, np.float64) / scale
    unit.flat[:: len(unit) + 1] += eigenvalue_tolerance(gram) * len(unit)
    try:
        np.linalg.cholesky(unit)
    except np.linalg.LinAlgError:
        return False
    return True
