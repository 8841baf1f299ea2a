"""Folders with a folder per class, of images or skeletons: what becomes matrices, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spdatoms._utils.typing import Array


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder of samples, and not a Zarr group."""
    return path.suffix.lower() != ".zarr" and path.is_dir()


def has_classes(path: Path) -> bool:
    """Return whether a path is a folder of samples with a folder per class."""
    return is_folder(path) and any(
        p.is_dir() and not p.name.startswith(".") for p in path.iterdir()
    )


def folder_matrices(path: Path) -> tuple[Array, str, Sequence[Path]]:
    """Return covariances of the samples of a folder, what they are of, and the photographs among the samples.

    Skeletons are described by the positions of joints, images in colour by colours and their derivatives, and images
    by grey values and their derivatives if one of them is grey.
    """
    from spdatoms import descriptors
    from spdatoms.datasets import load_folder
    from spdatoms.datasets.folders import folder_files, is_skeletons

    files, _ = folder_files(path)
    if is_skeletons(files[0]):
        X = descriptors.JointCovariance().transform(load_folder(path).data)
        return X, "JointCovariance", ()
    if any(map(_is_grey, files)):
        images = load_folder(path, grey=True).data
        X = descriptors.TextureCovariance(block=None).transform(images)
        return X, "TextureCovariance", files
    X = descriptors.PersonCovariance().transform(load_folder(path).data)
    return X, "PersonCovariance", files


def _is_grey(path: Path) -> bool:
    """Return whether an image has no colours, but for those of JPEG's rounding."""
    from spdatoms._utils.images import read_grey

    try:
        read_grey(path)
    except ValueError as error:
        if "colour" in str(error):
            return False
        raise ValueError(f"{path} {error}.") from error
    return True
