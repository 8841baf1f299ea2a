"""Divergences of pairs, and sums, by kernels that see to the check of the matrices, too (pairs.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, Floats
from spdatoms.geometry.hermitian import as_double, interleaved_real_form, is_complex
from spdatoms.geometry.validation import values_are_trusted
from spdatoms.native import kernel, lane_count

_factored_pairs = kernel("factored_pairs", "qqqddDDqqDI")
_factor_sum = kernel("factor_sum", "qqqddDDD")
_weighted_sum = kernel("weighted_sum", "qqDDD")
#: What the kernel knows, by its numbers.
STEIN, JEFFREY, BURG, CHOLESKY, LOG_CHOLESKY, EUCLIDEAN, _COMPLEX_EUCLIDEAN = range(7)
#: Bits of its findings: a matrix may be unfit; the value may be wrong.
DOUBTFUL, OPEN = 1, 2
#: Beyond this size a batch of matrices takes too much memory.
LARGEST = 512

# Matrices that are converted at a time, and work between two chances to interrupt.
_BLOCK_BYTES, _BLOCK_WORK = 2 << 20, 1_000_000_000


def checked_pairs(
    kind: int, X: Array, Y: Array, factor: float
) -> tuple[Floats, NDArray[np.int64] | None]:
    """Return d(X_i, Y_i) of matrices that nobody has checked, and the findings on each pair, None if there are none.

    X and Y have shape (m, n, n), or (1, n, n) if one serves all. Of complex matrices it is the divergence of real
    forms, over ``factor``.
    """
    count, n = (0 if 0 in (len(X), len(Y)) else max(len(X), len(Y))), X.shape[-1]
    eps = [float(np.finfo(Z.dtype).eps) for Z in (X, Y)]
    tolerance = np.inf if values_are_trusted() else min(eps) ** 0.5
    limits = tolerance, n * max(eps)
    complex_ = is_complex(X) or is_complex(Y)
    if complex_:
        kind = _COMPLEX_EUCLIDEAN if kind == EUCLIDEAN else kind
    size = n if kind in (EUCLIDEAN, _COMPLEX_EUCLIDEAN) or not complex_ else 2 * n

    def operand(Z: Array, part: slice) -> Floats:
        Z = as_double(Z if len(Z) < count else Z[part])
        if kind == _COMPLEX_EUCLIDEAN:
            return np.ascontiguousarray(Z, np.complex128).view(np.float64)
        return np.ascontiguousarray(interleaved_real_form(Z) if size > n else Z)

    values, findings, found = np.empty(count), np.empty(count, np.int64), 0
    for part in _blocks(count, size, X, Y):
        A, B = operand(X, part), operand(Y, part)
        found |= _factored_pairs(
            *(size, part.stop - part.start, kind, *limits, A, B),
            *(len(X) == count, len(Y) == count, values[part], findings[part]),
        )
    if size > n:
        values /= factor
    return values, findings if found else None


def checked_sum(kind: int, X: Array, weights: Floats) -> Floats | None:
    """Return Σ w_i L_i over the Cholesky factors of matrices (m, n, n) that nobody has checked; None if in doubt.

    Of factors with logarithms the diagonal is that of the logarithms. EUCLIDEAN is Σ w_i X_i of trusted matrices, of
    which hardly more than one triangle is read.
    """
    eps, (m, n) = float(np.finfo(X.dtype).eps), X.shape[:2]
    out = np.zeros((n, n))
    for part in _blocks(m, n, X):
        block, own = np.ascontiguousarray(as_double(X[part])), weights[part]
        if kind == EUCLIDEAN:
            _weighted_sum(n, len(block), block, own, out)
        elif _factor_sum(n, len(block), kind, eps**0.5, n * eps, block, own, out):
            return None
    return out


def _blocks(count: int, size: int, *operands: Array) -> Iterator[slice]:
    """Cut a stack into parts that fill lanes: what has to be converted stays in the cache."""
    lanes = lane_count(np.float64)
    plain = all(Z.dtype == np.float64 and Z.flags.c_contiguous for Z in operands)
    most = _BLOCK_WORK // size**3 if plain else _BLOCK_BYTES // (8 * size**2)
    return block_slices(count, max(1, most // lanes) * lanes)
