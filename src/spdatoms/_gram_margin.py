"""K + μI − νI ≻ 0: how far the Gram matrix of a dictionary stays from being indefinite.

With c = K₋ᵣ⁻¹ k_r, the row k_r of an atom keeps K positive definite if and only if the Schur complement
1 − k_rᵀ c is positive, given that the rest of K is. So an atom is tested and replaced in O(N²).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class GramMargin:
    """The inverse M of K + σI, kept while rows of K are replaced.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K, with ones on its diagonal.
    shift : float
        σ = μ − ν: the ridge μ less the margin ν that every eigenvalue of K + μI is to keep.
    least : float
        The least Schur complement that is allowed, so that rounding has no say.
    """

    def __init__(self, gram: Floats, shift: float, least: float) -> None:
        self.shift, self.least = shift, least
        L = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
        root = np.linalg.inv(L)
        self.inverse: Floats = root.T @ root

    def allows(self, r: int, k: Floats) -> bool:
        """Say whether K keeps its margin with the row and the column k for atom r."""
        return self._without(r, k)[2] >= self.least

    def replace(self, r: int, k: Floats) -> None:
        """Make k the row and the column of atom r."""
        others, c, schur = self._without(r, k)
        c[r] = -1.0
        self.inverse = others + np.outer(c, c / schur)

    def _without(self, r: int, k: Floats) -> tuple[Floats, Floats, float]:
        """Return K₋ᵣ⁻¹ (with zeros for r), c = K₋ᵣ⁻¹ k and the Schur complement of k."""
        M = self.inverse
        others = M - np.outer(M[r], M[r] / M[r, r])
        others[r] = others[:, r] = 0.0
        c = others @ k
        return others, c, float(1.0 + self.shift - k @ c)
