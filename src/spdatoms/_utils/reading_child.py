"""A program of its own that reads MATLAB, HDF5 and Zarr: ``reading_child.py SECONDS FOLDER FILE FILE …``.

SciPy's reader, the library of HDF5 and the codecs of Zarr trust what a file says about itself: a damaged file
can crash the process, keep it busy for ever or fill the memory. So they run in a child process, and plain arrays
come back; see `array_files.read_all_apart`. For each file it makes a folder ``<number>`` of .npy files in the folder
or, if the file cannot be read, ``<number>.txt`` with the reason. Numbers of HDF5 and Zarr are copied some rows at a
time, or left where they are if they lie in the file as they are in memory. The system ends it after the seconds of
processor time, and gives it no more memory than there is, where it can.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spdatoms._utils.untrusted_files import (
    HDF5_FILTERS,
    PLAIN,
    RefusedError,
    check_memory,
    check_size,
    memory,
)
from spdatoms._utils.zarr_metadata import check_zarr

_HDF5 = b"\x89HDF\r\n\x1a\n"
#: The extras of the libraries.
_EXTRAS = {"h5py": "hdf5", "zarr": "scale"}
#: Kinds of types of numbers and truth values.
_NUMBERS = "biufc"
#: Bytes that are copied at a time; a chunk is always copied at once.
_COPIED = 16 << 20


def main(seconds: str, folder: str, *paths: str) -> None:
    """Write what is in each file, or what is wrong with it."""
    _limit(int(seconds))
    for number, path in enumerate(paths):
        result = Path(folder, str(number))
        complaint = _complaint(path, result.with_suffix(".part"))
        if complaint is None:
            result.with_suffix(".part").rename(result)
        else:
            result.with_suffix(".txt").write_text(complaint, "utf-8")


def _limit(seconds: int) -> None:
    """Let the system end this process by SIGXCPU, and give it no more memory than there is; Windows cannot."""
    if sys.platform != "win32":
        import resource

        for kind, amount in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory())):
            most = resource.getrlimit(kind)[1]
            if math.isfinite(amount) and (most == resource.RLIM_INFINITY or amount < most):
                resource.setrlimit(kind, (int(amount), most))


def _complaint(path: str, folder: Path) -> str | None:
    """Write the plain arrays of a file, and its cell arrays of such; or return what is wrong with it."""
    kind = "a Zarr array or group" if _is_zarr(path) else "a MATLAB or HDF5 file"
    try:
        folder.mkdir()
        _write(path, folder)
    except RefusedError as error:
        return str(error)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(str(error.name), "formats")
        return f"needs {error.name!r}, which comes with an optional extra: pip install 'spdatoms[{extra}]'"
    except MemoryError:
        return "needs more memory than there is, or is damaged"
    except Exception:
        return f"is not {kind}, or a damaged one"
    return None


def _write(path: str, folder: Path) -> None:
    """Write the names of the variables, and their arrays by number."""
    names: list[str] = []
    for name, value in _variables(path):
        if name.startswith("__"):
            continue
        stem = str(folder / str(len(names)))
        if isinstance(value, Stored):
            value.write(stem)
        elif (content := _content(value)) is not None:
            for key, array in content.items():
                np.save(f"{stem}{key}.npy", array)
        else:
            continue
        names.append(name)
    np.save(folder / "names.npy", np.array(names, dtype=str))


class Stored(NamedTuple):
    """Numbers in a file, with their first axis in parts.

    Attributes
    ----------
    source : object
        With a shape, a dtype and slices.
    chunk : int
        Rows that are packed together.
    turned : bool
        Whether the axes come in the opposite order.
    offset : int or None
        Where in the file the numbers lie as they are in memory, if they do.
    """

    source: Any
    chunk: int
    turned: bool = False
    offset: int | None = None

    def write(self, stem: str) -> None:
        """Write ``<stem>.npy``; or an empty one, and to ``<stem>.at.npy`` where the numbers are."""
        if self.offset is not None:
            np.save(f"{stem}.at.npy", np.array([self.offset, self.turned, *self.source.shape]))
            np.save(f"{stem}.npy", np.empty(0, self.source.dtype))
            return
        shape, dtype = self.source.shape, np.dtype(self.source.dtype)
        row = math.prod(shape[1:]) * dtype.itemsize
        _check_disk(Path(stem).parent, shape[0] * row)
        step = self.chunk * max(1, _COPIED // max(1, self.chunk * row))
        with open(f"{stem}.npy", "wb") as file:
            header: dict[str, Any] = {
                "descr": np.lib.format.dtype_to_descr(dtype),
                "fortran_order": self.turned,
                "shape": shape[::-1] if self.turned else shape,
            }
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, shape[0], step):
                rows = np.ascontiguousarray(self.source[start : start + step], dtype)
                file.write(rows.data.cast("B") if rows.size else b"")


def _check_disk(folder: Path, size: int) -> None:
    """Refuse numbers for whose copy the disk has no room."""
    free = shutil.disk_usage(folder).free
    if size > free:
        raise RefusedError(
            f"needs {size / 1e9:.1f} GB for a temporary copy, but {folder.parent.parent} has {free / 1e9:.1f} GB "
            "free. Let the environment variable TMPDIR name a folder on a larger disk"
        )


def _variables(path: str) -> Iterator[tuple[str, Any]]:
    if _is_zarr(path):
        return _zarr_variables(path)
    with open(path, "rb") as file:
        head = file.read(520)
    if _HDF5 in (head[:8], head[512:]):  # the signature may come after the 512 bytes of MATLAB 7.3
        return _hdf5_variables(path)
    from scipy.io import loadmat

    return iter(loadmat(path).items())


def _is_zarr(path: str) -> bool:
    return path.lower().endswith(".zarr")


def _zarr_variables(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and arrays of a Zarr folder; a single array has no name."""
    check_zarr(path)
    import zarr

    found: Any = zarr.open(path, mode="r")
    members = {"": found} if hasattr(found, "shape") else dict(found.arrays())
    for name, array in members.items():
        if array.ndim and np.dtype(array.dtype).kind in _NUMBERS:
            chunk = getattr(array, "shards", None) or array.chunks
            yield name, Stored(array, chunk[0])
        else:
            yield name, _text(np.asarray(array[...]))


