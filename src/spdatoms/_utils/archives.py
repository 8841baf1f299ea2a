"""Read arrays from .npz and .mat files; an error says what is wrong with a file."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Array


def read_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of an .npz file by key."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, AttributeError) as error:
        raise ValueError("is not an .npz file, or a damaged one") from error


def read_mat(path: Path) -> dict[str, Array]:
    """Return the numeric and text arrays of a MATLAB file (version 7 or before) by name."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        variables = loadmat(path)
    except NotImplementedError:
        raise ValueError(
            "is a MATLAB 7.3 file (HDF5), which is not read here; save it in MATLAB with '-v7'"
        ) from None
    except (MatReadError, ValueError, TypeError, IndexError, KeyError, zlib.error) as error:
        raise ValueError("is not a MATLAB file, or a damaged one") from error
    return {name: np.asarray(v) for name, v in variables.items() if not name.startswith("__")}
