"""Image files: find them in a folder, read them as grey or colour, refuse them with a reason."""

from __future__ import annotations

import bz2
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.extras import import_extra
from spdatoms._utils.untrusted_files import IMAGE_FORMATS, MOST_UNPACKED

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".pgm", ".ppm")
#: The channels of grey images that were stored in colour differ by rounding errors (of JPEG).
_GREY_TOLERANCE = 8


def image_files(folder: Path, *, deep: bool = False) -> Iterator[Path]:
    """Yield the images in a folder, or anywhere below it, in the order of their names."""
    for path in sorted(folder.rglob("*") if deep else folder.iterdir()):
        name = path.name.lower().removesuffix(".bz2")
        if name.endswith(IMAGES) and not name.startswith(".") and path.is_file():
            yield path


def read_colour(path: Path, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Return an image as (height, width, 3); with `size`, resampled to that height and width."""
    return np.asarray(_resized(_decoded(path).convert("RGB"), size))


def read_grey(path: Path, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Return an image as (height, width), refusing one that is in colour."""
    image = _decoded(path)
    if image.mode.startswith("I"):  # 16 bits per pixel
        image = import_extra("PIL.Image", extra="vision").fromarray(
            (np.asarray(image) // 257).astype(np.uint8)
        )
    if image.mode not in ("1", "L", "LA"):
        colours = np.asarray(image.convert("RGB"), dtype=np.int16)
        if np.ptp(colours, axis=-1).max(initial=0) > _GREY_TOLERANCE:
            raise ValueError("is a colour image, where grey is expected")
    return np.asarray(_resized(image.convert("L"), size))


def read_luminance(path: Path) -> NDArray[np.uint8]:
    """Return an image as (height, width), with the luminance of colours."""
    return np.asarray(_decoded(path).convert("L"))


def read_mask(path: Path) -> NDArray[np.bool_]:
    """Return which pixels of a mask are bright, refusing a mask without bright pixels."""
    mask = np.asarray(_decoded(path).convert("L")) > 127
    if not mask.any():
        raise ValueError("is a mask without a pixel")
    return np.asarray(mask)


def _decoded(path: Path) -> Any:
    image = import_extra("PIL.Image", extra="vision")
    try:
        source = io.BytesIO(_unpacked(path)) if path.suffix == ".bz2" else path
        with image.open(source, formats=IMAGE_FORMATS) as opened:
            opened.load()
            return opened
    except image.UnidentifiedImageError:
        raise ValueError("is not an image, or a damaged one") from None
    except (OSError, SyntaxError, ValueError, EOFError, image.DecompressionBombError) as error:
        raise ValueError(f"cannot be read ({error})") from error


def _unpacked(path: Path) -> bytes:
    unpacking = bz2.BZ2Decompressor()
    content = unpacking.decompress(path.read_bytes(), MOST_UNPACKED)
    if not unpacking.eof:
        raise ValueError(f"ends early, or unpacks to more than {MOST_UNPACKED >> 20} MiB")
    return content


def _resized(image: Any, size: tuple[int, int] | None) -> Any:
    if size is None:
        return image
    height, width = size
    resampling = import_extra("PIL.Image", extra="vision").Resampling
    return image.resize((width, height), resampling.BILINEAR)
