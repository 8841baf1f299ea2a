"""UCF sports: clips as frames or films, with their boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import noise, save_image, truncate
from spdatoms.datasets import Dataset
from spdatoms.paper.datasets import DatasetWarning, load_ucf_sports
from spdatoms.paper.datasets.ucf_sports import ACTIONS, FOLDERS


def clip(folder: Path, frames: int = 3, box: str = "4\t2\t6\t8\tDiving") -> Path:
    for i in range(frames):
        save_image(folder / f"{i:03d}.png", noise(20, 30, 3, seed=i))
        (folder / "gt").mkdir(exist_ok=True)
        (folder / "gt" / f"{i:03d}.txt").write_text(box)
    return folder


@pytest.fixture(scope="module")
def films(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ucf")
    for name, (_, count) in FOLDERS.items():
        for i in range(1, count + 1):
            clip(folder / "ucf action" / name / f"{i:03d}", frames=2)
    return folder


def test_ucf_sports(films):
    data = load_ucf_sports(films, size=None)
    assert len(data) == 150
    assert data.target_names == ACTIONS
    assert len(ACTIONS) == 10
    assert (data.labels == "golf swing").sum() == 18
    assert len(set(data.groups)) == 150
    np.testing.assert_array_equal(data.data[0][1], noise(20, 30, 3, seed=1))
    assert data.boxes[0].tolist() == [[4, 2, 6, 8]] * 2


def test_ucf_sports_cut_to_the_box(tmp_path):
    pytest.importorskip("cv2")
    clip(tmp_path / "Diving-Side" / "001")
    clip(tmp_path / "Lifting" / "001", box="-3 -2 8 10 Lifting")
    data = load_ucf_sports(tmp_path, size=(8, 6), on_error="ignore")
    assert data.data[0].shape == (3, 8, 6, 3)
    np.testing.assert_array_equal(data.data[0][2], noise(20, 30, 3, seed=2)[2:10, 4:10])
    # A box that begins outside the frame keeps the part that lies inside.
    edge = load_ucf_sports(tmp_path, size=(8, 5), on_error="ignore").data[1]
    np.testing.assert_array_equal(edge[0], noise(20, 30, 3, seed=0)[:8, :5])


def test_ucf_sports_boxes_belong_to_frames_by_name(tmp_path):
    folder = tmp_path / "Lifting" / "001"
    (folder / "gt").mkdir(parents=True)
    for i in (8, 9, 10, 11):
        save_image(folder / f"x{i}.png", noise(20, 30, 3, seed=i))
    for i in (9, 10, 11):  # x8 has none
        (folder / "gt" / f"x{i}.txt").write_text(f"{i} 0 5 5")
    data = load_ucf_sports(tmp_path, size=None, on_error="ignore")
    assert data.boxes[0][:, 0].tolist() == [9, 10, 11]
    np.testing.assert_array_equal(data.data[0][0], noise(20, 30, 3, seed=9))
    np.testing.assert_array_equal(data.data[0][2], noise(20, 30, 3, seed=11))


def test_ucf_sports_film(tmp_path):
    cv2 = pytest.importorskip("cv2")
    folder = tmp_path / "Lifting" / "001"
    (folder / "gt").mkdir(parents=True)
    writer = cv2.VideoWriter(str(folder / "x.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 10, (32, 24))
    if not writer.isOpened():
        pytest.skip("this OpenCV writes no film")
    for level in (40, 120, 200):
        writer.write(np.full((24, 32, 3), (0, 0, level), np.uint8))  # red, in OpenCV's order
    writer.release()
    for i in range(4):  # one box more than frames
        (folder / "gt" / f"{i}.txt").write_text("0 0 16 16 Lifting")
    data = load_ucf_sports(tmp_path, size=(4, 4), on_error="ignore")
    film = data.data[0]
    assert film.shape == (3, 4, 4, 3)
    assert data.boxes[0].shape == (3, 4)
    np.testing.assert_allclose(film[..., 0].mean(axis=(1, 2)), [40, 120, 200], atol=8)
    assert film[..., 2].max() < 12
    (folder / "x.avi").write_bytes(b"no film")
    with pytest.raises(ValueError, match="no frame that can be read"):
        load_ucf_sports(tmp_path, on_error="ignore")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda folder: truncate(folder / "001.png"), "001.png cannot be read"),
        (
            lambda folder: (folder / "gt" / "001.txt").write_text("4 2 6"),
            "gt/001.txt does not begin",
        ),
        (lambda folder: (folder / "gt" / "001.txt").write_text("40 2 6 6"), "outside a frame"),
        (lambda folder: [p.unlink() for p in (folder / "gt").iterdir()], "no region of interest"),
        (lambda folder: [p.unlink() for p in folder.glob("*.png")], "neither frames"),
    ],
)
def test_ucf_sports_damaged(tmp_path, harm, words):
    clip(tmp_path / "Lifting" / "001")
    harm(clip(tmp_path / "Lifting" / "002"))
    data = all_or_nothing_with_counts(tmp_path, "Lifting/002", words)
    assert data.names == ("Lifting/001",)


def all_or_nothing_with_counts(folder: Path, file: str, words: str) -> Dataset:
    """As above, for a tree whose counts are wrong as well."""
    with pytest.raises(ValueError, match="the folder Diving-Side is missing"):
        load_ucf_sports(folder)
    with pytest.warns(DatasetWarning, match=f"{file}.*{words}"):
        return load_ucf_sports(folder, on_error="warn")
