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
from spdatoms.cli.formats._stack import (
    as_stack,
    from_rows,
    may_be_matrices,
    may_be_rows,
    may_be_signals,
)
from spdatoms.cli.formats._tables import (
    PARQUET_FILES,
    TEXT_FILES,
    numbers_of,
    read_numbers,
    read_parquet,
)
from spdatoms.cli.formats.announcement import announce
from spdatoms.cli.formats.folders import folder_matrices, is_folder
from spdatoms.cli.formats.half_vectors import Components
from spdatoms.cli.formats.signals import EPOCHS_FILES, Covariance, covariances, read_epochs
from spdatoms.cli.formats.volumes import VOLUME_FILES, Volume, read_volume

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
    estimator : str, default=""
        How they were estimated, if they are covariances of signals.
    """

    X: Array
    volume: Volume | None = None
    estimator: str = ""


def read_matrices(source: Source) -> Matrices:
    """Return the matrices of a file, or the covariances of its signals.

    MATLAB's (n, n, m) is transposed, a single matrix becomes a stack of one. If the shape allows both
    orders, symmetry decides.
    """
    with named(source.path):
        _refuse_idle_options(source)
        read = _read(source)
    announce(source.path, read.X, read.estimator)
    return read


def _read(source: Source) -> Matrices:
    path, order = source.path, source.components
    if is_folder(path):
        X, descriptor = folder_matrices(path)
        return Matrices(X, None, descriptor)
    if ends_in(path, VOLUME_FILES):
        tensors, volume = read_volume(path, source.mask, order)
        return Matrices(tensors, volume)
    if ends_in(path, EPOCHS_FILES):
        return _of_signals(read_epochs(path)[0], source.covariance or Covariance.oas)
    array = _array(path, source.key, order, signals=source.covariance is not None)
    if source.covariance is not None:
        return _of_signals(array, source.covariance)
    if may_be_signals(array):
        raise ValueError(
            f"the shape {array.shape} is not (m, n, n). If these are signals of {array.shape[0]} trials "
            f"with {array.shape[1]} channels, give --covariance oas to use the covariances of the channels"
        )
    return Matrices(as_stack(array, order))


def _of_signals(signals: Array, estimator: Covariance) -> Matrices:
    shape = ", ".join(map(str, signals.shape))
    return Matrices(covariances(signals, estimator), None, f"{estimator} of signals ({shape})")


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
            f"{path.name}{found[1].rstrip('.')}. {_likeness(str(error))}'spdatoms inspect {path}' lists all such "
            "matrices, and --repaired there writes repaired ones."
        ) from error


def _likeness(message: str) -> str:
    """Return what an error message says matrices look like, or nothing."""
    found = re.search(r"They look like .*$", message)
    return f"{found[0]} " if found else ""


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file that holds several, by name."""
    return read_npz(path) if path.suffix.lower() == ".npz" else read_apart(path)


def ends_in(path: Path, suffixes: tuple[str, ...]) -> bool:
    """Return whether a name has one of these endings, upper or lower case."""
    return path.name.lower().endswith(suffixes)


def _array(path: Path, key: str | None, order: Components | None, *, signals: bool) -> Array:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        if key is not None:
            raise ValueError(f"is an .npy file, which holds one array: leave out --key {key}")
        return read_npy(path)
    if suffix in ARRAY_FILES:
        may_be = may_be_signals if signals else may_be_matrices
        what = "signals" if signals else "matrices"
        arrays = read_arrays(path)
        for other in (
            may_be_rows,
            may_be_signals,
        ):  # the latter for the error that offers covariances
            if not any(map(may_be, arrays.values())) and any(map(other, arrays.values())):
                may_be = other
        return chosen(arrays, key, may_be, what, "--key")
    if suffix in MATRIX_FILES and suffix in TEXT_FILES:
        return _of_table(read_numbers(path), order)
    if suffix in PARQUET_FILES:
        columns = read_parquet(path)
        if key is not None:
            columns = {key: chosen(columns, key, lambda _: True, "matrices", "--key")}
        return _of_table(numbers_of(columns), order)
    raise ValueError(f"has the ending {suffix!r}; these are read: {', '.join(MATRIX_FILES)}")


def _of_table(numbers: Array, order: Components | None) -> Array:
    """Return the matrices of rows of numbers; a column of nested lists has them already, (m, n, n)."""
    return from_rows(numbers, order) if numbers.ndim == 2 else numbers


def _refuse_idle_options(source: Source) -> None:
    """Refuse options that a format does not have, rather than ignore them."""
    is_volume = ends_in(source.path, VOLUME_FILES)
    if not is_volume and source.mask is not None:
        raise ValueError("--mask is for tensor volumes (.nii, .nii.gz)")
    if is_volume and source.covariance is not None:
        raise ValueError("--covariance is for signals, and a tensor volume has none")
