"""Read matrices and labels from files, write arrays and tables; the ending of a name is its format."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from spdatoms._utils.archives import read_mat, read_npy, read_npz, refusing_damage
from spdatoms._utils.typing import Array
from spdatoms.cli._outputs import whole_file
from spdatoms.cli._show import counted

MATRIX_FILES = (".npy", ".npz", ".mat")
_TEXT_FILES = (".csv", ".txt")
#: Kinds of numbers; that complex ones are refused is said where matrices are checked.
_NUMBERS = "fiubc"


def read_matrices(path: Path, key: str | None = None) -> Array:
    """Return the matrices of a file as an array (m, n, n), not checked yet.

    MATLAB's (n, n, m) is transposed, a single matrix becomes a stack of one. If the shape allows both
    orders, symmetry decides.
    """
    with _named(path):
        return as_stack(_read_array(path, key, wanted=_may_be_matrices, what="matrices"))


def as_stack(array: Array) -> Array:
    """Return matrices as (m, n, n), given as (m, n, n), (n, n, m), (n, n) or a MATLAB cell of (n, n)."""
    if array.dtype == object:
        array = _stack_cells(array)
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"holds an array of the type {array.dtype}, not numbers")
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise ValueError(f"the shape {array.shape} is not one of matrices, (m, n, n)")
    first, second, last = array.shape
    turned = array.transpose(2, 0, 1)
    if first == second == last:
        return turned if _is_symmetric(turned) and not _is_symmetric(array) else array
    if first == second:
        return turned
    if second == last:
        return array
    raise ValueError(f"the shape {array.shape} is neither (m, n, n) nor MATLAB's (n, n, m)")


def read_labels(path: Path, key: str | None, count: int) -> Array:
    """Return ``count`` labels from a file: one per line, or an array."""
    with _named(path):
        if path.suffix.lower() in _TEXT_FILES:
            labels = _read_column(path, key, count)
        else:
            labels = _read_array(path, key, wanted=lambda array: array.size == count, what="labels")
            labels = np.array([_text(item) for item in labels.ravel()], dtype=str)
        if len(labels) != count:
            labelled, wanted = counted(len(labels), "label"), counted(count, "matrix", "matrices")
            there = "is" if len(labels) == 1 else "are"
            raise ValueError(f"there {there} {labelled} for {wanted}")
        return _as_numbers(labels)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays: all to .npz, the first to .npy, and those as long as the first to .csv, as columns."""
    first = next(iter(arrays.values()))
    match path.suffix.lower():
        case ".npz":
            with whole_file(path) as file:
                np.savez(file, **cast(Any, arrays))
        case ".npy":
            with whole_file(path) as file:
                np.save(file, first)
        case _:
            columns: dict[str, Sequence[Any]] = {}
            for name, array in arrays.items():
                if array.ndim == 1 and len(array) == len(first):
                    columns[name] = array.tolist()
                elif array.ndim == 2 and len(array) == len(first):
                    columns |= {f"{name}_{j}": column.tolist() for j, column in enumerate(array.T)}
            write_table(path, columns)


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of the same length as .csv, with their names in the first line."""
    with whole_file(path) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file))
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the name of the file before what is wrong with it, and a full stop after that."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).rstrip('.')}.") from error


def _read_array(path: Path, key: str | None, wanted: Any, what: str) -> Array:
    """Return the array of this key, or the only one for which ``wanted`` is true."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_npy(path, key)
    if suffix not in MATRIX_FILES:
        raise ValueError(f"has the ending {suffix!r}; {', '.join(MATRIX_FILES)} are read")
    arrays = read_npz(path) if suffix == ".npz" else read_mat(path)
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
    if key is not None:
        if key not in arrays:
            raise ValueError(f"there is no array {key!r}; it holds {shapes}")
        return arrays[key]
    candidates = [name for name, array in arrays.items() if wanted(array)]
    if len(candidates) != 1:
        problem = "no array can be" if not candidates else "several arrays can be"
        raise ValueError(f"{problem} the {what}; it holds {shapes}. Choose one by its key")
    return arrays[candidates[0]]


def _read_npy(path: Path, key: str | None) -> Array:
    if key is not None:
        raise ValueError(f"is an .npy file, which holds one array: leave out --key {key}")
    return read_npy(path)


def _may_be_matrices(array: Array) -> bool:
    if array.dtype == object:
        return bool(array.size) and all(np.ndim(cell) == 2 for cell in array.flat)
    if array.dtype.kind not in _NUMBERS:
        return False
    if array.ndim == 3:
        return bool(array.shape[0] == array.shape[1] or array.shape[1] == array.shape[2])
    return array.ndim == 2 and bool(array.shape[0] == array.shape[1] > 1)


def _stack_cells(array: Array) -> Array:
    if not array.size:
        raise ValueError("the cell array is empty")
    try:
        return np.stack([np.asarray(cell) for cell in array.flat])
    except ValueError:
        raise ValueError("the matrices of the cell array differ in size") from None


def _is_symmetric(X: Array) -> bool:
    X = np.asarray(X, dtype=np.float64)
    difference = abs(X - X.swapaxes(1, 2)).max(initial=0)
    return bool(difference <= np.sqrt(np.finfo(np.float32).eps) * abs(X).max(initial=0))


def _read_column(path: Path, key: str | None, count: int) -> Array:
    """Return the labels of a text file: its only column, or the one with this name."""
    with (
        refusing_damage("a text file in UTF-8"),
        path.open(newline="", encoding="utf-8-sig") as file,
    ):
        rows = [row for row in csv.reader(file) if row]
    if key is not None:
        if not rows or key not in rows[0]:
            raise ValueError(f"no column is called {key!r}")
        column = rows[0].index(key)
        rows = rows[1:]
    elif rows and len(rows[0]) > 1:
        names = ", ".join(rows[0])
        raise ValueError(f"there are several columns ({names}). Choose one by its key")
    else:
        column = 0
        rows = rows[1:] if len(rows) == count + 1 and _has_header(rows) else rows
    if any(len(row) <= column for row in rows):
        raise ValueError("a line has fewer columns than the first")
    return np.array([row[column].strip() for row in rows], dtype=str)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line may be the name of the column: a label would occur again."""
    first, *others = (row[0].strip() for row in rows)
    return first not in others


def _text(item: Any) -> str:
    """Return a label as text; MATLAB's cells of strings are arrays in arrays."""
    while isinstance(item, np.ndarray) and item.size == 1:
        item = item.ravel()[0]
    if isinstance(item, float | np.floating) and float(item).is_integer():
        item = int(item)
    return str(item)


def _as_numbers(labels: Array) -> Array:
    """Return labels as integers if all are; "007" is a name."""
    try:
        numbers = np.array([int(label) for label in labels])
    except ValueError:
        return labels
    exact = numbers.dtype.kind == "i" and (numbers.astype(str) == labels).all()
    return numbers if exact else labels
