"""Names of files in errors, arrays in temporary files, and digests of arrays; `writing` writes what stays."""

from __future__ import annotations

import hashlib
import os
import tempfile

import numpy as np
from numpy.typing import DTypeLike

from spdatoms._utils.typing import FloatArray


def block_digest(X: FloatArray) -> bytes:
    """Return a digest of some of the data."""
    return hashlib.sha256(X.tobytes()).digest()


def quoted(path: str | os.PathLike[str]) -> str:
    """Return a path as an error shows it."""
    return repr(os.fspath(path))


def scratch_array(shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
    """Return an array that lies in a temporary file, which goes when the array does."""
    with tempfile.TemporaryFile(prefix="spdatoms-") as file:
        return np.memmap(file, dtype, "w+", shape=shape)
