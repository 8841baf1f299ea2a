"""Files that are replaced all at once, arrays in temporary files, and digests of arrays."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

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


@contextmanager
def replacing(path: Path, part: str = ".part") -> Iterator[BinaryIO]:
    """Yield a file to write to, so that at every moment the path holds the old content or the new.

    The file lies beside the path, with ``part`` added to its name, and is renamed once it is on the disk.
    If the process is killed before that, the old file stays as it was.
    """
    path = Path(os.path.realpath(path))  # follow links, as other ways to write do
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{quoted(path)} cannot be written: its folder does not exist; make it first."
        )
    neighbour = path.with_name(f"{path.name}{part}")
    try:
        with open(neighbour, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(neighbour, path)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def replace_file(path: Path, content: memoryview) -> None:
    """Write a file so that at every moment the path holds the old content or the new."""
    with replacing(path) as file:
        file.write(content)


def _sync_directory(directory: Path) -> None:
    """Let the new name survive a power failure, too, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
