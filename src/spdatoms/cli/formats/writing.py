"""Arrays and tables to files, each of which gets its name when it is whole."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from spdatoms._utils.tables import write_rows
from spdatoms._utils.typing import Array
from spdatoms._utils.writing import replacing
from spdatoms.cli.formats.volumes import VOLUME_FILES, Volume


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
            with replacing(path) as file:
                np.savez(file, **cast(Any, arrays))
        case ".npy":
            with replacing(path) as file:
                np.save(file, first)
        case ".mat":
            _write_mat(path, arrays)
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
    with replacing(path) as file:
        write_rows(
            codecs.getwriter("utf-8")(file), [list(columns), *zip(*columns.values(), strict=True)]
        )


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
