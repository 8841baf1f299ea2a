"""How functions are compiled: those that Python calls are kept on disk, those they call are parts of them.

All of them release the GIL, since threads work on blocks of data.
"""

from __future__ import annotations

from functools import partial

from numba import njit

from spdatoms._compiled._cache import RoomCache, code_is_kept

#: Fast-math flags by name: all of them would let the compiler assume that there is no NaN or infinity.
REORDERED = {"contract", "reassoc", "nsz"}

#: Options of functions that only compiled code calls: without wrappers they compile faster.
WITHIN = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

compiled = njit(**WITHIN)


def kept(function=None, **options):
    """Compile a function that Python calls, and keep the code between runs: a decorator, with options of ``njit``."""
    if function is None:
        return partial(kept, **options)
    dispatcher = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if code_is_kept():
        dispatcher._cache = RoomCache(function)
    return dispatcher
