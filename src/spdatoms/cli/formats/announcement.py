"""One line on what was read: format, shape, scale, rank, and how covariances were estimated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import Array
from spdatoms.cli.formats.parquet import PARQUET_FILES
from spdatoms.cli.formats.signals import EPOCHS_FILES
from spdatoms.cli.formats.volumes import VOLUME_FILES
from spdatoms.cli.show import record, say
from spdatoms.scale.blocks import some_rows

#: The greatest number of matrices whose scale and rank are looked at.
_LOOKED_AT = 50
_FORMATS: dict[str, str | tuple[str, ...]] = {
    "NumPy array": ".npy",
    "NumPy archive": ".npz",
    "MATLAB file": ".mat",
    "HDF5 file": (".h5", ".hdf5"),
    "Zarr group": ".zarr",
    "table": (".csv", ".tsv"),
    "Parquet table": PARQUET_FILES,
    "NIfTI volume": VOLUME_FILES,
    "MNE epochs": EPOCHS_FILES,
}


def announce(path: Path, X: Array, estimator: str = "") -> None:
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
