"""Read arrays from .npy, .npz, .mat and HDF5 files; an error says what is wrong with a file.

A file may be damaged in any way. Whatever its reader makes of that (an exception of any kind, a crash, an
endless loop, a demand for more memory than there is) becomes a `ValueError` with a sentence that follows
the name of the file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils import mat_child
from spdatoms._utils.typing import Array

#: Seconds for a MATLAB file, and bytes that are read in another second at least.
_PATIENCE, _BYTES_PER_SECOND = 60, 1 << 22


@contextmanager
def refusing_damage(kind: str) -> Iterator[None]:
    """Turn what a reader raises for a damaged file into a sentence; errors of the system stay."""
    try:
        with np.errstate(all="ignore"):  # NumPy multiplies shapes before it looks at them
            yield
    except MemoryError as error:
        raise ValueError("needs more memory than there is, or is damaged") from error
    except OSError as error:
        if error.errno is None:  # raised by a reader, not by the system
            raise ValueError(f"is not {kind}, or a damaged one") from error
        raise
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"is not {kind}, or a damaged one") from error


def read_npy(path: Path) -> Array:
    """Return the array of an .npy file as a memory map, which is read where it is used."""
    with refusing_damage("an .npy file of numbers"):
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of an .npz file by key."""
    with refusing_damage("an .npz file"), np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def read_mat(path: Path) -> dict[str, Array]:
    """Return the numeric and text arrays of a MATLAB or HDF5 file by name, and cells of such."""
    with tempfile.TemporaryDirectory(prefix="spdatoms-") as folder:
        result = Path(folder) / "arrays.npz"
        command = [sys.executable, "-P", mat_child.__file__, str(path.absolute()), str(result)]
        patience = _PATIENCE + path.stat().st_size / _BYTES_PER_SECOND
        try:
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=patience
            )
        except subprocess.TimeoutExpired:
            raise ValueError(
                f"could not be read in {patience:.0f} seconds, so it is likely to be damaged"
            ) from None
        if done.returncode == 1 and done.stderr:
            raise ValueError(done.stderr.decode(errors="replace").strip().splitlines()[-1])
        if done.returncode != 0:
            raise ValueError("made its reader crash: it is damaged")
        arrays = read_npz(result)
    return {str(name): _variable(arrays, i) for i, name in enumerate(arrays["names"])}


def _variable(arrays: Mapping[str, Array], number: int) -> Array:
    """Return a variable of a MATLAB file; a cell array is an array of objects."""
    if f"{number}.shape" not in arrays:
        return arrays[f"{number}"]
    shape: Any = arrays[f"{number}.shape"]
    cells = np.empty(int(shape.prod()), dtype=object)
    for i in range(len(cells)):
        cells[i] = arrays[f"{number}.{i}"]
    return cells.reshape(shape)
