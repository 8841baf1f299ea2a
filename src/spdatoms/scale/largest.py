"""The largest of many values, found part by part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats, Indices


@dataclass(frozen=True)
class Largest:
    """The ``count`` largest values, largest first; of equal ones the earlier.

    The sum of two is the largest of both: the values on the left come earlier.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The values, k ≤ count.
    indices : ndarray of shape (k,)
        Where they are in the data.
    labels : ndarray of shape (k,)
        The labels that came with them, zero if none did.
    count : int
        How many values are kept.
    """

    values: Floats
    indices: Indices
    labels: Indices
    count: int

    @classmethod
    def of(
        cls, count: int, values: Floats, indices: Indices, labels: Indices | None = None
    ) -> Largest:
        """Return the ``count`` largest of these values."""
        order = np.argsort(-values, kind="stable")[:count]
        labels = np.zeros(len(values), np.intp) if labels is None else labels
        return cls(values[order], indices[order], labels[order], count)

    def __add__(self, later: Largest) -> Largest:
        return Largest.of(
            self.count,
            np.concatenate([self.values, later.values]),
            np.concatenate([self.indices, later.indices]),
            np.concatenate([self.labels, later.labels]),
        )
