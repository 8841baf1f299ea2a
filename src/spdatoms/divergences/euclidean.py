"""The squared Euclidean (Frobenius) distance, which ignores the geometry of the cone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.checked_pairs import EUCLIDEAN
from spdatoms.divergences.squared_distance import HalfVectorDistance
from spdatoms.geometry.half_vectors import from_half_vectors, half_vectors, matrix_of
from spdatoms.geometry.repair import nearest_spd


class Euclidean(HalfVectorDistance):
    """The squared Euclidean distance of the entries, for comparison.

    d(X, Y) = ‖X − Y‖²_F.

    It is defined for semidefinite matrices, too. The kernel exp(−β·d) is that of Gauss, positive definite at every β.
    """

    name: ClassVar[str] = "euclid"
    pair_kernel: ClassVar[int | None] = EUCLIDEAN
    semidefinite: ClassVar[bool] = True

    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of the matrices."""
        half_vectors(X, out)

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return the matrices of half-vectors."""
        return from_half_vectors(slopes, X.shape[-1], weighted=True)

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return the matrix of a half-vector."""
        C = matrix_of(vector, len(current))
        return C if definite else np.asarray(nearest_spd(C))
