"""Last steps of pairwise divergences, in place and in one pass."""

from __future__ import annotations

from numba import types

from spdatoms._compiled.translate import reordered, translated

_TILE = 32  # rows and columns that the first-level cache holds


@translated(types.boolean)
@reordered
def scale_and_shift(out, scale, shifts_x, shifts_y):
    """out[i, j] ← max(0, scale·out[i, j] + shifts_x[i] + shifts_y[j]); return whether all are finite."""
    total = 0.0
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(out.shape[1]):
            value = scale * row[j] + (shifts_x[i] + shifts_y[j])
            row[j] = 0.0 if value < 0.0 else value
            # NaN if one of the two is not finite: the entry may be rounded to single precision.
            total += value * 0.0 + row[j] * 0.0
    return total == 0.0


@translated(types.boolean)
def symmetrise(out, scale, shift):
    """out ← max(0, scale·(out + outᵀ) + shift) with a zero diagonal, in place, tile by tile."""
    total = 0.0
    for first in range(0, out.shape[0], _TILE):
        for second in range(0, first + 1, _TILE):
            for i in range(first, min(first + _TILE, out.shape[0])):
                for j in range(second, min(second + _TILE, i)):
                    value = scale * (out[i, j] + out[j, i]) + shift
                    out[i, j] = 0.0 if value < 0.0 else value
                    out[j, i] = out[i, j]
                    total += value * 0.0 + out[i, j] * 0.0
    for i in range(out.shape[0]):
        out[i, i] = 0.0
    return total == 0.0


@translated(types.void)
def mirror(out, start, stop):
    """Copy rows ``start … stop`` right of the diagonal to the columns below it."""
    for i in range(start, stop):
        for j in range(i + 1, stop):
            out[j, i] = out[i, j]
    # In tiles: whole rows would be read once per cache line.
    for tile in range(stop, out.shape[0], _TILE):
        for i in range(start, stop):
            for j in range(tile, min(tile + _TILE, out.shape[0])):
                out[j, i] = out[i, j]
