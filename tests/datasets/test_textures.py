"""Textures: the photographs of scikit-image."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from spdatoms.datasets import load_textures

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")


def test_textures_are_the_photographs():
    skimage = pytest.importorskip("skimage")
    folder = Path(skimage.__file__).parent / "data"
    textures = load_textures(block=64, per_class=None)
    brick = np.asarray(Image.open(folder / "brick.png"))
    blocks = textures.subset(textures.labels == "brick")
    assert len(blocks) == 64
    for pixels, name in zip(blocks.data, blocks.names, strict=True):
        row, column = map(int, re.findall(r"\d+", name))
        np.testing.assert_array_equal(
            pixels, brick[64 * row : 64 * row + 64, 64 * column : 64 * column + 64]
        )
    assert sorted(set(blocks.groups)) == list(range(8))


def test_textures_are_balanced():
    textures = load_textures()
    assert textures.data.shape == (360, 32, 32)
    assert np.bincount(textures.target).tolist() == [60] * 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block": 1}, "block must be an integer from 2"),
        ({"block": 300}, "too large"),
        ({"per_class": 0}, "per_class must be None or an integer ≥ 1"),
    ],
)
def test_textures_refuse(options, words):
    with pytest.raises(ValueError, match=words):
        load_textures(**options)
