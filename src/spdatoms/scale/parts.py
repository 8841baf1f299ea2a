"""Parts of the data, the reproducible unit of work, and the tree along which their terms are added."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray

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


def added(terms: Sequence[Any]) -> Any:
    """Return the sum of arrays or numbers: neighbours are added first, then neighbours of these sums.

    So 2^k neighbours that begin at a multiple of 2^k may be added elsewhere, and the sum is the same to
    the last bit. The rounding error grows only with the logarithm of the number of terms.
    """
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + list(terms[len(pairs) * 2 :])
    return terms[0]


def block_digest(X: FloatArray) -> bytes:
    """Return a digest of some of the data."""
    return hashlib.sha256(X.tobytes()).digest()
