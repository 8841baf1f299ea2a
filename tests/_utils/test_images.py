"""Images are those of a few formats, whatever the file is called, and of a bounded size."""

from __future__ import annotations

import bz2

import numpy as np
import pytest

from spdatoms._utils import images

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")


def test_postscript_is_not_run(tmp_path):
    """Pillow would give it to a program, Ghostscript, because it looks at the content and not at the name."""
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "x.eps")
    (tmp_path / "x.eps").rename(tmp_path / "x.png")
    with pytest.raises(ValueError, match="is not an image, or a damaged one"):
        images.read_grey(tmp_path / "x.png")


@pytest.mark.parametrize("suffix", images.IMAGES)
def test_all_endings_are_read(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    Image.fromarray(np.full((4, 5), 7, np.uint8)).save(path)
    assert images.read_grey(path).shape == (4, 5)
    packed = tmp_path / f"x{suffix}.bz2"
    packed.write_bytes(bz2.compress(path.read_bytes()))
    np.testing.assert_array_equal(images.read_grey(packed), images.read_grey(path))


def test_bombs_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.pgm.bz2"
    path.write_bytes(bz2.compress(b"P5 2000 1000 255\n" + bytes(2 * 10**6)))
    monkeypatch.setattr(images, "MOST_UNPACKED", 1 << 20)
    with pytest.raises(ValueError, match="unpacks to more than 1 MiB"):
        images.read_grey(path)
    monkeypatch.undo()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**5)
    with pytest.raises(ValueError, match="decompression bomb"):
        images.read_grey(path)
