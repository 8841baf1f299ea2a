"""Arrays of files: which there are, the choice of one, and the shapes in which matrices come.

They are used as (m, n, n). What is wrong with a file is said after its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from spdatoms._utils.array_files import read_apart, read_npz
from spdatoms._utils.typing import Array
from spdatoms.cli.formats.half_vectors import Components, from_half_vectors, which_order
from spdatoms.geometry.recognition import half_vector_size, shape_advice

#: Kinds of numbers; that complex ones are refused is said where matrices are checked.
_NUMBERS = "fiubc"
ARRAY_FILES = (".npz", ".mat", ".h5", ".hdf5", ".zarr")


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Put the name of the file before what is wrong with it, and a full stop after that."""
    check_exist(path)
    try:
        yield
    except (ValueError, ImportError) as error:
        kind = ImportError if isinstance(error, ImportError) else ValueError
        raise kind(f"{path}: {str(error).rstrip('.')}.") from error


def check_exist(*paths: Path | None) -> None:
    """Refuse files that do not exist."""
    for path in paths:
        if path is not None and not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file.")


def chosen(
    arrays: Mapping[str, Array],
    key: str | None,
    may_be: Callable[[Array], bool],
    what: str,
    option: str,
) -> Array:
    """Return the array of this key, or the only one that may be what is wanted."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
    if key is not None:
        if key not in arrays:
            raise ValueError(f"there is no array {key!r}; it holds {shapes}")
        return arrays[key]
    candidates = [name for name, array in arrays.items() if may_be(array)]
    if len(candidates) != 1:
        problem = "no array can be" if not candidates else "several arrays can be"
        raise ValueError(f"{problem} the {what}; it holds {shapes}. Choose one by {option}")
    return arrays[candidates[0]]


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file that holds several, by name."""
    return read_npz(path) if path.suffix.lower() == ".npz" else read_apart(path)


def ends_in(path: Path, suffixes: tuple[str, ...]) -> bool:
    """Return whether the name of a file has one of these endings, upper or lower case."""
    return path.name.lower().endswith(suffixes)


def as_stack(array: Array, order: Components | None = None) -> Array:
    """Return matrices as (m, n, n), given as (m, n, n), (n, n, m), (n, n), rows or a MATLAB cell of (n, n).

    If the shape allows both orders, symmetry decides. ``order`` is that of half-vectors.
    """
    if array.dtype == object:
        array = _stack_cells(array)
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"holds an array of the type {array.dtype}, not numbers")
    if array.ndim == 2 and (order is not None or array.shape[0] != array.shape[1]):
        return from_rows(array, order)
    if order is not None:
        raise ValueError(f"--components is for half-vectors, but the shape is {array.shape}")
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise ValueError(
            f"the shape {array.shape} is not one of matrices, (m, n, n){shape_advice(array, 'X')}"
        )
    first, second, last = array.shape
    turned = array.transpose(2, 0, 1)
    if first == second == last:
        return turned if _is_symmetric(turned) and not _is_symmetric(array) else array
    if first == second:
        return turned
    if second == last:
        return array
    raise ValueError(f"the shape {array.shape} is neither (m, n, n) nor MATLAB's (n, n, m)")


def may_be_matrices(array: Array) -> bool:
    """Return whether the shape and the type are those of matrices."""
    if array.dtype == object:
        return bool(array.size) and all(np.ndim(cell) == 2 for cell in array.flat)
    if array.dtype.kind not in _NUMBERS:
        return False
    if array.ndim == 3:
        return bool(array.shape[0] == array.shape[1] or array.shape[1] == array.shape[2])
    return array.ndim == 2 and bool(array.shape[0] == array.shape[1] > 1)


def may_be_signals(array: Array) -> bool:
    """Return whether the shape is that of signals, (trials, channels, times)."""
    return array.ndim == 3 and array.dtype.kind in "fiu" and not may_be_matrices(array)


def may_be_rows(array: Array) -> bool:
    """Return whether the shape is that of half-vectors, (m, n(n+1)/2)."""
    return array.ndim == 2 and array.dtype.kind in "fiu" and half_vector_size(array.shape[1]) > 0


def from_rows(rows: Array, order: Components | None = None) -> Array:
    """Return the matrices of a table: one matrix, or in every row the n² entries of one or its half-vector."""
    count, width = rows.shape
    if order is not None:
        return from_half_vectors(rows, order)
    if count == width and _is_symmetric(rows[None]):
        return rows[None]
    if width == 1:
        raise ValueError(
            f"has {count} rows of one number, more probably labels than 1×1 matrices, and no others"
        )
    n = round(np.sqrt(width))
    square = rows.reshape(count, n, n) if n * n == width else None
    if half_vector_size(width) and (square is None or not _is_symmetric(square)):
        raise ValueError(f"has {count} rows of {width} numbers: {which_order(rows)}")
    if square is None:
        raise ValueError(
            f"has {count} rows of {width} numbers: expected are one symmetric matrix, or n² entries or the "
            "n(n+1)/2 different entries of a matrix in every row; a numeric column of labels belongs into another file"
        )
    return square


def _stack_cells(array: Array) -> Array:
    if not array.size:
        raise ValueError("the cell array is empty")
    try:
        return np.stack([np.asarray(cell) for cell in array.flat])
    except ValueError:
        raise ValueError("the matrices of the cell array differ in size") from None


def _is_symmetric(X: Array) -> bool:
    X = np.asarray(X, dtype=np.float64)
    missing = np.isnan(X)
    if (missing != missing.swapaxes(1, 2)).any():
        return False
    X = np.where(missing, 0.0, X)
    difference = abs(X - X.conj().swapaxes(1, 2)).max(initial=0)
    return bool(difference <= np.sqrt(np.finfo(np.float32).eps) * abs(X).max(initial=0))
