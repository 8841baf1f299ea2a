"""A program of its own that reads a MATLAB file (version 7 or before): ``mat_child.py FILE.mat RESULT.npz``.

SciPy's reader trusts what a file says about itself: a damaged file can crash the process or keep it busy
for ever. So it runs in a child process, and plain arrays come back; see `archives.read_mat`. Of the package
this program imports nothing. It ends with the code 0, or with 1 and a sentence on stderr.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: Numbers, truth values and text; nothing that could hold an object.
_PLAIN = "biufcUS"


def main(path: str, result: str) -> None:
    """Write the plain arrays of a MATLAB file, and its cell arrays of such."""
    from scipy.io import loadmat

    try:
        variables = loadmat(path)
    except NotImplementedError:
        sys.exit("is a MATLAB 7.3 file (HDF5)")
    except MemoryError:
        sys.exit("needs more memory than there is, or is damaged")
    except Exception:
        sys.exit("is not a MATLAB file, or a damaged one")
    arrays: dict[str, Any] = {}
    names: list[str] = []
    for name, value in variables.items():
        content = _content(value)
        if content is not None and not name.startswith("__"):
            arrays |= {f"{len(names)}{key}": array for key, array in content.items()}
            names.append(name)
    np.savez(result, names=np.array(names, dtype=str), **arrays)


def _content(value: Any) -> dict[str, Any] | None:
    """Return an array, or the shape and items of a cell array; None for anything else, such as a struct."""
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind in _PLAIN:
        return {"": value}
    if value.dtype != object:
        return None
    items = [_unwrapped(item) for item in value.flat]
    if not all(isinstance(item, np.ndarray) and item.dtype.kind in _PLAIN for item in items):
        return None
    cells = {f".{i}": item for i, item in enumerate(items)}
    return {".shape": np.array(value.shape, dtype=np.int64), **cells}


def _unwrapped(item: Any) -> Any:
    """Return what lies in cells of one item; they cannot contain each other."""
    while isinstance(item, np.ndarray) and item.dtype == object and item.size == 1:
        item = item.item()
    return item


if __name__ == "__main__":
    main(*sys.argv[1:])
