"""Tables of Parquet: their columns as arrays, some rows at a time."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.array_files import refusing_damage
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Array
from spdatoms._utils.untrusted_files import RefusedError, check_size
from spdatoms.scale.blocks import gathered

PARQUET_FILES = (".parquet",)
#: Where a Parquet file keeps the types of Arrow, and what is there of a type that is pickled.
_SCHEMA, _PYTHON_TYPE = b"ARROW:schema", b"arrow.py_extension_type"
#: A number in a list of Python: itself, and its place in the list.
_BYTES_OF_NUMBER = 32
#: Rows of a column that are read at a time.
_ROWS = 1 << 13


def read_parquet(path: Path) -> dict[str, Array]:
    """Return the columns of a Parquet file by name; a column of lists becomes an array (rows, length).

    Each is read some rows at a time; long columns of numbers are memory maps of temporary files.
    """
    parquet = import_extra("pyarrow.parquet", extra="tables")
    with refusing_damage("a Parquet file"):
        metadata = parquet.read_metadata(path)
        _check_promises(metadata, path)
        fields = [field for field in parquet.read_schema(path) if _is_plain(field.type)]
        return {field.name: _column(path, field, metadata.num_rows) for field in fields}


def _column(path: Path, field: Any, count: int) -> Array:
    """Return a column, (rows,) or (rows, length)."""
    types = import_extra("pyarrow.types", extra="tables")
    file = import_extra("pyarrow.parquet", extra="tables").ParquetFile(path, pre_buffer=False)
    parts = (batch.column(0) for batch in file.iter_batches(_ROWS, columns=[field.name]))
    kind = getattr(field.type, "value_type", field.type)
    if count and (types.is_integer(kind) or types.is_floating(kind)):
        try:
            return gathered(map(_numbers, parts), count)
        except _RaggedError:
            parts = file.read([field.name])[field.name].iterchunks()
    return _values([value for part in parts for value in part.to_pylist()])


class _RaggedError(Exception):
    """Values are missing, or lists have different lengths."""


def _numbers(part: Any) -> Array:
    """Return the numbers of a part of a column, (rows,) or (rows, length)."""
    if not hasattr(part, "value_lengths"):
        return _without_gaps(part)
    if part.null_count or len(np.unique(part.value_lengths())) != 1:
        raise _RaggedError
    return _without_gaps(part.flatten()).reshape(len(part), -1)


def _without_gaps(part: Any) -> Array:
    if part.null_count:
        raise _RaggedError
    return np.asarray(part.to_numpy(zero_copy_only=False))


def numbers_of(columns: Mapping[str, Array]) -> Array:
    """Return the numbers of a table: its column of lists, (rows, …), or its columns of numbers, (rows, columns)."""
    lists = {name: c for name, c in columns.items() if c.ndim > 1 and c.dtype.kind in "fiu"}
    if len(lists) > 1:
        raise ValueError(f"has several columns of lists ({', '.join(lists)}). Choose one by --key")
    if lists:
        return next(iter(lists.values()))
    numbers = [c for c in columns.values() if c.ndim == 1 and c.dtype.kind in "fiu"]
    if not numbers:
        raise ValueError("has no columns of numbers")
    return np.stack(numbers, axis=1).astype(np.float64)


def _check_promises(metadata: Any, path: Path) -> None:
    """Refuse columns of Python objects, which old versions of Arrow make when they read the schema, and bombs."""
    schema = base64.b64decode((metadata.metadata or {}).get(_SCHEMA, b""))
    if _PYTHON_TYPE in schema:
        raise RefusedError(
            "has a column of Python objects, whose reading may run code of the file. Write it anew, with "
            "columns of numbers or text"
        )
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    values = [g.column(j).num_values for g in groups for j in range(metadata.num_columns)]
    check_size([sum(values)], _BYTES_OF_NUMBER, path.stat().st_size)


def _is_plain(kind: Any) -> bool:
    """Return whether a column is of numbers, text or times, or of lists of such; others are left out."""
    types = import_extra("pyarrow.types", extra="tables")
    of_values = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_dictionary)
    if any(is_such(kind) for is_such in of_values):
        return _is_plain(kind.value_type)
    return bool(types.is_primitive(kind) or types.is_string(kind) or types.is_large_string(kind))


def _values(values: Sequence[object]) -> Array:
    try:
        return np.array(values)
    except ValueError:
        return np.array([str(value) for value in values])
