"""Standard input in place of a file: kept in a temporary file, whose ending is that of its content."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TypeVar

from spdatoms.cli.show import say

_Argument = TypeVar("_Argument")
STANDARD_INPUT = Path("-")
#: How the content of files begins.
_BEGINNINGS = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"\x89HDF": ".h5",
    b"MATLAB 5.0": ".mat",
    b"\x1f\x8b": ".nii.gz",
}


def spooled(path: _Argument) -> _Argument:
    """Return the path of what standard input holds, if the path is "-", else the argument."""
    if path != STANDARD_INPUT:
        return path
    begin = sys.stdin.buffer.read(16)
    if not begin:
        raise ValueError("standard input is empty, or '-' is given for two files.")
    known = (ending for start, ending in _BEGINNINGS.items() if begin.startswith(start))
    folder = Path(tempfile.mkdtemp(prefix="spdatoms-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / f"stdin{next(known, '.csv')}"
    with target.open("wb") as file:
        file.write(begin)
        shutil.copyfileobj(sys.stdin.buffer, file)
    say(f"note: standard input is read as {target.suffix[1:]}")
    return target  # type: ignore[return-value]
