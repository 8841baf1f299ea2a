"""A program of its own that reads MATLAB or HDF5 files: ``mat_child.py SECONDS FOLDER FILE FILE …``.

SciPy's reader, and the library of HDF5, trust what a file says about itself: a damaged file can crash the
process or keep it busy for ever. So they run in a child process, and plain arrays come back; see
`archives.read_mats`. Of the package this program imports nothing. For each file it puts ``<number>.npz`` into
the folder or, if the file cannot be read, ``<number>.txt`` with a sentence. The system ends it after the
seconds of processor time, where it can.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

#: Numbers, truth values and text; nothing that could hold an object.
_PLAIN = "biufcUS"
_HDF5 = b"\x89HDF\r\n\x1a\n"


def main(seconds: str, folder: str, *paths: str) -> None:
    """Write what is in each file, or what is wrong with it."""
    _limit_processor_time(int(seconds))
    for number, path in enumerate(paths):
        result = Path(folder, str(number))
        complaint = _complaint(path, result.with_suffix(".part.npz"))
        if complaint is None:
            result.with_suffix(".part.npz").replace(result.with_suffix(".npz"))
        else:
            result.with_suffix(".txt").write_text(complaint, "utf-8")


def _limit_processor_time(seconds: int) -> None:
    """Let the system end this process by SIGXCPU; Windows has no such limit."""
    if sys.platform != "win32":
        import resource

        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        if most == resource.RLIM_INFINITY or seconds < most:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))


def _complaint(path: str, result: Path) -> str | None:
    """Write the plain arrays of a file, and its cell arrays of such; or return what is wrong with it."""
    try:
        variables = _hdf5_variables(path) if _is_hdf5(path) else _matlab_variables(path)
        np.savez(result, **_plain(variables))
    except ModuleNotFoundError:
        return "needs 'h5py', which comes with an optional extra: pip install 'spdatoms[hdf5]'"
    except MemoryError:
        return "needs more memory than there is, or is damaged"
    except Exception:
        return "is not a MATLAB or HDF5 file, or a damaged one"
    return None


def _plain(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the names of the variables, and their arrays by number."""
    arrays: dict[str, Any] = {}
    names: list[str] = []
    for name, value in variables.items():
        content = _content(value)
        if content is not None and not name.startswith("__"):
            arrays |= {f"{len(names)}{key}": array for key, array in content.items()}
            names.append(name)
    return {"names": np.array(names, dtype=str), **arrays}


def _is_hdf5(path: str) -> bool:
    """Return whether the signature of HDF5 is there: at the start, or after the 512 bytes of MATLAB 7.3."""
    with open(path, "rb") as file:
        head = file.read(520)
    return _HDF5 in (head[:8], head[512:])


def _matlab_variables(path: str) -> dict[str, Any]:
    from scipy.io import loadmat

    return dict(loadmat(path))


def _hdf5_variables(path: str) -> dict[str, Any]:
    """Return the datasets by path; those that MATLAB wrote have their axes in its order again."""
    import h5py

    variables: dict[str, Any] = {}
    with h5py.File(path, "r") as file:

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and not name.startswith("#"):
                variables[name] = _dataset(file, item)

        file.visititems(note)
    return variables


def _dataset(file: Any, item: Any) -> Any:
    import h5py

    if h5py.check_string_dtype(item.dtype):
        return np.array(item.asstr()[...], dtype=str)
    array = item[...]
    if h5py.check_ref_dtype(item.dtype):  # a cell array of MATLAB
        cells = np.empty(array.size, dtype=object)
        for i, reference in enumerate(array.flat):
            cells[i] = _dataset(file, file[reference])
        return cells.reshape(array.shape).T
    kind = item.attrs.get("MATLAB_class")
    if kind == b"char":
        return np.array(["".join(map(chr, array.ravel()))])
    return array if kind is None else array.T


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
