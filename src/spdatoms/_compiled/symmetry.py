"""Σ |K_ij − K_ji| and Σ |K_ij|, tile by tile, so that the transposed reads stay in the cache."""

from __future__ import annotations

from numba import njit

TILE = 16


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def asymmetry_and_size(gram):
    """Return both sums over the lower triangle (and a little above it)."""
    n = gram.shape[0]
    asymmetry, size = 0.0, 0.0
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            right = min(n, left + TILE)
            for i in range(top, min(n, top + TILE)):
                for j in range(left, right):
                    asymmetry += abs(gram[i, j] - gram[j, i])
                    size += abs(gram[i, j])
    return asymmetry, size
