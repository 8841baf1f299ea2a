"""Photographs of textures that come with scikit-image: data for first tries, without a download."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.images import read_grey
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, encode

PHOTOGRAPHS = ("brick", "coins", "grass", "gravel", "page", "text")


@allow.checks(block=allow.integer(2, 10_000), per_class=allow.NONE | allow.integer(1))
def load_textures(*, block: int = 32, per_class: int | None = 60) -> Dataset:
    """Load six photographs (brick, coins, grass, gravel, page, text), cut into square blocks.

    They are files of the scikit-image package; nothing is downloaded.

    Parameters
    ----------
    block : int, default=32
        The side of a block in pixels.
    per_class : int or None, default=60
        The greatest number of blocks of each photograph, evenly spread over it. None takes all.

    Returns
    -------
    Dataset
        ``data`` has shape (m, block, block), 8 bits per pixel; ``target`` is the photograph,
        ``groups`` the row of blocks.

    Examples
    --------
    >>> from spdatoms.datasets import load_textures
    >>> textures = load_textures(per_class=10)
    >>> textures.data.shape, textures.target_names[0]
    ((60, 32, 32), 'brick')
    """
    found = []
    for name, image in photographs().items():
        cut = cut_blocks(image, block)
        rows, columns = cut.shape[:2]
        if rows * columns == 0:
            height, width = image.shape
            raise ValueError(f"block={block} is too large: {name} has {height}×{width} pixels.")
        count = min(rows * columns, per_class or rows * columns)
        for i in np.linspace(0, rows * columns - 1, count).astype(int):
            row, column = divmod(int(i), columns)
            found.append((cut[row, column], name, row, f"{name}.png[{row}, {column}]"))
    blocks, labels, groups, names = zip(*found, strict=True)
    target, target_names = encode(labels, order=PHOTOGRAPHS)
    return Dataset(
        data=np.stack(blocks),
        target=target,
        target_names=target_names,
        groups=np.array(groups),
        names=names,
        description="Blocks of six grey photographs that come with scikit-image.",
    )


def photographs() -> dict[str, Array]:
    """Return the whole photographs, grey, 8 bits per pixel."""
    folder = Path(import_extra("skimage.data", extra="vision").__file__).parent
    images: dict[str, Array] = {}
    for name in PHOTOGRAPHS:
        path = folder / f"{name}.png"
        if not path.is_file():
            raise FileNotFoundError(
                f"this version of scikit-image does not contain the photograph {path.name}: "
                "pip install -U scikit-image"
            )
        images[name] = read_grey(path)
    return images


def cut_blocks(image: Array, block: int) -> Array:
    """Return the blocks of an image side by side, (rows, columns, block, block)."""
    rows, columns = (length // block for length in image.shape)
    tiles = image[: rows * block, : columns * block].reshape(rows, block, columns, block)
    return np.asarray(tiles.swapaxes(1, 2))
