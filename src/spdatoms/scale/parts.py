"""Parts of the data, the reproducible unit of work, and terms that are added along a tree of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.geometry.hermitian import as_double

#: Kernel values of a part, and floating point operations to compute them: small enough for caches and
#: threads, large enough to fill the lanes of sparse columns.
_PART_ENTRIES = 1 << 18
_PART_FLOPS = 3e10
#: Samples per atom at least, so that the N² entries of YᵀY are worth computing.
_PART_SAMPLES_PER_ATOM = 2
#: Bytes of its samples at most.
_PART_BYTES = 1 << 25
#: Up to this many parts are of equal size. A power of two.
_FEW_PARTS = 8


def part_slices(m: int, n: int, n_atoms: int) -> list[slice]:
    """Cut m samples of size n×n into parts for work with ``n_atoms`` atoms.

    If there are few parts, they are 2^k parts of equal size, so that threads have equal shares. If there
    are many, each has 2^k samples. The chunks of files mostly have, too, and are then read only once.
    """
    by_flops, by_bytes = _PART_FLOPS / (n_atoms * n**3 / 3), _PART_BYTES / (8 * n**2)
    by_entries = max(_PART_ENTRIES / n_atoms, _PART_SAMPLES_PER_ATOM * n_atoms)
    size = max(1, int(min(by_entries, by_flops, by_bytes)))
    count = -(-m // size)
    if count > _FEW_PARTS:
        return list(block_slices(m, 1 << (size.bit_length() - 1)))
    edges = np.linspace(0, m, min(m, 1 << (count - 1).bit_length()) + 1).astype(np.intp).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(frozen=True)
class Span:
    """Consecutive parts of the data that one task reads together."""

    parts: tuple[slice, ...]

    @property
    def rows(self) -> slice:
        """The rows of all its matrices."""
        return slice(self.parts[0].start, self.parts[-1].stop)

    def split(self, X: FloatArray) -> list[FloatArray]:
        """Return the matrices of each part, in the form that kernels need."""
        start = self.rows.start
        return [
            np.require(as_double(X[part.start - start : part.stop - start]), None, ["C", "A"])
            for part in self.parts
        ]


def added(terms: Sequence[Any]) -> Any:
    """Return the sum of arrays or numbers: neighbours are added first, then neighbours of these sums.

    So 2^k neighbours that begin at a multiple of 2^k may be added elsewhere, and the sum is the same to
    the last bit. The rounding error grows only with the logarithm of the number of terms.
    """
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + list(terms[len(pairs) * 2 :])
    return terms[0]


class SumTuple(tuple[Any, ...]):
    """A tuple whose sum with another is taken item by item."""

    __slots__ = ()

    def __add__(self, other: Any) -> SumTuple:
        return SumTuple(a + b for a, b in zip(self, other, strict=True))


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


def block_digest(X: FloatArray) -> bytes:
    """Return a digest of some of the data."""
    return hashlib.sha256(X.tobytes()).digest()
