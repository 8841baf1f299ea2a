"""K + μI − νI ≻ 0: the margin that keeps the Gram matrix of a dictionary from being indefinite.

With c = K₋ᵣ⁻¹ k_r, the row k_r of an atom keeps K positive definite if and only if the Schur complement
1 − k_rᵀ c is positive, provided that the rest of K is. So testing and replacing an atom takes O(N²).
"""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats

#: The least Schur complement of an atom in K + σI: what rounding cannot reach.
LEAST_SCHUR = 1e-5


class GramMargin:
    """The inverse M of K + σI, kept while rows of K are replaced.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K, with ones on its diagonal.
    shift : float
        σ = μ − ν: the ridge μ less the margin ν that every eigenvalue of K + μI is to keep.
    least : float
        The least Schur complement that is allowed, well above rounding.
    """

    def __init__(self, gram: Floats, shift: float, least: float) -> None:
        self.shift, self.least = shift, least
        L = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
        root = np.linalg.inv(L)
        self.inverse: Floats = root.T @ root

    def replaced(self, r: int, k: Floats) -> bool:
        """Make k the row and the column of atom r if K then keeps its margin; return whether it does."""
        k = k.copy()
        k[r] = 0.0
        M = self.inverse
        others = M - np.outer(M[r], M[r] / M[r, r])
        others[r] = others[:, r] = 0.0
        c = others @ k
        schur = float(1.0 + self.shift - k @ c)
        if schur < self.least:
            return False
        c[r] = -1.0
        self.inverse = others + np.outer(c, c / schur)
        return True


def has_margin(gram: Floats, shift: float, least: float) -> bool:
    """Return whether K + σI has a Cholesky factor, and no squared pivot (a Schur complement) below ``least``."""
    try:
        L = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return False
    return bool(L.diagonal().min() ** 2 >= least)
