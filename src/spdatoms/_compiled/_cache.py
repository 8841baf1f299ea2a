"""Where compiled code is kept between runs, and until when.

Numba keeps it in ``NUMBA_CACHE_DIR`` if that is set, else beside the source, else in the cache folder of the
user. In containers and on clusters none of them may be writable, and numba would then refuse to import a
kernel. So a folder in the temporary directory takes their place, and if that fails, too, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from functools import cache
from importlib.resources import files
from pathlib import Path

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

_ADVICE = "Set NUMBA_CACHE_DIR to a folder that can be written and that stays."


class RoomCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, whose source is its file and all of this folder.

    Numba looks at the file of the function alone. It would go on with old code after a change of
    what the function calls in other files, or of what they emit.
    """

    def __init__(self, function):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), _source_digest()
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)


@cache
def _source_digest() -> str:
    sources = [file for file in files(__package__).iterdir() if file.name.endswith(".py")]
    contents = (file.read_bytes() for file in sorted(sources, key=lambda file: file.name))
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


@cache
def code_is_kept() -> bool:
    """Return whether there is a place for compiled code, wherever the package is installed."""
    if _numba_finds_a_place():
        return True
    folder = _temporary_folder()
    if folder is not None:
        # For processes that this one starts, too: they need not look again, nor warn.
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(folder)
        if _numba_finds_a_place():
            warnings.warn(f"Compiled code is kept in {folder} for now. {_ADVICE}", stacklevel=2)
            return True
    warnings.warn(
        f"Compiled code cannot be kept, so every run compiles it anew. {_ADVICE}", stacklevel=2
    )
    return False


def _numba_finds_a_place() -> bool:
    try:
        RoomCache(_probe)
    except RuntimeError:
        return False
    return True


def _probe() -> None: ...


def _temporary_folder() -> Path | None:
    """Return a folder of this user alone, because numba unpickles what it finds there; None if there is none."""
    try:
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
        folder = Path(tempfile.gettempdir()) / f"spdatoms-numba-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    mine = not user or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    return folder if stat.S_ISDIR(found.st_mode) and mine else None
