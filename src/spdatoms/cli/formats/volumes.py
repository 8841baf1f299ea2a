"""Tensor volumes of diffusion imaging as NIfTI files: six components per voxel, in one of three orders."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.array_files import refusing_damage
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Array
from spdatoms._utils.untrusted_files import PLAIN, RefusedError, check_memory, check_there
from spdatoms._utils.writing import replacing
from spdatoms.cli.formats.half_vectors import Components, from_half_vectors, which_order

VOLUME_FILES = (".nii", ".nii.gz")


#: Bytes of the numbers that scaled ones become.
_DOUBLE = 8
#: What the header of a NIfTI file says of symmetric matrices, whose order it then defines.
_SYMMETRIC = "symmetric matrix"


@dataclass(frozen=True)
class Volume:
    """Where the matrices of a volume lie in space.

    Attributes
    ----------
    image : object
        The image of the tensors, whose header and affine map results take over.
    inside : ndarray of bool, shape (x, y, z)
        The voxels that the matrices come from.
    """

    image: Any
    inside: Array

    def voxels(self, some: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the places of some of the matrices, given by their indices, in the volume."""
        return [tuple(map(int, voxel)) for voxel in np.argwhere(self.inside)[list(some)]]

    def keeping(self, some: Array) -> Volume:
        """Return where some of the matrices lie, given by their indices."""
        kept = np.zeros(np.count_nonzero(self.inside), dtype=bool)
        kept[some] = True
        inside = self.inside.copy()
        inside[self.inside] = kept
        return Volume(self.image, inside)

    def write(self, path: Path, values: Array) -> None:
        """Write values per matrix, (m, ...), as a NIfTI file that is zero in all other voxels."""
        nibabel = import_extra("nibabel", extra="mri")
        content = np.zeros((*self.inside.shape, *values.shape[1:]), dtype=np.float32)
        content[self.inside] = values
        whole = nibabel.Nifti1Image(content, self.image.affine).to_bytes()
        with replacing(path) as file:
            file.write(gzip.compress(whole) if path.suffix.lower() == ".gz" else whole)


def read_volume(path: Path, mask: Array | None, order: Components | None) -> tuple[Array, Volume]:
    """Return the tensors inside the mask, or else all that are not zero, and where they lie."""
    image = _load(path)
    with refusing_damage("a NIfTI volume"):
        data = np.asarray(image.dataobj)
    if data.ndim == 5 and data.shape[3] == 1:  # as the standard wants it: x, y, z, time, component
        data = data[:, :, :, 0]
    inside = _inside(mask, data) if data.ndim > 3 else np.empty(0)
    if data.ndim == 5 and data.shape[3:] == (3, 3):
        return data[inside], Volume(image, inside)
    if data.ndim != 4 or data.shape[3] != 6:
        raw = ". If these are raw diffusion-weighted images, fit tensors first (dipy, FSL dtifit, dwi2tensor)"
        several = data.ndim == 4 and data.shape[3] > 1
        raise ValueError(
            f"the shape {data.shape} is not (x, y, z, 6) or (x, y, z, 3, 3){raw if several else ''}"
        )
    components = data[inside]
    if order is None and image.header.get_intent()[0] == _SYMMETRIC:
        order = "dipy"
    if order is None:
        raise ValueError(
            f"has six components per voxel, and does not say in which order: {which_order(components)}"
        )
    return from_half_vectors(components, order), Volume(image, inside)


def read_map(path: Path) -> Array:
    """Return a volume with one number per voxel, such as a mask or labels, (x, y, z)."""
    with refusing_damage("a NIfTI map"):
        values = np.asarray(_load(path).dataobj)
    if values.shape[3:] == (1,):
        values = values[:, :, :, 0]
    return values


def _load(path: Path) -> Any:
    """Return an image whose numbers are not read yet, but known to be numbers, and there."""
    nibabel = import_extra("nibabel", extra="mri")
    with refusing_damage("a NIfTI volume"):
        # Not `nibabel.load`, which also looks for formats that hold more than numbers.
        kinds = (nibabel.Nifti1Image, nibabel.Nifti2Image)
        kind = next(kind for kind in kinds if kind.path_maybe_image(path)[0])
        image = kind.from_filename(path)
        dtype = image.get_data_dtype()
        if dtype.kind not in PLAIN:
            raise RefusedError(f"holds an array of the type {dtype}, not numbers")
        check_there(math.prod(image.shape) * dtype.itemsize, path)
        check_memory(image.shape, max(dtype.itemsize, _DOUBLE))
        return image


def _inside(mask: Array | None, data: Array) -> Array:
    if mask is None:
        return np.asarray((data != 0).any(axis=tuple(range(3, data.ndim))))
    inside: Array = mask != 0
    if inside.shape != data.shape[:3]:
        raise ValueError(f"--mask has the shape {inside.shape}, but the volume {data.shape[:3]}")
    if not inside.any():
        raise ValueError("--mask is zero everywhere")
    return inside
