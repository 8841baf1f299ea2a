"""Σ_j w_ij G(X_i, Y_j) over all pairs of two sets, for any gradient G, block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.threads import block_slices, run_blocks
from spdatoms._utils.typing import Array, Floats
from spdatoms.geometry.hermitian import as_double

#: Bytes of gradients that a thread holds at a time.
_BLOCK_BYTES = 4 << 20


def summed_gradients(
    gradient: Callable[[Array, Array], Array],
    X: Array,
    Y: Array,
    weights: Floats,
    n_jobs: int | None = None,
) -> Array:
    """Return Σ_j w_ij gradient(X_i, Y_j), (m, n, n); pairs without a weight are not touched.

    The gradient takes one matrix X_i and a stack Y, and returns a stack.
    """
    X, Y = as_double(X), as_double(Y)
    sums = np.zeros(X.shape, np.result_type(X, Y))
    at_once = max(1, _BLOCK_BYTES // max(1, Y[:1].nbytes))

    def of_rows(rows: slice) -> None:
        for i in range(rows.start, rows.stop):
            used = np.flatnonzero(weights[i])
            for part in block_slices(len(used), at_once):
                j = used[part]
                sums[i] += np.tensordot(weights[i, j], gradient(X[i], Y[j]), 1)

    run_blocks(of_rows, len(X), max(1, at_once // max(1, len(Y))), n_jobs)
    return sums
