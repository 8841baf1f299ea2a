"""Samples from folders: classes by folder, images and skeletons, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.datasets import load_folder


def skeletons(folder, names=("jump", "walk"), count=3, joints=2):
    rng = np.random.default_rng(0)
    found = {}
    for name in names:
        (folder / name).mkdir(parents=True)
        for i in range(count):
            walk = rng.standard_normal((12 + i, 3 * joints))
            found[f"{name}/{i}.csv"] = walk
            header = ",".join(f"c{j}" for j in range(3 * joints)) if i else ""
            path = folder / name / f"{i}.csv"
            np.savetxt(path, walk, delimiter=",", header=header, comments="")
    return found


def test_skeletons(tmp_path):
    written = skeletons(tmp_path / "all")
    (tmp_path / "all" / "walk" / ".hidden.csv").write_text("no")
    found = load_folder(tmp_path / "all")
    assert found.target_names == ("jump", "walk")
    assert found.names == tuple(sorted(written))
    np.testing.assert_array_equal(found.target, [0, 0, 0, 1, 1, 1])
    for name, sequence in zip(found.names, found.data, strict=True):
        np.testing.assert_allclose(sequence, written[name].reshape(len(sequence), 2, 3))


def test_images_in_colour_and_grey(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 255, (8, 6, 3), dtype=np.uint8)
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        image.fromarray(pixels).save(tmp_path / name / "1.png")
        (tmp_path / name / "notes.md").write_text("not a sample")
    found = load_folder(tmp_path)
    np.testing.assert_array_equal(found.data[1], pixels)
    assert load_folder(tmp_path, grey=True).data[0].shape == (8, 6)
    (tmp_path / "dog" / "2.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"2\.png: is not an image"):
        load_folder(tmp_path).data[2]


def test_a_folder_without_folders_is_one_class(tmp_path):
    skeletons(tmp_path)
    found = load_folder(tmp_path / "walk")
    assert found.target_names == ("walk",)
    assert len(found) == 3


def test_what_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        load_folder(tmp_path / "nowhere")
    (tmp_path / "a").mkdir()
    with pytest.raises(ValueError, match="no images and no tables"):
        load_folder(tmp_path)
    (tmp_path / "a" / "1.csv").write_text("1,2,3\n4,5,6\n")
    (tmp_path / "b").mkdir()
    with pytest.raises(ValueError, match="a folder without samples, b"):
        load_folder(tmp_path)
    (tmp_path / "b" / "1.png").write_bytes(b"")
    with pytest.raises(ValueError, match="both images and tables"):
        load_folder(tmp_path)
    (tmp_path / "b" / "1.png").unlink()
    (tmp_path / "b" / "1.csv").write_text("1,2,3,4\n4,5,6,7\n")
    with pytest.raises(ValueError, match=r"shape \(2, 4\): expected are frames × joints·3"):
        load_folder(tmp_path).data[1]
    (tmp_path / "b" / "1.csv").write_text("1,2,3\n4,x,6\n")
    with pytest.raises(ValueError, match="not numbers"):
        load_folder(tmp_path).data[1]
