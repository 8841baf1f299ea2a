"""Thumbnails of the gallery that can be read: of a wide picture they show the left part, not all of it tiny."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dark_figures import PAPER, twin_of
from PIL import Image
from sphinx.application import Sphinx

#: The greatest ratio of width to height that is shown as a whole.
_WIDEST = 1.6


def crop(source: str, target: str, width: int, height: int) -> None:
    """Write the left part of a picture, scaled to at most this size, and that of its dark twin."""
    _crop(Path(source), Path(target), width, height, "white")
    if twin_of(Path(source)).exists():
        # sphinx-gallery renames what it makes anew.
        final = Path(str(target).replace(".new.", "."))
        _crop(twin_of(Path(source)), twin_of(final), width, height, PAPER)


def _crop(source: Path, target: Path, width: int, height: int, colour: str) -> None:
    with Image.open(source) as opened:
        picture = opened.convert("RGBA")
    widest = int(_WIDEST * picture.height)
    if picture.width > widest:
        picture = picture.crop((0, 0, widest, picture.height))
    picture.thumbnail((width, height), Image.Resampling.LANCZOS)
    paper = Image.new("RGBA", (width, height), colour)
    place = (width - picture.width) // 2, (height - picture.height) // 2
    paper.paste(picture, place, picture)
    paper.convert("RGB").save(target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Put `crop` in the place of sphinx-gallery's own."""
    from sphinx_gallery import gen_rst

    gen_rst.scale_image = crop
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
