"""The largest entries of rows."""

from __future__ import annotations

from numba import types

from spdatoms._compiled.scan import LANES, greatest
from spdatoms._compiled.translate import reordered, translated


@translated(types.float64)
@reordered
def row_sizes(rows, sizes):
    """Write max |x_j| of every row x; return the sum of all entries, which is not finite if one of them is not."""
    total = 0.0
    for i in range(rows.shape[0]):
        row, size = rows[i], greatest(rows[i], -1.0)
        for j in range(row.shape[0] - row.shape[0] % LANES, row.shape[0]):
            size = max(size, abs(row[j]))
        for j in range(row.shape[0]):
            total += row[j]
        sizes[i] = size
    return total
