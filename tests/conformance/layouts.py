"""The same numbers in other places of memory: arrays whose layout must not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

#: What lies between the entries of a view: it would show in any result.
_RUBBISH = 9.0 + 7.0j


def _filled(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.full(shape, _RUBBISH if np.dtype(dtype).kind == "c" else 9, dtype)


def _strided(A: np.ndarray) -> np.ndarray:
    view = _filled((2 * len(A), *A.shape[1:]), A.dtype)[::2]
    view[...] = A
    return view


def _part_of_larger(A: np.ndarray) -> np.ndarray:
    larger = _filled((len(A), *(k + 2 for k in A.shape[1:])), A.dtype)
    view = larger[(slice(None), *(slice(k) for k in A.shape[1:]))]
    view[...] = A
    return view


def _unaligned(A: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"0" + A.tobytes(), A.dtype, offset=1).reshape(A.shape)


def _read_only(A: np.ndarray) -> np.ndarray:
    view = A.copy()
    view.flags.writeable = False
    return view


def _mapped(A: np.ndarray) -> np.ndarray:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "A"
        A.tofile(path)
        return np.memmap(path, A.dtype, "c", shape=A.shape)


#: Functions that return an array of the same numbers, but for the last, whose rows are all the first.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda A: A[::-1].copy()[::-1],
    "transposed": lambda A: A.swapaxes(-1, -2).copy().swapaxes(-1, -2) if A.ndim > 1 else A,
    "last axis first": lambda A: np.moveaxis(np.moveaxis(A, 0, -1).copy(), -1, 0),
    "part of larger": _part_of_larger,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "memory map": _mapped,
    "other byte order": lambda A: A.astype(A.dtype.newbyteorder()),
    "broadcast": lambda A: np.broadcast_to(A[:1], A.shape),
}


def has_layout(value: Any) -> bool:
    """Return whether a value is an array of floats, which can lie in memory in several ways."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind == "f"


def plain(A: np.ndarray) -> np.ndarray:
    """Return a copy in C order and native bytes."""
    return np.array(A, A.dtype.newbyteorder("="), order="C")
