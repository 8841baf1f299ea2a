"""The codes of a part, packed: what is kept of them between two passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats
from spdatoms.divergences.sparse_pairs import columns_of_entries


@dataclass(frozen=True)
class Coded:
    """What is kept of a part between two passes: the codes Y, exactly, and their losses.

    Workers hold the codes of all samples. So one bit per entry marks where Y ≠ 0; a sparse matrix would
    take 32 bits per non-zero.

    Attributes
    ----------
    values : ndarray
        The non-zeros of Y, column by column.
    pattern : ndarray of uint8
        Where they are: one bit per entry, column by column.
    losses : ndarray of shape (m,)
        f(y_i) of every sample.
    n_atoms : int
        The length of a code.
    """

    values: Floats
    pattern: NDArray[np.uint8]
    losses: Floats
    n_atoms: int

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which Dask knows how much memory its workers use."""
        return self.values.nbytes + self.pattern.nbytes + self.losses.nbytes

    @classmethod
    def of(cls, Y: scipy.sparse.csc_array, losses: Floats) -> Coded:
        """Pack codes that are given by columns."""
        used = np.zeros(Y.shape[::-1], dtype=bool)
        used[columns_of_entries(Y), Y.indices] = True
        return cls(Y.data, np.packbits(used), losses, Y.shape[1])

    @classmethod
    def uncoded(cls, Y: scipy.sparse.csr_array) -> Coded:
        """Pack codes from which a coding is to start; their losses are not known."""
        return cls.of(Y.tocsc(), np.full(Y.shape[0], np.inf))

    def columns(self) -> scipy.sparse.csc_array:
        """Return Y."""
        shape = len(self.losses), self.n_atoms
        used = np.unpackbits(self.pattern, count=shape[0] * shape[1]).reshape(shape[::-1])
        atoms, samples = used.nonzero()
        starts = np.searchsorted(atoms, np.arange(self.n_atoms + 1))
        return scipy.sparse.csc_array((self.values, samples, starts), shape=shape)
