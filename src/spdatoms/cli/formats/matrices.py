"""Matrices from a file, in the shape (m, n, n), and one line on what was read: format, scale, rank, estimator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.array_files import read_npy
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.tables import read_numbers
from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.formats.arrays import (
    ARRAY_FILES,
    as_stack,
    chosen,
    ends_in,
    from_rows,
    may_be_matrices,
    may_be_rows,
    may_be_signals,
    named,
    read_arrays,
)
from spdatoms.cli.formats.half_vectors import Components
from spdatoms.cli.formats.parquet import PARQUET_FILES, numbers_of, read_parquet
from spdatoms.cli.formats.samples import (
    EPOCHS_FILES,
    Covariance,
    covariances,
    folder_matrices,
    is_folder,
    read_epochs,
)
from spdatoms.cli.formats.volumes import VOLUME_FILES, Volume, read_map, read_volume
from spdatoms.cli.show import record, say
from spdatoms.scale.blocks import some_rows

#: The greatest number of matrices whose scale and rank are looked at.
_LOOKED_AT = 50
#: Every format that is read, by the name that a user knows.
_FORMATS = {
    "NumPy array": (".npy",),
    "NumPy archive": (".npz",),
    "MATLAB file": (".mat",),
    "HDF5 file": (".h5", ".hdf5"),
    "Zarr group": (".zarr",),
    "table": (".csv", ".tsv"),
    "Parquet table": PARQUET_FILES,
    "NIfTI volume": VOLUME_FILES,
    "MNE epochs": EPOCHS_FILES,
}
_ENDINGS = [ending for endings in _FORMATS.values() for ending in endings]


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
    y : ndarray of shape (m,) or None, default=None
        Their labels, if they are known.
    channels : tuple of str, default=()
        The names of their channels, if they have names.
    places : dict of str to ndarray of shape (3,)
        Where channels are on the head, in metres.
    photographs : sequence of Path, default=()
        The photograph of every matrix, if they come from such.
    options : str, default=""
        The options of the command line that they were read with, each after a space.
    """

    X: Array
    volume: Volume | None = None
    estimator: str = ""
    y: Any = None
    channels: tuple[str, ...] = ()
    places: Mapping[str, Floats] = field(default_factory=dict)
    photographs: Sequence[Path] = ()
    options: str = ""

    def photograph(self, row: int) -> Path | None:
        """Return the photograph of a matrix, if there is one."""
        return self.photographs[row] if self.photographs else None


def read_matrices(
    path: Path,
    key: str | None = None,
    mask: Path | None = None,
    components: Components | None = None,
    covariance: Covariance | None = None,
) -> Matrices:
    """Return the matrices of a file, or the covariances of its signals.

    MATLAB's (n, n, m) is transposed, a single matrix becomes a stack of one. If the shape allows both
    orders, symmetry decides.

    Parameters
    ----------
    path : Path
        The file.
    key : str or None, default=None
        The array, if there are several.
    mask : Path or None, default=None
        The voxels of a tensor volume.
    components : Components or None, default=None
        The order of the six components of a tensor, and of half-vectors.
    covariance : Covariance or None, default=None
        How covariances are estimated from signals.
    """
    voxels = None
    if mask is not None and ends_in(path, VOLUME_FILES):
        with named(mask):
            voxels = read_map(mask)
    with named(path):
        if ends_in(path, VOLUME_FILES):
            if covariance is not None:
                raise ValueError("--covariance is for signals, and a tensor volume has none")
            read = Matrices(*read_volume(path, voxels, components))
        elif mask is not None:
            raise ValueError("--mask is for tensor volumes (.nii, .nii.gz)")
        elif is_folder(path):
            X, descriptor, photographs = folder_matrices(path)
            read = Matrices(X, estimator=descriptor, photographs=photographs)
        elif ends_in(path, EPOCHS_FILES):
            signals, _, places, count = read_epochs(path)
            read = _of_signals(signals, covariance or "oas")
            some = f", {len(places)} of {count} channels" if len(places) < count else ""
            estimator = read.estimator + some
            read = replace(read, estimator=estimator, channels=tuple(places), places=places)
        else:
            array = _array(path, key, components, covariance)
            if covariance is not None:
                read = _of_signals(array, covariance)
            elif may_be_signals(array):
                raise ValueError(
                    f"the shape {array.shape} is not (m, n, n). If these are signals of {array.shape[0]} trials with "
                    f"{array.shape[1]} channels, give --covariance oas to use the covariances of the channels"
                )
            else:
                read = Matrices(as_stack(array, components))
    _announce(path, read.X, read.estimator)
    given = {"key": key, "mask": mask, "components": components, "covariance": covariance}
    options = (f" --{name} {value}" for name, value in given.items() if value is not None)
    return replace(read, options="".join(options))


def _of_signals(signals: Array, estimator: Covariance) -> Matrices:
    shape = ", ".join(map(str, signals.shape))
    return Matrices(covariances(signals, estimator), None, f"{estimator} of signals ({shape})")


