"""Divergences of pairs by one kernel that sees to the check of the matrices, too (pairs.cpp)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, Floats
from spdatoms.geometry.hermitian import as_double, interleaved_real_form, is_complex
from spdatoms.native import kernel, lane_count

_factored_pairs = kernel("factored_pairs", "qqqddDDqqDI")
#: What the kernel knows, by its numbers.
STEIN, JEFFREY, BURG, CHOLESKY, LOG_CHOLESKY, EUCLIDEAN, _COMPLEX_EUCLIDEAN = range(7)
#: Bits of its findings: a matrix may be unfit; the value may be wrong.
DOUBTFUL, OPEN = 1, 2
#: Beyond this size a batch of matrices takes too much memory.
LARGEST = 512

# Matrices that are converted at a time, and work between two chances to interrupt.
_BLOCK_BYTES, _BLOCK_WORK = 2 << 20, 1_000_000_000


def checked_pairs(kind: int, X: Array, Y: Array, factor: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return d(X_i, Y_i) of matrices that nobody has checked, and what the kernel has found about each pair.

    X and Y have shape (m, n, n), or (1, n, n) if one serves all. Of complex matrices it is the divergence of real
    forms, over ``factor``.
    """
    count, n = (0 if 0 in (len(X), len(Y)) else max(len(X), len(Y))), X.shape[-1]
    eps = [float(np.finfo(Z.dtype).eps) for Z in (X, Y)]
    limits = min(eps) ** 0.5, n * max(eps)
    complex_ = is_complex(X) or is_complex(Y)
    if complex_:
        kind = _COMPLEX_EUCLIDEAN if kind == EUCLIDEAN else kind
    size = n if kind in (EUCLIDEAN, _COMPLEX_EUCLIDEAN) or not complex_ else 2 * n

    def operand(Z: Array, part: slice) -> Floats:
        Z = as_double(Z if len(Z) < count else Z[part])
        if kind == _COMPLEX_EUCLIDEAN:
            return np.ascontiguousarray(Z, np.complex128).view(np.float64)
        return np.ascontiguousarray(interleaved_real_form(Z) if size > n else Z)

    values, findings = np.empty(count), np.empty(count, np.int64)
    lanes = lane_count(np.float64)
    plain = X.dtype == Y.dtype == np.float64 and X.flags.c_contiguous and Y.flags.c_contiguous
    most = _BLOCK_WORK // size**3 if plain else _BLOCK_BYTES // (8 * size**2)
    for part in block_slices(count, max(1, most // lanes) * lanes):
        A, B = operand(X, part), operand(Y, part)
        _factored_pairs(
            *(size, part.stop - part.start, kind, *limits, A, B),
            *(len(X) == count, len(Y) == count, values[part], findings[part]),
        )
    if size > n:
        values /= factor
    return values, findings
