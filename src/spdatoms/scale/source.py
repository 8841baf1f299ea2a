"""`open_stream`: the stream of an array that is not read at once."""

from __future__ import annotations

from typing import Any

from spdatoms.scale._mapped import MappedStream
from spdatoms.scale.budget import is_chunked
from spdatoms.scale.stream import Stream


def open_stream(X: Any, n_jobs: int | None = None, name: str = "X") -> Stream:
    """Return the stream of a Dask array or of an array that NumPy reads in pieces, checked.

    Parameters
    ----------
    X : dask.array.Array or ndarray of shape (m, n, n)
        SPD matrices.
    n_jobs : int, optional
        The number of threads for an array of NumPy; Dask has its own.
    name : str
        What to call X in an error.

    Returns
    -------
    Stream
    """
    stream: Stream
    if is_chunked(X):
        from spdatoms.scale._dask import DaskStream

        stream = DaskStream(X, name)
    else:
        stream = MappedStream(X, n_jobs, name)
    stream.check(name)
    return stream
