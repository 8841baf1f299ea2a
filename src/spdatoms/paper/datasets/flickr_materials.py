"""The Flickr Material Database: ten materials, a hundred photographs each, with masks."""

from __future__ import annotations

from pathlib import Path

from spdatoms._utils import parameters as allow
from spdatoms._utils.images import image_files, read_colour, read_mask
from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset

MATERIALS = (
    "fabric",
    "foliage",
    "glass",
    "leather",
    "metal",
    "paper",
    "plastic",
    "stone",
    "water",
    "wood",
)
PER_MATERIAL = 100

_LAYOUT = "image/<material>/*.jpg and mask/<material>/*.jpg"


@allow.checks(**FOLDER)
def load_flickr_materials(folder: PathLike, *, on_error: str = "raise") -> Dataset:
    """Load the photographs and masks of the ten materials.

    Parameters
    ----------
    folder : path-like
        The unpacked release: ``image/fabric/fabric_moderate_001_new.jpg`` … and a mask of the same name
        below ``mask``.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do about images or masks that are missing, cannot be read, differ in size or have no
        pixel: stop, or leave them out with or without a warning.

    Returns
    -------
    Dataset
        ``data`` are colour images (height, width, 3) and ``masks`` the pixels of the object, both read
        when they are used; ``groups`` is ``close-up`` (``moderate`` in the names of the files),
        ``object``, or ``unknown`` for other names.
    """
    problems = Problems("Flickr materials", folder, _LAYOUT, on_error)
    images, masks = list[Path](), list[Path]()
    for name in problems.folders(f"image/{material}" for material in MATERIALS):
        found = list(image_files(problems.folder / name))
        material = Path(name).name
        problems.expect(f"images of {material}", len(found), PER_MATERIAL)
        for image in found:
            mask = problems.folder / "mask" / material / image.name
            with problems.noted(image):
                _check_pair(image, mask)
                images.append(image)
                masks.append(mask)
    problems.report(len(images))
    return dataset(
        Samples(images, read_colour),
        [image.parent.name for image in images],
        [_view(path) for path in images],
        map(problems.name, images),
        f"Flickr Material Database: {len(images)} photographs of ten materials.",
        order=MATERIALS,
        masks=Samples(masks, read_mask),
    )


def _check_pair(image: Path, mask: Path) -> None:
    """Refuse an image or mask that cannot be used; errors of the mask name the image."""
    shape = read_colour(image).shape[:2]
    if not mask.exists():
        raise ValueError("has no mask of that name below mask")
    try:
        mask_shape = read_mask(mask).shape
    except ValueError as error:
        raise ValueError(f"its mask {error}") from error
    if mask_shape != shape:
        raise ValueError(f"has {shape} pixels, its mask {mask_shape}")


def _view(path: Path) -> str:
    if "_object_" in path.name:
        return "object"
    return "close-up" if "_moderate_" in path.name else "unknown"
