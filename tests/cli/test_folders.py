"""Commands on folders of images and skeletons, a folder per class."""

from __future__ import annotations

import json

import numpy as np
import pytest

from _commands import invoke, run


def skeletons(folder, seed, count=8):
    rng = np.random.default_rng(seed)
    for name, scale in (("still", 1.0), ("wild", 4.0)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            walk = rng.standard_normal((30, 6)) * [scale, 1, 1, 1, 1, scale]
            np.savetxt(folder / name / f"{i}.csv", walk, delimiter=",")
    return folder


def test_skeletons_are_classified_by_their_folders(tmp_path):
    train, test = skeletons(tmp_path / "train", 0), skeletons(tmp_path / "test", 1)
    command = ("classify", "--train", f"{train}/", "--test", test, "--json")
    found = json.loads(invoke(*command).stdout)
    assert [read["covariance"] for read in found["read"]] == ["JointCovariance"] * 2
    assert found["read"][0]["shape"] == [16, 6, 6]
    assert found["accuracy"] > 0.8
    flat = run("classify", "--train", train, "--test", test / "wild")
    assert flat.count("wild") >= 6  # labels of a folder without folders are not known
    assert "RSR-S" in run("compare", train, "--cv", "2")


@pytest.mark.parametrize("grey", [False, True])
def test_images_are_described_by_colours_unless_one_is_grey(tmp_path, grey):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(3):
            pixels = rng.integers(0, 255, (16, 12, 3), dtype=np.uint8)
            one = image.fromarray(pixels[..., 0] if grey and i == 2 else pixels)
            one.save(tmp_path / name / f"{i}.png")
    result = invoke("inspect", tmp_path, "--json")
    (read,) = json.loads(result.stdout)["read"]
    expected = ("TextureCovariance", [6, 5, 5]) if grey else ("PersonCovariance", [6, 17, 17])
    assert (read["covariance"], read["shape"]) == expected


def test_a_folder_of_nothing(tmp_path):
    assert "no images and no tables" in run("inspect", tmp_path, code=1)
