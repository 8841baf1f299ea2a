"""Sums of functions of many matrices in the frame of one, in a pass that keeps nothing of them (spectral.cpp)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.spectral import LARGEST_IN_LANES, transpose
from spdatoms.native import kernel

_spectral_sum = kernel("spectral_sum", "qqqdDDDdDDI")
# Matrices between two chances to interrupt; those in another precision are converted.
_BLOCK_BYTES = 4 << 20


def whitened_sum(
    kind: int,
    function: Callable[[Floats], Floats],
    X: FloatArray,
    weights: Floats,
    base: Floats,
    exponent: float = 0.0,
    least: float = np.nan,
) -> tuple[Floats, Floats]:
    """Return Σ w_i f(L⁻¹ X_i L⁻ᵀ), where ``L Lᵀ`` is the base, and the norms ‖f(…)‖_F, if f is the logarithm.

    The weights are divided by these norms, or by ``least`` where it is greater, unless it is NaN. The kernel has a
    number for f; what is large, or would lose digits there, ``function(X)`` answers.
    """
    if not weights.all():  # in k-means those of other clusters are zero
        used = np.flatnonzero(weights)
        norms = np.zeros(len(X))
        total, norms[used] = whitened_sum(
            kind, function, X[used], weights[used], base, exponent, least
        )
        return total, norms
    count, n = X.shape[:2]
    total, norms = np.zeros((n, n)), np.zeros(count)
    for part in block_slices(count, max(1, _BLOCK_BYTES // (8 * n * n))):
        block = np.ascontiguousarray(X[part], np.float64)
        own = np.ascontiguousarray(weights[part], np.float64)
        rest = np.arange(len(block))
        if n <= LARGEST_IN_LANES:
            open_, squares, lower = np.empty(len(block), np.int64), norms[part], np.zeros((n, n))
            arguments = (n, len(block), kind, exponent, base, block, own, least)
            left_out = _spectral_sum(*arguments, lower, squares, open_)
            np.sqrt(squares, out=squares)
            total += lower + transpose(np.tril(lower, -1))
            rest = np.flatnonzero(open_) if left_out else rest[:0]
        if len(rest):
            values = function(block[rest])
            norms[part][rest] = np.linalg.norm(values, axis=(-2, -1))
            shares = own[rest]
            if not np.isnan(least):
                shares = shares / np.maximum(norms[part][rest], least)
            total += np.tensordot(shares, values, axes=1)
    return total, norms
