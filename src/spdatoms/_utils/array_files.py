"""Read arrays from .npy, .npz, .mat, HDF5 and Zarr files; an error says what is wrong with a file.

A file may be damaged in any way. Whatever its reader makes of that (an exception of any kind, a crash, an
endless loop, a demand for more memory than there is) becomes a `ValueError` whose message follows
the name of the file.
"""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from spdatoms._utils import reading_child, untrusted_files
from spdatoms._utils.typing import Array
from spdatoms._utils.untrusted_files import RefusedError
from spdatoms._utils.zarr_metadata import stored_bytes

#: How an .npy file begins.
_MAGIC = np.lib.format.MAGIC_PREFIX
#: Seconds of processor time for a file, and bytes that are read in another second at least.
_PATIENCE, _BYTES_PER_SECOND = 60, 1 << 22
#: Bytes of a temporary array from which on it stays a file.
_MAPPED = 1 << 20
#: A process may have to wait for the processor, or for a disk: as many times longer is waited for it.
_BUSY = 20


@contextmanager
def refusing_damage(kind: str) -> Iterator[None]:
    """Turn what a reader raises for a damaged file into a clear error; errors of the system stay."""
    try:
        with np.errstate(all="ignore"):  # NumPy multiplies shapes before it looks at them
            yield
    except MemoryError as error:
        raise ValueError("needs more memory than there is, or is damaged") from error
    except OSError as error:
        # Raised by a reader, or by the system because a file says that something is where nothing can be.
        if error.errno in (None, errno.EINVAL, errno.EOVERFLOW):
            raise ValueError(f"is not {kind}, or a damaged one") from error
        raise
    except (ImportError, RefusedError):
        raise
    except Exception as error:
        if "Python objects" in str(error) or "Object arrays" in str(error):  # NumPy's words
            raise ValueError(
                "holds Python objects: save numbers, or text, as y.astype(str)"
            ) from error
        raise ValueError(f"is not {kind}, or a damaged one") from error


def read_npy(path: Path) -> Array:
    """Return the array of an .npy file as a memory map, which is read where it is used."""
    with refusing_damage("an .npy file of numbers"):
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of an .npz file by key."""
    # NumPy leaves a file open that it cannot read, if it has opened it itself.
    with (
        refusing_damage("an .npz file"),
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        _refuse_bomb(archive.zip)
        arrays = {key: archive[key] for key in archive.files}
    # A member that is no array comes as bytes.
    return {key: array for key, array in arrays.items() if isinstance(array, np.ndarray)}


def _refuse_bomb(archive: zipfile.ZipFile) -> None:
    """Refuse arrays that are larger than what is packed of them, or than memory, before that is allocated."""
    total = 0
    for info in archive.infolist():
        with archive.open(info) as stream:
            is_array = stream.read(len(_MAGIC)) == _MAGIC
        if is_array:
            with archive.open(info) as stream:
                total += _declared_bytes(stream, info)
        elif info.file_size > untrusted_files.memory():
            raise MemoryError
    if total > untrusted_files.memory():
        raise MemoryError


def _declared_bytes(stream: IO[bytes], info: zipfile.ZipInfo) -> int:
    version = np.lib.format.read_magic(stream)
    first = np.lib.format.read_array_header_1_0
    read_header = first if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    declared = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or declared > info.file_size:
        raise ValueError("an array is not as long as its header says")
    return declared


def read_apart(path: Path) -> dict[str, Array]:
    """Return the numeric and text arrays of a MATLAB or HDF5 file or a Zarr folder by name, and cells of such.

    A child process reads it, which may crash, hang or run out of memory. Long arrays are memory maps: of the file
    itself, or of a temporary copy, which goes with them.
    """
    (found,) = read_all_apart([path])
    if isinstance(found, ValueError):
        raise found
    return found


def read_all_apart(paths: Sequence[Path]) -> list[dict[str, Array] | ValueError]:
    """Return what `read_apart` returns or raises for each of some files, by one child process if all goes well."""
    found: list[dict[str, Array] | ValueError] = []
    while len(found) < len(paths):
        with tempfile.TemporaryDirectory(prefix="spdatoms-") as folder:
            left = paths[len(found) :]
            failure = _run_child(left, folder)
            for number in range(len(left)):
                result = _result(left[number], Path(folder, str(number)))
                if result is None:  # the child was at this file when it ended
                    found.append(failure)
                    break
                found.append(result)
    return found


def _run_child(paths: Sequence[Path], folder: str) -> ValueError:
    """Let a child process read files, and return what is wrong with the first one that it did not come to."""
    size = sum(stored_bytes(str(p)) if p.is_dir() else p.lstat().st_size for p in paths)
    seconds = math.ceil(_PATIENCE + size / _BYTES_PER_SECOND)
    files = [str(path.absolute()) for path in paths]
    command = [sys.executable, "-P", reading_child.__file__, str(seconds), folder, *files]
    quiet = subprocess.DEVNULL
    # The child imports this package from where it is here.
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    try:
        ended = subprocess.run(
            command, stdout=quiet, stderr=quiet, env=environment, timeout=_BUSY * seconds
        )
    except subprocess.TimeoutExpired:
        return ValueError(f"could not be read in {_BUSY * seconds} seconds: it may be damaged")
    if ended.returncode == -getattr(signal, "SIGXCPU", math.inf):
        return ValueError(
            f"could not be read in {seconds} seconds of processor time, so it is likely to be damaged"
        )
    return ValueError("made its reader crash: it is damaged")


def _result(path: Path, folder: Path) -> dict[str, Array] | ValueError | None:
    """Return the arrays or the error that the child process has written, None if there is neither."""
    complaint = folder.with_suffix(".txt")
    if complaint.exists():
        return ValueError(complaint.read_text("utf-8"))
    if not folder.exists():
        return None
    names = np.load(folder / "names.npy")
    try:
        return {str(name): _variable(path, folder, i) for i, name in enumerate(names)}
    except ValueError:  # the numbers are not where they should be
        return ValueError("is not a MATLAB or HDF5 file, or a damaged one")


def _variable(path: Path, folder: Path, number: int) -> Array:
    """Return a variable of a file, a long one as a memory map; a cell array is an array of objects."""
    there, place = folder / f"{number}.npy", folder / f"{number}.at.npy"
    if place.exists():  # in the file itself the numbers lie as they are in memory
        dtype, (offset, turned, *shape) = np.load(there).dtype, np.load(place).tolist()
        if not math.prod(shape):
            return np.empty(shape, dtype)
        mapped = np.memmap(path, dtype, "r", offset, tuple(shape))
        return mapped.T if turned else mapped
    if there.exists():
        # A file that is mapped needs no name any more; but Windows removes no such file.
        is_mapped = sys.platform != "win32" and there.stat().st_size > _MAPPED
        array: Array = np.load(there, mmap_mode="r" if is_mapped else None)
        return array
    shape = np.load(folder / f"{number}.shape.npy")
    cells = np.empty(int(np.prod(shape)), dtype=object)
    for i in range(len(cells)):
        cells[i] = np.load(folder / f"{number}.{i}.npy")
    return cells.reshape(shape)
