"""The Stein divergence, also known as Jensen–Bregman LogDet divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.base import Divergence
from spdatoms.geometry import batched
from spdatoms.geometry.repair import nearest_spd


@dataclass
class SteinSet:
    """Matrices with the binary exponents between which the pivots of their sums lie."""

    matrices: FloatArray
    exponents: tuple[int, int]

    @classmethod
    def of(cls, X: FloatArray) -> SteinSet:
        """Measure the scale of the matrices."""
        return cls(X, batched.exponent_range(X))

    def common_exponent(self, other: SteinSet) -> int | None:
        """Return an e such that 2^-e brings both sets to where products of pivots do not overflow."""
        joint = (
            min(self.exponents[0], other.exponents[0]),
            max(self.exponents[1], other.exponents[1]),
        )
        return batched.common_exponent(joint, self.matrices.dtype)

    def as_double(self) -> SteinSet:
        """Return the set in double precision."""
        return SteinSet.of(self.matrices.astype(np.float64))


class Stein(Divergence):
    """S(X, Y) = log det((X+Y)/2) − ½ log det X − ½ log det Y.

    With λ the eigenvalues of X⁻¹Y it is Σ log cosh(½ log λ): symmetric, invariant under congruence
    X → AXAᵀ and under inversion. √S is a metric.
    """

    name: ClassVar[str] = "stein"
    # Each of the sums Z_i + C holds half of C, so the fixed point halves the error only.
    relaxation: ClassVar[float] = 2.0

    def prepare(self, X: FloatArray) -> SteinSet:
        """Return the matrices with their scale."""
        return SteinSet.of(X)

    def pairwise(
        self, X: SteinSet, Y: SteinSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return S(X_i, Y_j) for all pairs."""
        exponent = X.common_exponent(Y or X)
        if exponent is not None:
            return _pairwise_by_lanes(X, Y, exponent, n_jobs)
        if X.matrices.dtype != np.float64:
            double = self.pairwise(X.as_double(), Y and Y.as_double(), n_jobs=n_jobs)
            return double.astype(X.matrices.dtype)
        return _pairwise_one_by_one(X.matrices, (Y or X).matrices)

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂S(X_i, Y_i)/∂X_i = (X_i + Y_i)⁻¹ − ½ X_i⁻¹."""
        return batched.inverse(X + Y) - 0.5 * batched.inverse(X)

    def centre(self, Z: SteinSet, weights: Floats, current: Floats) -> Floats:
        """Return (s/2)·P⁻¹ with P = Σ w_i (Z_i + current)⁻¹ and s = Σ w_i.

        It is one step of a fixed point iteration, and the stationary point is its fixed point.
        """
        used = np.flatnonzero(weights)
        scale = 2.0 ** -np.frexp(current.trace())[1]
        P = batched.weighted_inverse_sum(Z.matrices[used], weights[used], current, scale)
        if (weights < 0).any():
            P = nearest_spd(P)
        # P holds the inverse of the scaled sums: P⁻¹ is scale times what is asked for.
        step: Floats = batched.inverse(P[None])[0] * (0.5 * weights.sum() / scale)
        return step


def _pairwise_by_lanes(
    X: SteinSet, Y: SteinSet | None, exponent: int, n_jobs: int | None
) -> FloatArray:
    """S of all pairs. S(X, X) is exactly 0: both logarithms are found by the same operations."""
    half = np.ldexp(1.0, -exponent - 1)
    halves_x = 0.5 * batched.scaled_log_determinant(X.matrices, 2.0 * half)
    halves_y = (
        halves_x if Y is None else 0.5 * batched.scaled_log_determinant(Y.matrices, 2.0 * half)
    )
    return batched.log_determinants(
        X.matrices,
        batched.Lanes((Y or X).matrices, half),
        half,
        halves_x,
        halves_y,
        floor=0.0,
        triangle=Y is None,
        n_jobs=n_jobs,
    )


def _pairwise_one_by_one(X: FloatArray, Y: FloatArray) -> FloatArray:
    """S of all pairs where one set of exponents cannot hold them all: slow, and at any scales."""
    logdet = batched.careful_log_determinant
    halves_x, halves_y = ([0.5 * logdet(A, A) for A in stack] for stack in (X, Y))
    S = np.array([[logdet(A, B) for B in Y] for A in X])
    S -= np.add.outer(halves_x, halves_y)
    return np.asarray(np.maximum(S, 0.0))


def stein_kernel_is_guaranteed(beta: float, n: int) -> bool:
    """Say whether exp(−β·S) is positive definite on *every* set of n×n SPD matrices.

    It is if and only if β is one of ½, 1, 3/2, …, (n−1)/2, or at least (n−1)/2 [1]_. At another β
    the Gram matrix of a particular set may well be positive definite, too: `DivergenceKernel` looks.

    Parameters
    ----------
    beta : float
        The β of the kernel.
    n : int
        The size of the matrices.

    Returns
    -------
    bool

    References
    ----------
    .. [1] S. Sra, Positive definite matrices and the S-divergence, 2016.

    Examples
    --------
    >>> from spdatoms.kernel import stein_kernel_is_guaranteed
    >>> [stein_kernel_is_guaranteed(beta, n=4) for beta in (0.1, 0.5, 1.2, 1.5, 7.3)]
    [False, True, False, True, True]
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    return beta > 0 and (2 * beta >= n - 1 or float(2 * beta).is_integer())
