"""Functions of all pairs of Cholesky factors, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.divergences._products import rounded
from spdatoms.divergences.base import PreparedSet
from spdatoms.geometry.hermitian import as_double, is_complex, real_form, real_type
from spdatoms.geometry.spectral import LARGEST_IN_LANES, cholesky, in_lanes
from spdatoms.native.elementwise import mirror

#: Bytes of products of factors that a thread holds at a time.
_BLOCK_BYTES = 4 << 20


@dataclass
class FactorSet(PreparedSet):
    """Cholesky factors of the matrices, in double precision."""

    factors: Floats


def factors_of(X: FloatArray) -> FactorSet:
    """Return matrices with their Cholesky factors."""
    return FactorSet(X, cholesky(X.astype(np.float64)))


def near_one(L: Floats) -> tuple[Floats, Indices]:
    """Return ``2^-k L`` and k, (..., 1, 1): products and quotients of factors near one do not leave the range."""
    exponents = np.frexp(np.abs(L).max(axis=(-2, -1), keepdims=True))[1]
    return np.ldexp(L, -exponents), exponents


def of_each_pair(
    kind: int,
    careful: Callable[[Floats, Floats], Floats],
    by_values: Callable[[Floats, Floats], Floats],
    X: FloatArray,
    Y: FloatArray,
    factor: float,
) -> FloatArray:
    """Return what the kernel of this number, or ``careful(A, B)``, gives for pairs; zero for equal ones.

    Of large or complex matrices ``by_values(A, B)`` finds it sooner, by LAPACK's eigenvalues or singular values alone;
    it is NaN where they have too few digits. Real forms of complex matrices give it times the factor.
    """
    A, B = as_double(X), as_double(Y)
    if A.shape[-1] > LARGEST_IN_LANES or is_complex(A):
        values = by_values(A, B)
        open_ = np.isnan(values)
        if open_.any():
            doubled = factor if is_complex(A) else 1.0
            values[open_] = careful(real_form(A[open_]), real_form(B[open_])) / doubled
    else:
        values = in_lanes(kind, careful, B, A)
    values[(A == B).all(axis=(-2, -1))] = 0.0
    return rounded(values, real_type(X.dtype))


def of_pairs(
    function: Callable[[Floats, Floats], Floats],
    X: FactorSet,
    Y: FactorSet | None,
    n_jobs: int | None,
) -> FloatArray:
    """Return function(L_i, M_j) for the factors of all pairs, and zero where they are equal.

    The function is symmetric, and takes blocks (b, 1, …) and (1, N, …).
    """
    other = X if Y is None else Y
    out = np.empty((len(X), len(other)))

    def compute(rows: slice) -> None:
        first = rows.start if Y is None else 0
        L, M = X.factors[rows, None], other.factors[None, first:]
        equal = (L == M).all(axis=(-2, -1))
        out[rows, first:] = np.where(equal, 0.0, function(L, M))
        if Y is None:
            mirror(out, rows.start, rows.stop)

    run_blocks(compute, len(X), max(1, _BLOCK_BYTES // (8 * X.n**2 * len(other))), n_jobs)
    return rounded(out, X.matrices.dtype)
