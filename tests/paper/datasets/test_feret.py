"""FERET: covariances, an archive of images, image files, folders by pose."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from _folders import all_or_nothing, encode, noise, save_image
from _matrices import random_spd
from spdatoms.paper.datasets import load_feret
from spdatoms.paper.datasets.feret import POSES


def face_covariances(folder: Path, people: int = 200) -> np.ndarray:
    stacks = random_spd(7 * people, 3).reshape(7, people, 3, 3)
    for pose, stack in zip(POSES, stacks, strict=True):
        scipy.io.savemat(folder / f"{pose}.mat", {"features": stack.transpose(1, 2, 0)})
    return stacks


@pytest.mark.slow
def test_feret_covariances(tmp_path):
    stacks = face_covariances(tmp_path)
    faces = load_feret(tmp_path)
    np.testing.assert_array_equal(faces.data, stacks.reshape(-1, 3, 3))
    assert faces.groups[200] == "bd"
    assert faces.target[200] == 0
    assert (np.bincount(faces.target) == 7).all()
    assert len(faces.target_names) == 200


@pytest.mark.slow
def test_feret_covariances_damaged(tmp_path):
    stacks = face_covariances(tmp_path)
    (tmp_path / "bf.mat").unlink()
    faces = all_or_nothing(load_feret, tmp_path, "bf.mat", "is missing")
    assert len(faces) == 1200
    # Every reading starts a process: so the other kinds of damage are there at the same time.
    (tmp_path / "bf.mat").write_bytes(b"nothing MATLAB would write")
    scipy.io.savemat(tmp_path / "be.mat", {"other": np.eye(3)})
    stacks[4, 7] *= -1
    scipy.io.savemat(tmp_path / "bg.mat", {"features": stacks[4].transpose(1, 2, 0)})
    with pytest.raises(ValueError, match=r"bf.mat.*damaged") as refused:
        load_feret(tmp_path)
    message = str(refused.value)
    assert re.search(r"be.mat.*no array 'features' .*'other': \(3, 3\)", message)
    assert re.search(r"bg.mat.*features\[7\] is not positive definite", message)
    for name in ("bf", "be", "bg"):
        scipy.io.savemat(tmp_path / f"{name}.mat", {"features": stacks[0, :150].transpose(1, 2, 0)})
    faces = all_or_nothing(load_feret, tmp_path, "different numbers of people", r"\[150, 200\]")
    assert len(faces) == 7 * 150


@pytest.mark.slow
def test_feret_archive(tmp_path):
    images = noise(1400, 5, 4)
    columns = images.transpose(0, 2, 1).reshape(1400, 20).T  # MATLAB: column by column
    labels = np.repeat(np.arange(1, 201), 7)
    scipy.io.savemat(
        tmp_path / "images_40x40.mat",
        {"all_data": columns, "all_label": labels, "rows": 5, "cols": 4},
    )
    faces = load_feret(tmp_path)
    np.testing.assert_array_equal(faces.data, images)
    assert faces.groups[:8].tolist() == [*POSES, "ba"]
    assert faces.target[:8].tolist() == [0] * 7 + [1]
    assert load_feret(tmp_path, size=(8, 6)).data.shape == (1400, 8, 6)
    scipy.io.savemat(tmp_path / "images_40x40.mat", {"all_data": columns})
    with pytest.raises(ValueError, match="no array 'all_label'"):
        load_feret(tmp_path)


def test_feret_image_files(tmp_path):
    for person in ("01013", "01014"):
        for i, pose in enumerate(POSES):
            save_image(tmp_path / person / f"{person}{pose}010_960521.png", noise(8, 8, seed=i))
    tif = save_image(tmp_path / "x.tif", noise(8, 8, seed=9))
    (tmp_path / "01015ba010_960521.tif.bz2").write_bytes(bz2.compress(tif.read_bytes()))
    faces = all_or_nothing(load_feret, tmp_path, "person 01015", "no image of the pose bd, be, bf")
    assert len(faces) == 15
    assert faces.target_names == ("01013", "01014", "01015")
    packed = faces.subset(faces.labels == "01015")
    np.testing.assert_array_equal(packed.data[0], noise(8, 8, seed=9))
    assert load_feret(tmp_path, size=(4, 6), on_error="ignore").data.shape == (15, 4, 6)


@pytest.mark.slow
def test_feret_folders_by_pose(tmp_path):
    images = [encode(noise(2, 2, seed=person), "PPM") for person in range(200)]
    for pose in POSES:
        (tmp_path / pose).mkdir()
        for person, image in enumerate(images, start=1):
            (tmp_path / pose / f"{person:03d}.pgm").write_bytes(image)
    faces = load_feret(tmp_path)
    assert faces.data.shape == (1400, 2, 2)
    assert set(faces.groups[faces.labels == "200"]) == set(POSES)
    with pytest.raises(ValueError, match="kind must be"):
        load_feret(tmp_path, kind="statues")
