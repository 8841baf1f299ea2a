"""The squared distance of inverses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.power_euclidean import PowerEuclidean
from spdatoms.divergences.squared_distance import matrix_of
from spdatoms.geometry.batched import inverse, inverse_half_vectors
from spdatoms.geometry.half_vectors import from_half_vectors
from spdatoms.geometry.spectral import symmetric_part


class Harmonic(PowerEuclidean):
    """The squared distance of inverses.

    d(X, Y) = ‖X⁻¹ − Y⁻¹‖²_F, whose mean is the harmonic one.

    The kernel exp(−β·d) is that of Gauss, positive definite at every β.
    """

    name: ClassVar[str] = "harmonic"
    complex_pairs_from: ClassVar[float] = np.inf

    def __init__(self) -> None:
        super().__init__(-1.0)

    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of X^p / p, that is −X⁻¹."""
        inverse_half_vectors(X, out, first=first)
        np.negative(out, out=out)

    def from_vector(self, vector: Floats, current: Floats, definite: bool = True) -> Floats:
        """Return −V⁻¹ for the matrix V of a half-vector."""
        if not definite:
            return super().from_vector(vector, current, definite)
        return np.asarray(inverse(matrix_of(-vector, len(current))[None])[0])

    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return X_i⁻¹ V_i X_i⁻¹, V_i being the slopes."""
        inverses = inverse(X)
        V = from_half_vectors(slopes, X.shape[-1], weighted=True)
        return symmetric_part(inverses @ V @ inverses)
