"""Labels from a file: a column of a table, an array, or the events of epochs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.array_files import read_npy
from spdatoms._utils.tables import TEXT_FILES, read_rows
from spdatoms._utils.text import check_characters, counted
from spdatoms._utils.typing import Array
from spdatoms.cli.formats.arrays import ARRAY_FILES, chosen, ends_in, named, read_arrays
from spdatoms.cli.formats.parquet import PARQUET_FILES, read_parquet
from spdatoms.cli.formats.samples import EPOCHS_FILES, is_folder, read_epochs
from spdatoms.cli.formats.volumes import VOLUME_FILES, Volume, read_map
from spdatoms.datasets.folders import folder_files

#: What tables and arrays have in place of a label, in lower case.
_MISSING = ("", "nan", "none", "<na>")
LABEL_FILES = (*TEXT_FILES, *PARQUET_FILES, ".npy", *ARRAY_FILES, ".fif", *VOLUME_FILES)


def read_labels(path: Path, key: str | None, count: int, volume: Volume | None = None) -> Array:
    """Return ``count`` labels from a file, which may be a map of labels for the voxels of a volume."""
    with named(path):
        if ends_in(path, VOLUME_FILES):
            return _map_labels(path, volume)
        if is_folder(path):
            return np.array(folder_files(path)[1])
        labels = _labels(path, key, count)
        if len(labels) != count:
            labelled, wanted = counted(len(labels), "label"), counted(count, "matrix", "matrices")
            there = "is" if len(labels) == 1 else "are"
            raise ValueError(f"there {there} {labelled} for {wanted}{_empty_line(path)}")
        return labels if labels.dtype.kind == "i" else _as_numbers(labels)


def _labels(path: Path, key: str | None, count: int) -> Array:
    suffix = path.suffix.lower()
    if suffix in TEXT_FILES:
        return _text_column(read_rows(path), key, count)
    if ends_in(path, EPOCHS_FILES):
        return read_epochs(path)[1]
    if suffix == ".npy":
        array = read_npy(path)
    elif suffix in PARQUET_FILES:
        array = chosen(read_parquet(path), key, lambda c: c.ndim == 1, "labels", "--label-key")
    elif suffix in ARRAY_FILES:
        array = chosen(
            read_arrays(path), key, lambda array: array.size == count, "labels", "--label-key"
        )
    else:
        raise ValueError(
            f"has the ending {suffix!r}; labels are read from {', '.join(LABEL_FILES)}"
        )
    if (
        array.dtype.kind == "i"
    ):  # as text, millions of them would take more memory than their matrices do
        return array.ravel().astype(np.int64)
    check_characters(array, "the array of labels")
    return np.array([_text(item) for item in array.ravel()], dtype=str)


def _empty_line(path: Path) -> str:
    """Return a hint at an empty line, which is no label, or nothing."""
    if path.suffix.lower() not in TEXT_FILES:
        return ""
    lines = path.read_text("utf-8-sig").rstrip().splitlines()
    empty = [i for i, line in enumerate(lines, 1) if not line.strip()]
    return f"; line {empty[0]} is empty" if empty else ""


def _map_labels(path: Path, volume: Volume | None) -> Array:
    """Return the labels of the voxels that the matrices come from."""
    if volume is None:
        raise ValueError("is a map of labels, but the matrices are not those of a volume")
    labels = read_map(path)
    if labels.shape != volume.inside.shape:
        raise ValueError(
            f"has the shape {labels.shape}, but the volume {volume.inside.shape}: a map has one label per voxel"
        )
    labels = labels[volume.inside]
    if not (labels == np.round(labels)).all():
        raise ValueError("a map of labels has whole numbers, but this one has others")
    return labels.astype(np.int64)


def _text_column(rows: Sequence[Sequence[str]], key: str | None, count: int) -> Array:
    """Return the labels of a text file: its only column, or the one with this name."""
    if key is not None:
        if not rows or key not in rows[0]:
            names = f"; there are {', '.join(rows[0])}" if rows else ""
            raise ValueError(f"no column is called {key!r}{names}")
        column = rows[0].index(key)
        rows = rows[1:]
    elif rows and len(rows[0]) > 1:
        names = ", ".join(name or "one without a name" for name in rows[0])
        raise ValueError(f"there are several columns ({names}). Choose one by --label-key")
    else:
        column = 0
        first, *others = (row[0] for row in rows) if rows else [""]
        # It may be the name of the column: a label would occur again.
        rows = rows[1:] if len(rows) == count + 1 and first not in others else rows
    if any(len(row) <= column for row in rows):
        raise ValueError("a line has fewer columns than the first")
    return np.array([row[column] for row in rows], dtype=str)


def _text(item: Any) -> str:
    """Return a label as text; MATLAB's cells of strings are arrays in arrays."""
    while isinstance(item, np.ndarray) and item.size == 1:
        item = item.ravel()[0]
    if isinstance(item, float | np.floating) and float(item).is_integer():
        item = int(item)
    return str(item)


def _as_numbers(labels: Array) -> Array:
    """Return labels as integers if all are ("007" is a name); refuse missing ones, which are no class."""
    empty = np.flatnonzero(np.isin(np.char.strip(np.char.lower(labels)), _MISSING))
    if len(empty):
        others = f", and {len(empty) - 1} more" if len(empty) > 1 else ""
        raise ValueError(
            f"the label of matrix {empty[0]} is empty{others}: fill it in, or leave out the matrix and its label"
        )
    try:
        numbers = np.array([int(label) for label in labels])
    except ValueError:
        return labels
    exact = numbers.dtype.kind == "i" and (numbers.astype(str) == labels).all()
    return numbers if exact else labels
