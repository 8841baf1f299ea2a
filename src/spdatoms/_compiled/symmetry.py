"""max_ij |K_ij − K_ji|, tile by tile, so that the transposed reads stay in the cache."""

from __future__ import annotations

from numba import njit

TILE = 32


@njit(cache=True, nogil=True)
def largest_asymmetry(gram):
    """Return max |K_ij − K_ji|, or NaN if an entry is not finite."""
    n = gram.shape[0]
    largest, total = 0.0, 0.0
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(n, top + TILE)):
                for j in range(left, min(n, left + TILE)):
                    difference = abs(gram[i, j] - gram[j, i])
                    total += difference  # NaN and ∞ − ∞ stay in a sum, a comparison loses them
                    if difference > largest:
                        largest = difference
    for i in range(n):
        total += gram[i, i] - gram[i, i]
    return largest if total < float("inf") else total * 0.0
