"""Arrays in files of the worker that computed them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms._utils.writing import scratch_file


class StoredArray:
    """An array in a file of this worker, which goes when the object does.

    Dask would keep the array in memory, and write it to disk and back when there is too little. The file
    lies in the worker's own folder, which Dask removes when the worker ends, or when a later one starts.
    Sent to another worker, the array gets a file there.

    Parameters
    ----------
    array : ndarray
        The array.
    """

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        with scratch_file(_folder()) as (file, self.path):
            file.write(np.ascontiguousarray(array).data)
        weakref.finalize(self, self.path.unlink, missing_ok=True)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Read the array."""
        array = np.fromfile(self.path, self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredArray, (np.asarray(self),)


def _folder() -> str | None:
    """Return the folder of this worker; None, for that of all temporary files, where there is none."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:  # a thread of Dask without a worker
        return None
