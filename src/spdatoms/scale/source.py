"""The stream of a Dask array, of a memory map, or of an array in memory."""

from __future__ import annotations

from typing import Any

from spdatoms._utils import parameters as allow
from spdatoms.scale.budget import is_chunked
from spdatoms.scale.stream import Stream

_MATRICES = allow.Allowed(
    ("a NumPy array", "a Dask array"),
    lambda value: all(hasattr(value, name) for name in ("shape", "ndim", "dtype")),
)


@allow.checks(X=_MATRICES, n_jobs=allow.N_JOBS)
def open_stream(X: Any, n_jobs: int | None = None, name: str = "X") -> Stream:
    """Return the stream of an array, after all its matrices have been checked.

    Parameters
    ----------
    X : dask.array.Array or ndarray of shape (m, n, n)
        SPD matrices.
    n_jobs : int, default=None
        The number of threads that read a NumPy array: None is one thread, -1 is all processors. A Dask
        array is read by Dask.
    name : str, default="X"
        What an error calls X.

    Returns
    -------
    Stream
        The stream.
    """
    stream: Stream
    if is_chunked(X):
        from spdatoms.scale._dask import DaskStream

        stream = DaskStream(X, name)
    else:
        stream = Stream(X, n_jobs, name)
    stream.check(name)
    return stream
