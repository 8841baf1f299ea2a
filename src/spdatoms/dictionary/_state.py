"""A dictionary between two iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import Floats


@dataclass(frozen=True)
class State:
    """A dictionary between two iterations.

    Attributes
    ----------
    atoms : ndarray of shape (N, n, n)
        D.
    images : ndarray of shape (N, N) or (N, r)
        What the kernel knows of the atoms: K, without any ridge, or their features φ(D).
    codes : csr_array of shape (m, N)
        Y, from which the next coding starts; for a stream, `StreamedCodes`.
    objective : tuple of float
        F after every half-step so far.
    """

    atoms: Floats
    images: Floats
    codes: Any
    objective: tuple[float, ...]

    @property
    def n_iter(self) -> int:
        """The number of iterations so far, of two half-steps each."""
        return len(self.objective) // 2

    @property
    def nonzeros(self) -> float:
        """The mean number of non-zeros of a code."""
        return float(self.codes.nnz / self.codes.shape[0])

    def converged(self, tol: float) -> bool:
        """Return whether the last iteration lowered F by no more than this fraction of it."""
        if self.n_iter < 2:
            return False
        before, now = self.objective[-3], self.objective[-1]
        # Perfect codes have F = 0, up to the rounding of a sum of m ones.
        rounding = np.finfo(np.float64).eps * self.codes.shape[0]
        return bool(before - now <= tol * abs(now) + rounding)

    @classmethod
    def first(cls, atoms: Floats, images: Floats, n_samples: int) -> State:
        """Return the dictionary to start from, with codes of zeros."""
        return cls(atoms, images, scipy.sparse.csr_array((n_samples, len(atoms))), ())
