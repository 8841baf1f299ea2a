"""Last steps of pairwise divergences, in place and in one pass."""

from spdatoms._compiled.jit import kept


@kept
def scale_and_shift(out, scale, shifts_x, shifts_y):
    """out[i, j] ← max(0, scale·out[i, j] + shifts_x[i] + shifts_y[j]); return whether all are finite."""
    finite = True
    for i in range(out.shape[0]):
        total = out.dtype.type(0)
        for j in range(out.shape[1]):
            value = scale * out[i, j] + (shifts_x[i] + shifts_y[j])
            total += value * 0  # NaN if the value is not finite
            out[i, j] = 0 if value < 0 else value
        finite = finite and total == 0
    return finite


@kept
def symmetrise(out, scale, shift):
    """out ← max(0, scale·(out + outᵀ) + shift) with a zero diagonal, in place, tile by tile."""
    tile = 32
    finite = True
    for first in range(0, out.shape[0], tile):
        for second in range(0, first + 1, tile):
            for i in range(first, min(first + tile, out.shape[0])):
                for j in range(second, min(second + tile, i)):
                    value = scale * (out[i, j] + out[j, i]) + shift
                    finite = finite and value - value == 0
                    out[i, j] = out[j, i] = 0 if value < 0 else value
    for i in range(out.shape[0]):
        out[i, i] = 0
    return finite


@kept
def mirror(out, start, stop):
    """Copy rows ``start … stop`` right of the diagonal to the columns below it."""
    for i in range(start, stop):
        for j in range(i + 1, stop):
            out[j, i] = out[i, j]
    # In tiles that the first-level cache holds: whole rows would be read once per cache line.
    for tile in range(stop, out.shape[0], 32):
        for i in range(start, stop):
            for j in range(tile, min(tile + 32, out.shape[0])):
                out[j, i] = out[i, j]
