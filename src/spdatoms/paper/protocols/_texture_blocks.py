"""Textures as 5×5 covariances of (I, |Ix|, |Iy|, |Ixx|, |Iyy|), grey values from 0 to 255."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Floats
from spdatoms.descriptors.pixels import texture_features
from spdatoms.descriptors.regions import region_covariances

Image = NDArray[Any]

BLOCK = 32


def side_by_side(image: Image) -> Floats:
    """Return the covariances of the blocks of an image, cut side by side."""
    return np.asarray(region_covariances(texture_features(image), block=BLOCK))


def pixels_side_by_side(image: Image) -> Image:
    """Return the blocks themselves, (count, 32, 32), in the order of `side_by_side`."""
    rows, columns = (n // BLOCK for n in image.shape)
    cut = image[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    return cut.swapaxes(1, 2).reshape(-1, BLOCK, BLOCK)


def of_whole(images: Iterable[Image]) -> Floats:
    """Return a covariance for each of many small images."""
    return np.concatenate([region_covariances(texture_features(image)) for image in images])


def at_random(image: Image, count: int, rng: np.random.Generator) -> Floats:
    """Return the covariances of blocks at random places, which may overlap."""
    corners = np.stack([rng.integers(0, n - BLOCK + 1, count) for n in image.shape], axis=1)
    rectangles = np.concatenate([corners, corners + BLOCK], axis=1)
    return np.asarray(region_covariances(texture_features(image), rectangles=rectangles))


def without_overlap(image: Image, count: int, rng: np.random.Generator) -> Floats:
    """Return the covariances of some of the blocks that lie side by side, in random order: no two share a pixel."""
    found = side_by_side(image)
    if len(found) < count:
        raise ValueError(
            f"An image of {image.shape[0]}×{image.shape[1]} pixels has {len(found)} blocks of {BLOCK}×{BLOCK} side "
            f"by side, but {count} are needed."
        )
    return np.asarray(found[rng.permutation(len(found))[:count]])


def resampled(image: Image, side: int) -> Floats:
    """Return an image at side × side pixels, grey values as before."""
    resize = import_extra("skimage.transform", extra="vision").resize
    return np.asarray(resize(image, (side, side), preserve_range=True, anti_aliasing=True))
