"""The nearest of many matrices, if a lower bound of the divergence is found sooner than the divergence itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.native import lane_count

#: Queries between two chances to interrupt.
_AT_ONCE = 16
#: What is above a bound by less than this share of it may be level with it.
_ROUNDING = 1e-9
#: To gather more than this share of the matrices takes longer than to compute with all of them.
_MANY = 0.25


def nearest_by_bounds(
    bounds: Floats,
    divergences: Callable[[int, Indices | None], FloatArray],
    k: int,
    dtype: np.dtype[np.floating],
    n_jobs: int | None,
) -> tuple[FloatArray, Indices]:
    """Return the k least divergences of every query, and which they are, the least first.

    ``bounds`` (m, N) are not above the divergences, and ``divergences(i, chosen)`` computes some of query i, or all for
    None. Those with the least bounds come first; of the others only those whose bounds are not above what these have
    shown, or all, if these are many.
    """
    m, N = bounds.shape
    lanes = lane_count(np.float64)
    first = min(N, -(-k // lanes) * lanes)
    values, indices = np.empty((m, k), dtype), np.empty((m, k), np.intp)
    level = 1.0 + max(_ROUNDING, 16.0 * float(np.finfo(dtype).eps))

    def search(queries: slice) -> None:
        for i in range(queries.start, queries.stop):
            chosen = np.sort(np.argpartition(bounds[i], first - 1)[:first])
            found = divergences(i, chosen)
            limit = level * float(np.partition(found, k - 1)[k - 1])
            others = np.flatnonzero(bounds[i] <= limit)
            others = others[~np.isin(others, chosen, assume_unique=True)]
            if len(others) > _MANY * N:
                chosen, found = np.arange(N), divergences(i, None)
            elif len(others):
                chosen = np.concatenate([chosen, others])
                found = np.concatenate([found, divergences(i, others)])
            order = np.lexsort((chosen, found))[:k]
            values[i], indices[i] = found[order], chosen[order]

    run_blocks(search, m, _AT_ONCE, n_jobs)
    return values, indices
