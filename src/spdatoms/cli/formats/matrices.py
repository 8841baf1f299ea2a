"""Matrices from a file, in the shape (m, n, n)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spdatoms._utils.archives import read_apart, read_npy, read_npz
from spdatoms._utils.typing import Array
from spdatoms.cli.formats._named import chosen, named
from spdatoms.cli.formats._stack import as_stack, from_rows, may_be_matrices, may_be_signals
from spdatoms.cli.formats._tables import (
    PARQUET_FILES,
    TEXT_FILES,
    numbers_of,
    read_numbers,
    read_parquet,
)
from spdatoms.cli.formats.signals import EPOCHS_FILES, Covariance, covariances, read_epochs
from spdatoms.cli.formats.volumes import VOLUME_FILES, Components, Volume, read_volume

ARRAY_FILES = (".npz", ".mat", ".h5", ".hdf5", ".zarr")
#: Every format that is read.
MATRIX_FILES = (
    ".npy",
    *ARRAY_FILES,
    *(suffix for suffix in TEXT_FILES if suffix != ".txt"),
    *PARQUET_FILES,
    *VOLUME_FILES,
    ".fif",
)


@dataclass(frozen=True)
class Source:
    """A file of matrices, and how to read it.

    Attributes
    ----------
    path : Path
        The file.
    key : str or None, default=None
        The array, if there are several.
    mask : Path or None, default=None
        The voxels of a tensor volume.
    components : Components or None, default=None
        The order of the six components of a tensor.
    covariance : Covariance or None, default=None
        How covariances are estimated from signals.
    """

    path: Path
    key: str | None = None
    mask: Path | None = None
    components: Components | None = None
    covariance: Covariance | None = None


@dataclass(frozen=True)
class Matrices:
    """Matrices that were read, not checked yet.

    Attributes
    ----------
    X : ndarray of shape (m, n, n)
        The matrices.
    volume : Volume or None, default=None
        Where they lie in space, if they come from a volume.
    """

    X: Array
    volume: Volume | None = None


def read_matrices(source: Source) -> Matrices:
    """Return the matrices of a file, or the covariances of its signals.

    MATLAB's (n, n, m) is transposed, a single matrix becomes a stack of one. If the shape allows both
    orders, symmetry decides.
    """
    path = source.path
    with named(path):
        _refuse_idle_options(source)
        if ends_in(path, VOLUME_FILES):
            tensors, volume = read_volume(path, source.mask, source.components)
            return Matrices(tensors, volume)
        if ends_in(path, EPOCHS_FILES):
            return Matrices(covariances(read_epochs(path)[0], source.covariance or Covariance.oas))
        array = _array(path, source.key, signals=source.covariance is not None)
        if source.covariance is not None:
            return Matrices(covariances(array, source.covariance))
        if may_be_signals(array):
            raise ValueError(
                f"the shape {array.shape} is not (m, n, n). If these are signals of {array.shape[0]} trials "
                f"with {array.shape[1]} channels, give --covariance oas to use the covariances of the channels"
            )
        return Matrices(as_stack(array))


@contextmanager
def complaints_about(path: Path) -> Iterator[None]:
    """Let an error about a matrix X[i] name the file, and a command instead of functions of Python."""
    try:
        yield
    except ValueError as error:
        found = re.match(r"X(\[\d+\] (is|has) [^;]*)", str(error))
        if found is None:
            raise
        if found[2] == "has":
            raise ValueError(f"{path.name}{str(error)[1:]}") from error
        raise ValueError(
            f"{path.name}{found[1].rstrip('.')}. 'spdatoms inspect {path}' lists all such matrices, and "
            "--repaired there writes repaired ones."
        ) from error


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file that holds several, by name."""
    return read_npz(path) if path.suffix.lower() == ".npz" else read_apart(path)


def ends_in(path: Path, suffixes: tuple[str, ...]) -> bool:
    """Return whether a name has one of these endings, upper or lower case."""
    return path.name.lower().endswith(suffixes)


def _array(path: Path, key: str | None, *, signals: bool) -> Array:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        if key is not None:
            raise ValueError(f"is an .npy file, which holds one array: leave out --key {key}")
        return read_npy(path)
    if suffix in ARRAY_FILES:
        may_be = may_be_signals if signals else may_be_matrices
        what = "signals" if signals else "matrices"
        arrays = read_arrays(path)
        if not any(map(may_be, arrays.values())) and any(map(may_be_signals, arrays.values())):
            may_be = may_be_signals  # for the error that offers covariances
        return chosen(arrays, key, may_be, what, "--key")
    if suffix in MATRIX_FILES and suffix in TEXT_FILES:
        return from_rows(read_numbers(path))
    if suffix in PARQUET_FILES:
        columns = read_parquet(path)
        if key is not None:
            columns = {key: chosen(columns, key, lambda _: True, "matrices", "--key")}
        return from_rows(numbers_of(columns))
    raise ValueError(f"has the ending {suffix!r}; these are read: {', '.join(MATRIX_FILES)}")


def _refuse_idle_options(source: Source) -> None:
    """Refuse options that a format does not have, rather than ignore them."""
    is_volume = ends_in(source.path, VOLUME_FILES)
    if not is_volume and (source.mask is not None or source.components is not None):
        raise ValueError("--mask and --components are for tensor volumes (.nii, .nii.gz)")
    if is_volume and source.covariance is not None:
        raise ValueError("--covariance is for signals, and a tensor volume has none")
