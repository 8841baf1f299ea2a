"""Arrays and tables to files, each of which gets its name when it is whole."""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.tables import write_rows
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array
from spdatoms._utils.writing import replacing
from spdatoms.cli.formats.volumes import VOLUME_FILES, Volume
from spdatoms.scale.blocks import blocks
from spdatoms.scale.budget import is_streamed

#: Rows of a table that are written at a time.
_ROWS = 1 << 14


def write_arrays(path: Path, arrays: Mapping[str, Array], volume: Volume | None = None) -> None:
    """Write arrays: all to .npz and .mat, the first to .npy and NIfTI, those as long as the first to .csv."""
    first = next(iter(arrays.values()))
    if path.name.lower().endswith(VOLUME_FILES):
        if volume is None:
            raise ValueError(f"{path}: only results of a tensor volume can be a NIfTI file.")
        volume.write(path, first)
        return
    match path.suffix.lower():
        case ".npz":
            with replacing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        _write_npy(member, np.asanyarray(array))
        case ".npy":
            with replacing(path) as file:
                _write_npy(file, first)
        case ".mat":
            _write_mat(path, arrays)
        case _:
            columns: dict[str, Array] = {}
            for name, array in arrays.items():
                if array.ndim == 1 and len(array) == len(first):
                    columns[name] = array
                elif array.ndim == 2 and len(array) == len(first):
                    columns |= {f"{name}_{j}": column for j, column in enumerate(array.T)}
            write_table(path, columns)


def write_table(path: Path, columns: Mapping[str, Array]) -> None:
    """Write columns of the same length as .csv, with their names in the first line."""
    count = len(next(iter(columns.values())))
    with replacing(path) as file:
        text = codecs.getwriter("utf-8")(file)
        write_rows(text, [list(columns)])
        for some in block_slices(count, _ROWS):
            write_rows(text, zip(*(c[some].tolist() for c in columns.values()), strict=True))


def _write_npy(file: Any, array: Array) -> None:
    """Write an array as .npy, some rows of a long one at a time."""
    if not is_streamed(array):
        np.save(file, array, allow_pickle=False)
        return
    header = np.lib.format.header_data_from_array_1_0(array) | {"fortran_order": False}
    np.lib.format.write_array_header_1_0(file, header)
    for _, block in blocks(array):
        file.write(np.ascontiguousarray(block).data.cast("B"))


def _write_mat(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write a MATLAB file: matrices as (n, n, m), names as a cell array."""
    from scipy.io import savemat

    def of_matlab(array: Array) -> Any:
        if array.ndim == 3:
            return array.transpose(1, 2, 0)
        if array.ndim == 0:
            return array.item()
        return array.astype(object) if array.dtype.kind == "U" else array

    with replacing(path) as file:
        savemat(file, {name: of_matlab(np.asarray(a)) for name, a in arrays.items()})
