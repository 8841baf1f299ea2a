"""Brodatz' texture plates, D1 … D112, and the mosaics made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from spdatoms._utils import parameters as allow
from spdatoms._utils.images import image_files, read_grey
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset, stacked

#: The plates of all releases: the common one has no D14, which leaves 111.
PLATES = tuple(i for i in range(1, 113) if i != 14)

#: Mosaics of T. Randen and J. H. Husøy, Filtering for texture classification: a comparative study, IEEE
#: Transactions on Pattern Analysis and Machine Intelligence 21 (4), 1999, that consist of Brodatz' plates.
#: Those of 5c and 16c were identified by matching the pixels of the mosaics' training textures.
MOSAICS = {
    "5c": (84, 77, 53, 24, 55),
    "10": (4, 9, 19, 21, 24, 28, 29, 36, 37, 38),
    "16c": (4, 55, 5, 29, 21, 84, 68, 6, 77, 33, 32, 57, 24, 54, 9, 3),
}
#: Mosaics whose plates are only probable.
UNCERTAIN = {"10": "its plates are probable, they were not checked against the mosaic"}

_NAME = re.compile(r"d0*(\d+)$", re.IGNORECASE)
_CROP = allow.NONE | allow.integer(1)
_LAYOUT = "the plates as D1.png, D2.png … (or .gif, .tif, .jpg)"


@allow.checks(**FOLDER, plates=allow.ITERABLE, crop=_CROP)
def load_brodatz(
    folder: PathLike,
    *,
    plates: Iterable[int] = PLATES,
    crop: int | None = None,
    on_error: str = "raise",
) -> Dataset:
    """Load texture plates, one grey image per class.

    Parameters
    ----------
    folder : path-like
        Holds, at any depth, images called ``D1.png`` … ``D112.png``, or ``d001.gif`` … ``d112.gif``;
        .tif and .jpg are read as well.
    plates : iterable of int, default=PLATES
        The numbers of the plates. The default is the 111 of the paper, all but D14.
    crop : int, default=None
        The side of the top left square to keep, in pixels; None keeps the whole plate.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do if plates are missing or cannot be read: stop, or leave them out with or without
        a warning.

    Returns
    -------
    Dataset
        ``data`` is an array (m, height, width) if all plates have the same size, otherwise `Samples`;
        8 bits per pixel. ``groups`` is the number of the plate.
    """
    problems = Problems("Brodatz", folder, _LAYOUT, on_error)
    numbers = list(plates)
    for i, plate in enumerate(numbers):
        allow.integer(1).check(f"plates[{i}]", plate)
    images = _read_plates(numbers, crop, problems)
    problems.report(len(images))
    return _dataset(images, f"Brodatz' textures, {len(images)} plates.")


@allow.checks(**FOLDER, mosaics=allow.ITERABLE, crop=_CROP)
def load_brodatz_mosaics(
    folder: PathLike,
    *,
    mosaics: Iterable[str] = tuple(MOSAICS),
    crop: int | None = 256,
    on_error: str = "raise",
) -> dict[str, Dataset]:
    """Load the classes of the texture mosaics ``"5c"``, ``"10"`` and ``"16c"``, one plate per class.

    The plates of the other mosaics in use (5v, 5v2, 5v3, 5m, 10v, 16v) are not known; `load_randen` has
    the training textures of some.

    Parameters
    ----------
    folder : path-like
        As for `load_brodatz`.
    mosaics : iterable of str, default=("5c", "10", "16c")
        Names of mosaics. The plates of 5c and 16c are certain, those of 10 probable.
    crop : int or None, default=256
        The side of the top left square to keep, in pixels; None keeps the whole plate.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        As for `load_brodatz`.

    Returns
    -------
    dict of str to Dataset
        By mosaic; ``data`` has shape (classes, 256, 256).
    """
    wanted = list(mosaics)
    for i, name in enumerate(wanted):
        allow.choice(*MOSAICS).check(f"mosaics[{i}]", name)
    problems = Problems("Brodatz", folder, _LAYOUT, on_error)
    plates = sorted({plate for name in wanted for plate in MOSAICS[name]})
    images = _read_plates(plates, crop, problems)
    problems.report(len(images))
    return {name: _mosaic(name, images) for name in wanted}


def _mosaic(name: str, images: dict[int, tuple[str, Array]]) -> Dataset:
    there = {plate: images[plate] for plate in MOSAICS[name] if plate in images}
    certainty = UNCERTAIN.get(name, "its plates were identified by matching pixels")
    return _dataset(there, f"The textures of the mosaic {name}: {certainty}.")


def _read_plates(
    plates: Iterable[int], crop: int | None, problems: Problems
) -> dict[int, tuple[str, Array]]:
    """Return the name and the pixels of each plate that can be read, and add problems of the others."""
    files: dict[int, Path] = {}
    for path in image_files(problems.folder, deep=True):
        match = _NAME.match(path.stem)
        number = int(match.group(1)) if match else 0
        if match and number in files:
            problems.add(f"is plate D{number}, and so is {problems.name(files[number])}", path)
        elif match:
            files[number] = path
    images: dict[int, tuple[str, Array]] = {}
    for plate in plates:
        if plate not in files:
            problems.add(f"no image is called D{plate}")
            continue
        with problems.noted(files[plate]):
            images[plate] = problems.name(files[plate]), _cropped(read_grey(files[plate]), crop)
    return images


def _cropped(image: Array, crop: int | None) -> Array:
    if crop is None:
        return image
    if min(image.shape) < crop:
        height, width = image.shape
        raise ValueError(f"has {height}×{width} pixels, fewer than the {crop}×{crop} to be kept")
    return image[:crop, :crop]


def _dataset(images: dict[int, tuple[str, Array]], description: str) -> Dataset:
    labels = [f"D{plate}" for plate in images]
    pixels = stacked([image for _, image in images.values()])
    names = [name for name, _ in images.values()]
    return dataset(pixels, labels, list(images), names, description, order=labels)
