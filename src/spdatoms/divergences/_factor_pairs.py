"""Squared distances that are functions of Cholesky factors: all pairs of them, block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.divergences._products import rounded
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.geometry.hermitian import as_double, is_complex, real_form, real_type
from spdatoms.geometry.spectral import LARGEST_IN_LANES, cholesky, in_lanes
from spdatoms.native.elementwise import mirror

#: Bytes of products of factors that a thread holds at a time.
_BLOCK_BYTES = 4 << 20


@dataclass
class FactorSet(PreparedSet):
    """Cholesky factors of the matrices, in double precision."""

    factors: Floats


class FactoredDistance(Divergence):
    """A squared distance that is a function of the Cholesky factors of two matrices."""

    complex_pairs_from: ClassVar[float] = LARGEST_IN_LANES // 2 + 1
    #: The number of the kernel for pairs of small matrices.
    _kind: ClassVar[int]

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> FactorSet:
        """Return the Cholesky factors."""
        return FactorSet(X, cholesky(X.astype(np.float64)))

    @abstractmethod
    def _of_factors(self, L: Floats, M: Floats) -> Floats:
        """Return the squared distances of pairs of factors: stacks, or blocks (b, 1, …) and (1, N, …)."""

    @abstractmethod
    def _by_values(self, A: Floats, B: Floats) -> Floats:
        """Return those of A_i and B_i by LAPACK's eigenvalues or singular values alone, NaN if they have few digits."""

    def pairwise(
        self, X: FactorSet, Y: FactorSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the squared distances of all pairs, and zero where factors are equal."""
        other = X if Y is None else Y
        out = np.empty((len(X), len(other)))

        def compute(rows: slice) -> None:
            first = rows.start if Y is None else 0
            L, M = X.factors[rows, None], other.factors[None, first:]
            equal = (L == M).all(axis=(-2, -1))
            out[rows, first:] = np.where(equal, 0.0, self._of_factors(L, M))
            if Y is None:
                mirror(out, rows.start, rows.stop)

        run_blocks(compute, len(X), max(1, _BLOCK_BYTES // (8 * X.n**2 * len(other))), n_jobs)
        return rounded(out, X.matrices.dtype)

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return the squared distances of pairs."""
        factor = self.real_form_factor
        return of_each_pair(self._kind, self._careful, self._by_values, X, Y, factor)

    def _careful(self, A: Floats, B: Floats) -> Floats:
        return self._of_factors(cholesky(A), cholesky(B))


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
