"""Textures: Brodatz's plates, Randen's mosaics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import all_or_nothing, noise, save_image, truncate
from spdatoms.datasets import Samples
from spdatoms.paper.datasets import load_brodatz, load_brodatz_mosaics, load_randen
from spdatoms.paper.datasets.brodatz import MOSAICS

pytest.importorskip("PIL.Image", reason="needs the extra vision")


def plates(folder: Path, numbers, size: int = 40, name: str = "D{}.png") -> Path:
    for i in numbers:
        save_image(folder / name.format(i), noise(size, size, seed=i))
    return folder


@pytest.mark.parametrize("name", ["D{}.png", "D{}.gif", "d{:03d}.tif", "sub/D{}.bmp"])
def test_brodatz_names(tmp_path, name):
    plates(tmp_path, (1, 2, 112), name=name)
    data = load_brodatz(tmp_path, plates=(2, 112), crop=32)
    assert data.target_names == ("D2", "D112")
    assert data.groups.tolist() == [2, 112]
    np.testing.assert_array_equal(data.data[1], noise(40, 40, seed=112)[:32, :32])


def test_brodatz_wants_111_plates(tmp_path):
    plates(tmp_path, range(1, 112), size=8)  # all but D112, and D14 is none of the 111
    data = all_or_nothing(load_brodatz, tmp_path, "no image is called", "D112[.;]")
    assert len(data) == 110
    assert "D14" not in data.target_names
    with pytest.raises(ValueError, match=r"D112\. Complete the folder, or use what is there"):
        load_brodatz(tmp_path)


def test_brodatz_bad_plates(tmp_path):
    plates(tmp_path, (1, 2, 3))
    truncate(tmp_path / "D2.png")
    data = all_or_nothing(load_brodatz, tmp_path, "D2.png", "cannot be read", plates=(1, 2, 3))
    assert data.target_names == ("D1", "D3")
    (tmp_path / "D2.png").write_text("this is no image")
    all_or_nothing(load_brodatz, tmp_path, "D2.png", "is not an image", plates=(1, 2, 3))
    save_image(tmp_path / "D2.png", noise(40, 40, 3))
    all_or_nothing(load_brodatz, tmp_path, "D2.png", "is a colour image", plates=(1, 2, 3))
    save_image(tmp_path / "D2.png", noise(20, 40))
    all_or_nothing(load_brodatz, tmp_path, "D2.png", "20×40 pixels", plates=(1, 2, 3), crop=32)


def test_brodatz_plate_twice(tmp_path):
    plates(tmp_path, (1, 2))
    plates(tmp_path, (2,), name="D{}.tif")
    all_or_nothing(load_brodatz, tmp_path, "D2.tif", "is plate D2, and so is D2.png", plates=(1, 2))


def test_grey_in_other_clothes(tmp_path):
    grey = noise(40, 40)
    save_image(tmp_path / "D1.png", np.repeat(grey[..., None], 3, axis=2))
    save_image(tmp_path / "D2.png", grey.astype(np.uint16) * 257)
    save_image(tmp_path / "D3.png", grey)
    data = load_brodatz(tmp_path, plates=(1, 2, 3))
    assert (data.data == grey).all()


def test_plates_of_different_size(tmp_path):
    save_image(tmp_path / "D1.png", noise(10, 12))
    save_image(tmp_path / "D2.png", noise(14, 10))
    data = load_brodatz(tmp_path, plates=(1, 2))
    assert isinstance(data.data, Samples)
    assert [image.shape for image in data.data] == [(10, 12), (14, 10)]


def test_mosaics(tmp_path):
    plates(tmp_path, sorted({i for numbers in MOSAICS.values() for i in numbers}), size=300)
    mosaics = load_brodatz_mosaics(tmp_path)
    assert {name: len(data) for name, data in mosaics.items()} == {"5c": 5, "10": 10, "16c": 16}
    five = mosaics["5c"]
    assert five.target_names == ("D84", "D77", "D53", "D24", "D55")
    assert five.data.shape == (5, 256, 256)
    np.testing.assert_array_equal(five.data[0], noise(300, 300, seed=84)[:256, :256])
    assert "probable" in mosaics["10"].description
    assert "probable" not in five.description
    with pytest.raises(ValueError, match=r"mosaics\[0\] must be '5c', '10' or '16c', got '5v'"):
        load_brodatz_mosaics(tmp_path, mosaics=["5v"])


def test_randen(tmp_path):
    strips = {f"case{c}_class0{k}": noise(7, 7, 32, 16, seed=c * k) for c in (1, 2) for k in (1, 2)}
    np.savez(tmp_path / "strips.npz", **strips)
    save_image(tmp_path / "case1_5c_class2_224x224.png", noise(224, 224))
    mosaics = load_randen(tmp_path)
    assert list(mosaics) == ["5c", "5v"]
    five = mosaics["5c"]
    assert five.data.shape == (98, 32, 16)
    np.testing.assert_array_equal(five.data[49 + 7 + 2], strips["case1_class02"][1, 2])
    assert five.groups[49 + 7 + 2] == 1
    assert "probable" in mosaics["5v"].description
    images = load_randen(tmp_path, kind="images")["5c"]
    np.testing.assert_array_equal(images.data[0], noise(224, 224))
    with pytest.raises(ValueError, match="kind must be"):
        load_randen(tmp_path, kind="sounds")


def test_randen_damaged(tmp_path):
    np.savez(tmp_path / "strips.npz", case1_class01=noise(7, 7, 32, 16))
    (tmp_path / "worse.npz").write_bytes(b"PK not really")
    all_or_nothing(load_randen, tmp_path, "worse.npz", "damaged")
    np.savez(tmp_path / "worse.npz", case1_class02=noise(7, 7))
    all_or_nothing(
        load_randen,
        tmp_path,
        "worse.npz",
        r"case1_class02 has shape \(7, 7\), not \(rows, columns, h",
    )


@pytest.mark.parametrize(
    ("kind", "layout"), [("patches", "a .npz file"), ("images", "grey images")]
)
def test_randen_asks_for_what_it_reads(tmp_path, kind, layout):
    with pytest.raises(FileNotFoundError, match=f"Give the folder that holds {layout}"):
        load_randen(tmp_path / "nowhere", kind=kind)
    with pytest.raises(ValueError, match=f"it does not hold {layout}"):
        load_randen(tmp_path, kind=kind)
