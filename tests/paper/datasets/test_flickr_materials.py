"""Flickr materials: images with masks, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import encode, noise, save_image, truncate
from spdatoms.paper.datasets import DatasetWarning, load_flickr_materials
from spdatoms.paper.datasets.flickr_materials import MATERIALS


def materials(folder: Path, count: int = 100) -> Path:
    mask = np.zeros((6, 8), np.uint8)
    mask[2:4, 3:6] = 255
    masked = encode(mask, "JPEG")
    images = [encode(noise(6, 8, 3, seed=i), "JPEG") for i in range(1, count + 1)]
    for material in MATERIALS:
        for kind in ("image", "mask"):
            (folder / kind / material).mkdir(parents=True)
        for i, image in enumerate(images, start=1):
            view = "final" if material == "foliage" else "moderate" if i <= count // 2 else "object"
            name = f"{material}/{material}_{view}_{i:03d}_new.jpg"
            (folder / "image" / name).write_bytes(image)
            (folder / "mask" / name).write_bytes(masked)
    (folder / "image" / "wood" / "Thumbs.db").write_text("not an image, and not meant to be one")
    return folder


@pytest.mark.slow
def test_flickr_materials(tmp_path):
    data = load_flickr_materials(materials(tmp_path))
    assert len(data) == 1000
    assert np.bincount(data.target).tolist() == [100] * 10
    counts = {view: int((data.groups == view).sum()) for view in np.unique(data.groups)}
    assert counts == {"close-up": 450, "object": 450, "unknown": 100}
    assert data.data[0].shape == (6, 8, 3)
    assert data.masks[0].dtype == bool
    assert data.masks[0].sum() == 6
    assert data.names[0] == "image/fabric/fabric_moderate_001_new.jpg"


def test_flickr_materials_damaged(tmp_path):
    materials(tmp_path, count=4)
    wood = "wood/wood_moderate_001_new.jpg"
    with pytest.raises(ValueError, match="images of fabric: 100 were expected, 4 are there"):
        load_flickr_materials(tmp_path)
    everything = load_flickr_materials(tmp_path, on_error="ignore")
    assert len(everything) == 40

    def complaint() -> str:
        with pytest.warns(DatasetWarning) as caught:
            data = load_flickr_materials(tmp_path, on_error="warn")
        assert len(data) == 39
        assert f"image/{wood}" not in data.names
        return str(caught[0].message)

    save_image(tmp_path / "mask" / wood, np.zeros((6, 8), np.uint8))
    assert f"image/{wood}: its mask is a mask without a pixel" in complaint()
    save_image(tmp_path / "mask" / wood, np.full((6, 9), 255, np.uint8))
    assert "has (6, 8) pixels, its mask (6, 9)" in complaint()
    (tmp_path / "mask" / wood).unlink()
    assert "has no mask" in complaint()
    truncate(tmp_path / "image" / wood)
    assert f"image/{wood}: " in complaint()