def _text(array: Any) -> Any:
    """Return text of different lengths as NumPy's own; other objects do not come through `check_zarr`."""
    return array.astype(str) if array.dtype.kind in ("O", "T") else array


def _hdf5_variables(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths and datasets; those that MATLAB wrote have their axes in its order again."""
    import h5py

    datasets: dict[str, Any] = {}
    with h5py.File(path, "r") as file:

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Group):
                _check_links(item)
            elif isinstance(item, h5py.Dataset) and not name.startswith("#"):
                datasets[name] = item

        _check_links(file)
        file.visititems(note)
        for name, item in datasets.items():
            yield name, _dataset(file, item)


def _check_links(group: Any) -> None:
    """Refuse links to other files; other links lead to what the file itself has, and is visited there."""
    import h5py

    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            _refuse_elsewhere(f"{group.name.rstrip('/')}/{name}")


def _dataset(file: Any, item: Any, *, whole: bool = False) -> Any:
    """Return the content of a dataset, numbers to be read later unless it is to be ``whole``.

    None for what is no array of numbers or text, and no cell array of such.
    """
    import h5py

    _check_dataset(item)
    if h5py.check_string_dtype(item.dtype):
        return np.array(item.asstr()[...], dtype=str)
    if h5py.check_ref_dtype(item.dtype) is h5py.Reference:  # a cell array of MATLAB
        array = item[...]
        cells = np.empty(array.size, dtype=object)
        for i, reference in enumerate(array.flat):
            cells[i] = _dataset(file, file[reference], whole=True)
        return cells.reshape(array.shape).T
    if item.dtype.kind not in PLAIN:
        return None
    kind = item.attrs.get("MATLAB_class")
    if kind == b"char":
        return np.array(["".join(map(chr, item[...].ravel()))])
    if whole or not item.shape or item.dtype.kind not in _NUMBERS:
        return item[...] if kind is None else item[...].T
    # An address is one in the file only where nothing precedes the part of HDF5.
    offset = None if file.userblock_size or item.dtype.kind == "b" else item.id.get_offset()
    return Stored(item, (item.chunks or (1,))[0], turned=kind is not None, offset=offset)


def _check_dataset(item: Any) -> None:
    """Refuse a dataset whose content lies in other files, needs a plug-in, or does not fit into memory."""
    if item.external or item.is_virtual:
        _refuse_elsewhere(item.name)
    properties = item.id.get_create_plist()
    filters = {properties.get_filter(i)[0] for i in range(properties.get_nfilters())}
    if not filters <= HDF5_FILTERS:
        raise RefusedError(
            f"the dataset {item.name!r} is packed by a plug-in of HDF5, and none is loaded. Write it anew, with "
            "gzip for example: 'h5repack -f GZIP=4' does that"
        )
    check_size(item.shape or (), item.dtype.itemsize, item.id.get_storage_size())
    check_memory(item.chunks or (), item.dtype.itemsize)


def _refuse_elsewhere(name: str) -> None:
    raise RefusedError(
        f"the content of {name!r} lies in another file, and other files are not read. Copy it into this one"
    )


def _content(value: Any) -> dict[str, Any] | None:
    """Return an array, or the shape and items of a cell array; None for anything else, such as a struct."""
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind in PLAIN:
        return {"": value}
    if value.dtype != object:
        return None
    items = [_unwrapped(item) for item in value.flat]
    if not all(isinstance(item, np.ndarray) and item.dtype.kind in PLAIN for item in items):
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
