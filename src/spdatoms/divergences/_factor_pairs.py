"""Functions of all pairs of Cholesky factors, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.base import PreparedSet
from spdatoms.geometry.spectral import cholesky

#: Bytes of products of factors that a thread holds at a time.
_BLOCK_BYTES = 4 << 20


@dataclass
class FactorSet(PreparedSet):
    """Cholesky factors of the matrices, in double precision."""

    factors: Floats


def factors_of(X: FloatArray) -> FactorSet:
    """Return matrices with their Cholesky factors."""
    return FactorSet(X, cholesky(X.astype(np.float64)))


def of_pairs(
    function: Callable[[Floats, Floats], Floats],
    X: FactorSet,
    Y: FactorSet | None,
    n_jobs: int | None,
) -> FloatArray:
    """Return function(L_i, M_j) for the factors of all pairs; the function takes blocks (b, 1, …) and (1, N, …)."""
    other = X if Y is None else Y
    out = np.empty((len(X), len(other)))

    def compute(rows: slice) -> None:
        out[rows] = function(X.factors[rows, None], other.factors[None])

    run_blocks(compute, len(X), max(1, _BLOCK_BYTES // (8 * X.n**2 * len(other))), n_jobs)
    if Y is None:
        np.fill_diagonal(out, 0.0)
    return out.astype(X.matrices.dtype, copy=False)
