"""Where compiled code is kept between runs.

Numba keeps it in ``NUMBA_CACHE_DIR`` if that is set, else beside the source, else in the cache folder of the
user. In containers and on clusters none of them may be writable, and numba would then refuse to import a
kernel. So a folder in the temporary directory takes their place, and if that fails, too, nothing is kept.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from pathlib import Path

import numba
from numba.core.dispatcher import Dispatcher

_ADVICE = "Set NUMBA_CACHE_DIR to a folder that can be written and that stays."


def ensure_cache() -> None:
    """Make sure that kernels can be compiled, wherever the package is installed."""
    if _numba_finds_a_place():
        return
    folder = _temporary_folder()
    if folder is not None:
        # For processes that this one starts, too: they need not look again, nor warn.
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(folder)
        if _numba_finds_a_place():
            warnings.warn(f"Compiled code is kept in {folder} for now. {_ADVICE}", stacklevel=2)
            return
    Dispatcher.enable_caching = lambda self: None
    warnings.warn(
        f"Compiled code cannot be kept, so every run compiles it anew. {_ADVICE}", stacklevel=2
    )


def _numba_finds_a_place() -> bool:
    try:
        numba.njit(cache=True)(_probe)  # it looks for a place, and compiles nothing
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
