"""Last steps of pairwise divergences, in place and in one pass."""

from __future__ import annotations

from numba import types

from spdatoms._compiled.translate import reordered, translated

_TILE = 32  # rows and columns that the first-level cache holds
_CANCELLED = 1e-2  # the least share of a sum that may be left: two digits may cancel
_LEAST, _GREATEST = 1e-280, 1e300  # where no part of a sum of squares has left the range


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


@translated(types.void)
def settle_squares(out, squares_x, squares_y, X, Y):
    """out[i, j] ← ‖X_i − Y_j‖², given the products of rows that have these squares once both sets are shifted alike.

    Where ‖x‖² + ‖y‖² − 2 x·y cancels or is near the ends of the range, the rows are subtracted.
    """
    for i in range(out.shape[0]):
        row = out[i]
        for first in range(0, out.shape[1], _TILE):
            last = min(first + _TILE, out.shape[1])
            doubtful = 0
            for j in range(first, last):  # without branches, for the sake of vectors
                total = squares_x[i] + squares_y[j]
                value = total - 2.0 * row[j]
                row[j] = value if max(_CANCELLED * total, _LEAST) <= value <= _GREATEST else -1.0
                doubtful += 1 if row[j] < 0.0 else 0
            for j in range(first, last if doubtful > 0 else first):
                if row[j] < 0.0:
                    row[j] = _squared_difference(X[i], Y[j])


def _squared_difference(x, y):
    """‖x − y‖². Zero is for equal rows alone: the least of all numbers stands for what is less."""
    total = 0.0
    for k in range(x.shape[0]):
        difference = x[k] - y[k]
        total += difference * difference
        if difference != 0.0:
            total = max(total, 5e-324)
    return total


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