@contextmanager
def complaints_about(path: Path, options: str = "") -> Iterator[None]:
    """Let an error about a matrix X[i] name the file, and a command instead of functions of Python.

    ``options`` are those that the file was read with.
    """
    listed = f"'spdatoms inspect {path}{options}' lists all such matrices"
    try:
        yield
    except ValueError as error:
        found = re.match(r"X(\[\d+\] (is|has) [^;]*)", str(error))
        if found is None:
            raise
        if found[2] == "has":
            raise ValueError(f"{path.name}{str(error)[1:]}") from error
        if "is a missing channel" in str(error):
            raise ValueError(
                f"{path.name}{found[1].rstrip('.')}: it lacks a channel. Matrices to classify or code may lack "
                f"channels, but not those to learn from: fill them in with spdatoms.SPDImputer in Python. {listed}."
            ) from error
        like = "".join(re.findall(r"They look like .*$", str(error)))
        complaint = f"{path.name}{found[1].rstrip('.')}. {like}".rstrip()
        lost = re.search(r"\] is (zero|not finite)", complaint)
        repair = "with --drop-bad there writes the others" if lost else "there writes repaired ones"
        raise ValueError(f"{complaint} {listed}, and --repaired {repair}.") from error


def _array(
    path: Path, key: str | None, order: Components | None, covariance: Covariance | None
) -> Array:
    """Return the array of a file that may be matrices, or signals if their covariances are wanted."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        if key is not None:
            raise ValueError(f"is an .npy file, which holds one array: leave out --key {key}")
        return read_npy(path)
    if suffix in ARRAY_FILES:
        arrays = read_arrays(path)
        what, may_be = "matrices", may_be_matrices
        if covariance is not None:
            what, may_be = "signals", may_be_signals
        # The last of them for the error that offers covariances.
        for other in (may_be_rows, may_be_signals):
            if not any(map(may_be, arrays.values())) and any(map(other, arrays.values())):
                may_be = other
        return chosen(arrays, key, may_be, what, "--key")
    if suffix in _FORMATS["table"]:
        numbers = read_numbers(path)
    elif suffix in PARQUET_FILES:
        columns = read_parquet(path)
        if key is not None:
            columns = {key: chosen(columns, key, lambda _: True, "matrices", "--key")}
        numbers = numbers_of(columns)
    else:
        raise ValueError(f"has the ending {suffix!r}; these are read: {', '.join(_ENDINGS)}")
    # A column of nested lists has matrices already, (m, n, n).
    return from_rows(numbers, order) if numbers.ndim == 2 else numbers


def _announce(path: Path, X: Array, estimator: str = "") -> None:
    """Say on stderr what was read, and keep it for --json; ``estimator`` is what made covariances of other data."""
    if X.ndim != 3 or not X.size:
        return  # an error follows
    name = path.name.lower()
    form = next((f for f, endings in _FORMATS.items() if name.endswith(endings)), "folder")
    found = spectra(X, _LOOKED_AT)
    scale, rank = (None, None) if found is None else map(_least_and_greatest, found[1:])
    record(
        "read",
        {
            "file": str(path),
            "format": form,
            "shape": list(X.shape),
            "dtype": str(X.dtype),
            "scale": scale,
            "rank": rank,
            "covariance": estimator or None,
        },
        several=True,
    )
    shape = ", ".join(map(str, X.shape))
    parts = [
        f"{form}, ({shape}) {X.dtype}",
        *([f"covariances by {estimator}"] if estimator else []),
    ]
    if scale is not None and rank is not None:
        parts.append(f"mean eigenvalue {_span(scale)}")
        parts.append("full rank" if min(rank) == X.shape[-1] else f"rank {_span(rank)}")
    if found is not None and len(found[0]) < len(X):  # not all, or some are not finite
        parts[-1] += f" (of {len(found[0])} that were looked at)"
    say(f"read {path}: {', '.join(parts)}")


def spectra(X: Array, most: int) -> tuple[Array, Array, Array] | None:
    """Return the eigenvalues, their means and the ranks of some matrices that are finite; None if there are none."""
    some = some_rows(X, evenly_spaced(len(X), min(most, len(X))))
    if some.dtype.kind not in "fiubc" or X.shape[1] != X.shape[2]:
        return None
    double = some.astype(np.complex128 if some.dtype.kind == "c" else np.float64)
    double = double[np.isfinite(double).all(axis=(1, 2))]
    if not len(double):
        return None
    values = np.linalg.eigvalsh((double + double.conj().swapaxes(1, 2)) / 2)
    eps = np.finfo(some.dtype if some.dtype.kind in "fc" else np.float64).eps
    sizes = abs(values)
    ranks = (sizes > X.shape[-1] * eps * sizes.max(axis=1, keepdims=True)).sum(axis=1)
    return values, np.einsum("mii->m", double).real / X.shape[-1], ranks


def _least_and_greatest(values: Array) -> list[Any]:
    return [values.min().item(), values.max().item()]


def _span(pair: list[Any]) -> str:
    """Return "2" or "2 to 3", with three digits."""
    low, high = (f"{value:.3g}" for value in pair)
    return low if low == high else f"{low} to {high}"
