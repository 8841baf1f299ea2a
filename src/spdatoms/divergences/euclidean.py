"""The squared Euclidean (Frobenius) distance, which ignores the geometry of the cone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import HalfVectorSet, SquaredDistance, matrix_of
from spdatoms.divergences.checked_pairs import EUCLIDEAN
from spdatoms.geometry.half_vectors import from_half_vectors, half_vectors
from spdatoms.geometry.repair import nearest_spd


class Euclidean(SquaredDistance):
    """The squared Euclidean distance of the entries, for comparison.

    d(X, Y) = ‖X − Y‖²_F.

    It is defined for semidefinite matrices, too. The kernel exp(−β·d) is that of Gauss, positive definite at every β.
    """

    name: ClassVar[str] = "euclid"
    pair_kernel: ClassVar[int | None] = EUCLIDEAN
    closed_form: ClassVar[bool] = True
    semidefinite: ClassVar[bool] = True

    def prepare(self, X: FloatArray) -> HalfVectorSet:
        """Return the half-vectors of the matrices."""
        n = X.shape[-1]
        half = np.empty((len(X), n * (n + 1) // 2))
        half_vectors(X, half)
        return HalfVectorSet(X, half)

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return the matrices of half-vectors."""
        return from_half_vectors(slopes, X.shape[-1], weighted=True)

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return the matrix of a half-vector."""
        C = matrix_of(vector, len(current))
        return C if definite else np.asarray(nearest_spd(C))

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return True: it is a Gaussian kernel."""
        return beta > 0
