"""The loaders, on small trees of the same layout, and on the real data where SPDATOMS_DATA has them."""

from __future__ import annotations

import bz2
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from _matrices import random_spd
from spdatoms import check_spd
from spdatoms.datasets import (
    Dataset,
    DatasetWarning,
    Samples,
    load_brodatz,
    load_brodatz_mosaics,
    load_ethz,
    load_feret,
    load_flickr_materials,
    load_hdm05,
    load_randen,
    load_textures,
    load_ucf_sports,
)
from spdatoms.datasets.acclaim import joint_positions, read_motion, read_skeleton
from spdatoms.datasets.brodatz import MOSAICS
from spdatoms.datasets.feret import POSES
from spdatoms.datasets.flickr_materials import MATERIALS
from spdatoms.datasets.ucf_sports import ACTIONS, FOLDERS

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")

LOADERS = (
    load_brodatz,
    load_brodatz_mosaics,
    load_ethz,
    load_feret,
    load_flickr_materials,
    load_hdm05,
    load_randen,
    load_ucf_sports,
)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def all_or_nothing(loader, folder: Path, file: str, words: str, **options) -> Dataset:
    """By default the loader stops and names the file; with "warn" it goes on and names it, too."""
    pattern = f"{re.escape(file)}.*{words}"
    with pytest.raises(ValueError, match=pattern):
        loader(folder, **options)
    with pytest.warns(DatasetWarning, match=pattern):
        loaded = loader(folder, **options, on_error="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = loader(folder, **options, on_error="ignore")
    first, again = (next(iter(d.values())) if isinstance(d, dict) else d for d in (loaded, silent))
    assert first.names == again.names
    return loaded


# --- what they share ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loader", LOADERS)
def test_missing_folder(loader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not exist. Give the folder that holds"):
        loader(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        loader(tmp_path / "file")


@pytest.mark.parametrize("loader", LOADERS)
def test_empty_folder(loader, tmp_path):
    for on_error in ("raise", "warn", "ignore"):
        with pytest.raises(ValueError, match="nothing to use") as caught:
            loader(tmp_path, on_error=on_error)
        assert "on_error" not in str(caught.value)
        assert len(str(caught.value)) < 600 + len(str(tmp_path))


@pytest.mark.parametrize("loader", LOADERS)
def test_unknown_on_error(loader, tmp_path):
    with pytest.raises(ValueError, match="on_error must be one of raise, warn, ignore"):
        loader(tmp_path, on_error="explode")


def test_samples_are_indexed_like_an_array():
    reads = []

    def read(length: int) -> np.ndarray:
        reads.append(length)
        return np.arange(length)

    samples = Samples([1, 2, 3, 4], read)
    assert len(samples) == 4
    assert not reads
    assert samples[-1].tolist() == [0, 1, 2, 3]
    assert [len(a) for a in samples[1:3]] == [2, 3]
    assert [len(a) for a in samples[np.array([3, 0])]] == [4, 1]
    assert [len(a) for a in samples[np.array([True, False, False, True])]] == [1, 4]
    assert reads[0] == 4
    assert "read when used" in repr(samples)
    with pytest.raises(IndexError):
        samples[4]


def test_subset_and_labels():
    data = load_textures(per_class=4)
    part = data.subset(data.labels == "grass")
    assert len(part) == 4
    assert set(part.labels) == {"grass"}
    np.testing.assert_array_equal(
        part.data, data.data[data.target == data.target_names.index("grass")]
    )
    assert all(name.startswith("grass") for name in part.names)
    assert "4 samples, (4, 32, 32) uint8, 6 classes" in repr(part)
    assert data.subset(3).names == data.subset([3]).names == (data.names[3],)
    np.testing.assert_array_equal(data.subset(-1).data, data.data[-1:])
    for nothing in ([], (), np.zeros(len(data), bool)):
        assert len(data.subset(nothing)) == 0
        assert data.subset(nothing).data.shape == (0, 32, 32)


def test_parts_must_have_one_length():
    with pytest.raises(ValueError, match="groups has 1 entries for 2 samples"):
        Dataset(np.zeros((2, 1)), np.zeros(2, int), ("a",), np.zeros(1), ("x", "y"), "")


# --- textures ----------------------------------------------------------------------------------------


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
    [({"block": 1}, "at least 2"), ({"block": 300}, "too large"), ({"per_class": 0}, "at least 1")],
)
def test_textures_refuse(options, words):
    with pytest.raises(ValueError, match=words):
        load_textures(**options)


# --- Brodatz, Randen ---------------------------------------------------------------------------------


def plates(folder: Path, numbers, size: int = 40, name: str = "D{}.png") -> Path:
    for i in numbers:
        save(folder / name.format(i), noise(size, size, seed=i))
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
    save(tmp_path / "D2.png", noise(40, 40, 3))
    all_or_nothing(load_brodatz, tmp_path, "D2.png", "is a colour image", plates=(1, 2, 3))
    save(tmp_path / "D2.png", noise(20, 40))
    all_or_nothing(load_brodatz, tmp_path, "D2.png", "20×40 pixels", plates=(1, 2, 3), crop=32)


def test_brodatz_plate_twice(tmp_path):
    plates(tmp_path, (1, 2))
    plates(tmp_path, (2,), name="D{}.tif")
    all_or_nothing(load_brodatz, tmp_path, "D2.tif", "is plate D2, and so is D2.png", plates=(1, 2))


def test_grey_in_other_clothes(tmp_path):
    grey = noise(40, 40)
    save(tmp_path / "D1.png", np.repeat(grey[..., None], 3, axis=2))
    save(tmp_path / "D2.png", grey.astype(np.uint16) * 257)
    save(tmp_path / "D3.png", grey)
    data = load_brodatz(tmp_path, plates=(1, 2, 3))
    assert (data.data == grey).all()


def test_plates_of_different_size(tmp_path):
    save(tmp_path / "D1.png", noise(10, 12))
    save(tmp_path / "D2.png", noise(14, 10))
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
    with pytest.raises(ValueError, match="'5v' is no mosaic of known Brodatz plates"):
        load_brodatz_mosaics(tmp_path, mosaics=["5v"])


def test_randen(tmp_path):
    strips = {f"case{c}_class0{k}": noise(7, 7, 32, 16, seed=c * k) for c in (1, 2) for k in (1, 2)}
    np.savez(tmp_path / "strips.npz", **strips)
    save(tmp_path / "case1_5c_class2_224x224.png", noise(224, 224))
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


# --- FERET -------------------------------------------------------------------------------------------


def face_covariances(folder: Path, people: int = 200) -> np.ndarray:
    stacks = random_spd(7 * people, 3).reshape(7, people, 3, 3)
    for pose, stack in zip(POSES, stacks, strict=True):
        scipy.io.savemat(folder / f"{pose}.mat", {"features": stack.transpose(1, 2, 0)})
    return stacks


def test_feret_covariances(tmp_path):
    stacks = face_covariances(tmp_path)
    faces = load_feret(tmp_path)
    np.testing.assert_array_equal(faces.data, stacks.reshape(-1, 3, 3))
    assert faces.groups[200] == "bd"
    assert faces.target[200] == 0
    assert (np.bincount(faces.target) == 7).all()
    assert len(faces.target_names) == 200


def test_feret_covariances_damaged(tmp_path):
    stacks = face_covariances(tmp_path)
    (tmp_path / "bf.mat").unlink()
    faces = all_or_nothing(load_feret, tmp_path, "bf.mat", "is missing")
    assert len(faces) == 1200
    (tmp_path / "bf.mat").write_bytes(b"nothing MATLAB would write")
    all_or_nothing(load_feret, tmp_path, "bf.mat", "damaged")
    scipy.io.savemat(tmp_path / "bf.mat", {"other": np.eye(3)})
    all_or_nothing(load_feret, tmp_path, "bf.mat", r"no array 'features' .*'other': \(3, 3\)")
    stacks[3, 7] *= -1
    scipy.io.savemat(tmp_path / "bf.mat", {"features": stacks[3].transpose(1, 2, 0)})
    all_or_nothing(load_feret, tmp_path, "bf.mat", r"features\[7\] is not positive definite")
    scipy.io.savemat(tmp_path / "bf.mat", {"features": stacks[0, :150].transpose(1, 2, 0)})
    faces = all_or_nothing(load_feret, tmp_path, "different numbers of people", r"\[150, 200\]")
    assert len(faces) == 7 * 150


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
            save(tmp_path / person / f"{person}{pose}010_960521.png", noise(8, 8, seed=i))
    tif = save(tmp_path / "x.tif", noise(8, 8, seed=9))
    (tmp_path / "01015ba010_960521.tif.bz2").write_bytes(bz2.compress(tif.read_bytes()))
    faces = all_or_nothing(load_feret, tmp_path, "person 01015", "no image of the pose bd, be, bf")
    assert len(faces) == 15
    assert faces.target_names == ("01013", "01014", "01015")
    packed = faces.subset(faces.labels == "01015")
    np.testing.assert_array_equal(packed.data[0], noise(8, 8, seed=9))
    assert load_feret(tmp_path, size=(4, 6), on_error="ignore").data.shape == (15, 4, 6)


def test_feret_folders_by_pose(tmp_path):
    for person in range(1, 201):
        for pose in POSES:
            save(tmp_path / pose / f"{person:03d}.pgm", noise(2, 2, seed=person))
    faces = load_feret(tmp_path)
    assert faces.data.shape == (1400, 2, 2)
    assert set(faces.groups[faces.labels == "200"]) == set(POSES)
    with pytest.raises(ValueError, match="kind must be"):
        load_feret(tmp_path, kind="statues")


# --- HDM05 -------------------------------------------------------------------------------------------

SKELETON = """# a comment
:version 1.10
:name test
:units
  mass 1.0
  length {unit}
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
{bones}
:hierarchy
  begin
{hierarchy}
  end
"""
BONE = """  begin
     id {id}
     name {name}
     direction {direction}
     length {length}
     axis {axis} XYZ
{dof}
  end"""


def asf(bones, hierarchy, unit: float = 1.0) -> str:
    """Write a skeleton; a bone is (name, direction, length, axis, channels)."""
    texts = []
    for i, (name, direction, length, axis, channels) in enumerate(bones, start=1):
        limits = "     limits (-160.0 20.0)\n" + "            (-70.0 70.0)\n" * (len(channels) - 1)
        dof = f"     dof {' '.join(channels)}\n{limits}" if channels else ""
        texts.append(
            BONE.format(
                id=i,
                name=name,
                direction=" ".join(map(str, direction)),
                length=length,
                axis=" ".join(map(str, axis)),
                dof=dof,
            )
        )
    tree = "\n".join(f"    {parent} {' '.join(children)}" for parent, children in hierarchy.items())
    return SKELETON.format(unit=unit, bones="\n".join(texts), hierarchy=tree)


def amc(frames) -> str:
    """Write a motion; a frame is a dict of the channels of each bone."""
    lines = ["#!OML:ASF", ":FULLY-SPECIFIED", ":DEGREES"]
    for number, frame in enumerate(frames, start=1):
        lines.append(str(number))
        lines += [f"{name} {' '.join(map(str, values))}" for name, values in frame.items()]
    return "\n".join(lines) + "\n"


def positions(folder: Path, skeleton: str, motion: str) -> np.ndarray:
    (folder / "s.asf").write_text(skeleton)
    (folder / "m.amc").write_text(motion)
    return joint_positions(read_skeleton(folder / "s.asf"), read_motion(folder / "m.amc"))


def test_kinematics_by_hand(tmp_path):
    """An upper arm along x, a forearm that bends about an axis of its own, and a ring without channels."""
    arm = asf(
        [
            ("upper", (1, 0, 0), 2.0, (0, 0, 0), ("rz",)),
            # Its axes are turned by 90° about z: its own x axis is the world's y axis.
            ("fore", (1, 0, 0), 1.0, (0, 0, 90), ("rx",)),
            ("ring", (0, 1, 0), 0.5, (0, 0, 0), ()),
        ],
        {"root": ["upper"], "upper": ["fore"], "fore": ["ring"]},
    )
    motion = amc(
        [
            {"root": (5, 6, 7, 0, 0, 0), "upper": (0,), "fore": (0,)},
            {"root": (0, 0, 0, 0, 0, 0), "upper": (90,), "fore": (0,)},
            {"root": (0, 0, 0, 0, 0, 0), "upper": (0,), "fore": (90,)},
            {"root": (0, 0, 0, 90, 0, 90), "upper": (0,), "fore": (0,)},
        ]
    )
    expected = [
        [(5, 6, 7), (7, 6, 7), (8, 6, 7), (8, 6.5, 7)],  # at rest, moved
        [(0, 0, 0), (0, 2, 0), (0, 3, 0), (-0.5, 3, 0)],  # the whole arm turned up
        # The forearm turns about y by 90°: x becomes −z, y stays.
        [(0, 0, 0), (2, 0, 0), (2, 0, -1), (2, 0.5, -1)],
        # The root first about x (y becomes z), then about z (x becomes y).
        [(0, 0, 0), (0, 2, 0), (0, 3, 0), (0, 3, 0.5)],
    ]
    np.testing.assert_allclose(positions(tmp_path, arm, motion), expected, atol=1e-12)


def rotation(axis: int, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    R = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def test_kinematics_against_matrices(tmp_path):
    """A random tree, walked with products of elementary 4×4 matrices."""
    rng = np.random.default_rng(0)
    names = [f"b{i}" for i in range(8)]
    parent = {name: "root" if i < 2 else names[rng.integers(i)] for i, name in enumerate(names)}
    dofs = [("rx", "ry", "rz"), ("rx",), ("rz",), (), ("rx", "rz"), ("ry",), ("rx", "ry", "rz"), ()]
    bones = []
    for name, channels in zip(names, dofs, strict=True):
        direction = rng.standard_normal(3)
        direction /= np.linalg.norm(direction)
        bones.append((name, direction, rng.uniform(1, 5), rng.uniform(-180, 180, 3), channels))
    order = rng.permutation(8)  # children may come before their parents in the file
    hierarchy = {p: [n for n in names if parent[n] == p] for p in sorted(set(parent.values()))}
    frames = [
        {"root": rng.uniform(-90, 90, 6)}
        | {b[0]: rng.uniform(-90, 90, len(b[4])) for b in bones if b[4]}
        for _ in range(5)
    ]
    unit = 0.45
    got = positions(tmp_path, asf([bones[i] for i in order], hierarchy, unit), amc(frames))
    for frame, places in zip(frames, got, strict=True):
        transform = {"root": np.eye(4)}
        transform["root"][:3, :3] = (
            rotation(2, frame["root"][5])
            @ rotation(1, frame["root"][4])
            @ rotation(0, frame["root"][3])
        )
        transform["root"][:3, 3] = frame["root"][:3]
        for name, direction, length, axis, channels in bones:
            C = rotation(2, axis[2]) @ rotation(1, axis[1]) @ rotation(0, axis[0])
            M = np.eye(3)
            for channel, value in zip(channels, frame.get(name, ()), strict=True):
                M = rotation("xyz".index(channel[1]), value) @ M
            local = np.eye(4)
            local[:3, :3] = C @ M @ np.linalg.inv(C)
            local[:3, 3] = local[:3, :3] @ (length * direction)
            transform[name] = transform[parent[name]] @ local
        expected = [transform["root"]] + [transform[names[i]] for i in order]
        np.testing.assert_allclose(places, [T[:3, 3] / unit for T in expected], atol=1e-10)


CHAIN = [(f"b{i}", (0, 1, 0), 1.0, (0, 0, 0), ("rx",)) for i in range(30)]


def motions(folder: Path) -> Path:
    """Make a release with two subjects, two actions and a skeleton of 31 joints."""
    folder.mkdir(exist_ok=True)
    hierarchy = {"root": ["b0"]} | {f"b{i}": [f"b{i + 1}"] for i in range(29)}
    rest = {name: (1.0,) for name, *_ in CHAIN}
    for subject in ("bd", "mm"):
        for action in ("squat1Reps", "throwBasketball"):
            (folder / action).mkdir(exist_ok=True)
            (folder / action / f"HDM_{subject}.asf").write_text(asf(CHAIN, hierarchy))
            frames = [{"root": (0, i, 0, 0, 0, 0)} | rest for i in range(12)]
            name = f"HDM_{subject}_{action}_001_120.amc"
            (folder / action / name).write_text(amc(frames))
    return folder


def test_hdm05_files(tmp_path):
    data = load_hdm05(motions(tmp_path))
    assert data.target_names == ("squat1Reps", "throwBasketball")
    assert sorted(set(data.groups)) == ["bd", "mm"]
    assert data.names[0] == "bd__squat1Reps__001"
    assert [array.shape for array in data.data] == [(12, 31, 3)] * 4
    np.testing.assert_allclose(data.data[0][:, 0, 1], np.arange(12))
    assert len(load_hdm05(tmp_path, actions=["squat1Reps"])) == 2
    paper = load_hdm05(tmp_path, actions="paper")
    assert len(paper) == 4
    assert "Not there: clapAboveHead1Reps" in paper.description
    with pytest.raises(ValueError, match="no motion of the actions dance"):
        load_hdm05(tmp_path, actions=["dance"])
    with pytest.raises(ValueError, match="actions must be"):
        load_hdm05(tmp_path, actions="dance")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("HDM_bd_squat1Reps_001_120.amc", "\n3\nroot 0 2 0", "\n3\nroot 0 2", "after frame"),
        ("HDM_bd_squat1Reps_001_120.amc", "b7 1.0", "b70 1.0", "'b70', which the skeleton"),
        ("HDM_bd_squat1Reps_001_120.amc", "root 0 3 0", "root 0 nan 0", "not finite"),
        ("HDM_bd_squat1Reps_001_120.amc", "root 0 3 0", "root 0 x 0", "could not convert"),
        ("HDM_bd_squat1Reps_001_120.amc", "\n1\n", "\n7\n", "no frame 1"),
        ("HDM_bd.asf", ":hierarchy", ":nothing", "no section ':hierarchy'"),
        ("HDM_bd.asf", "    b7 b8\n", "", "place the bone 'b8'"),
        ("HDM_bd.asf", "length 1.0", "length 0", "unit of length"),
        ("HDM_bd.asf", "dof rx", "dof rx tx", "other than rx, ry, rz"),
        ("HDM_bd.asf", "direction 0 1 0", "direction up", "three numbers"),
        ("HDM_bd.asf", "root b0", "b29 b0", "is not connected to the root"),
    ],
)
def test_hdm05_damaged(tmp_path, file, old, new, words):
    folder = motions(tmp_path)
    if file.endswith("asf"):  # the first skeleton of a subject serves for all its motions
        edit(folder / "squat1Reps" / file, old, new)
        (folder / "throwBasketball" / file).unlink()
    else:
        edit(folder / "squat1Reps" / file, old, new)
        if "b70" in new:
            path = folder / "squat1Reps" / file
            path.write_text(path.read_text().replace(old, new))
    data = all_or_nothing(load_hdm05, folder, "squat1Reps/HDM_bd", words)
    assert "mm" in data.groups


def test_hdm05_truncated_and_without_skeleton(tmp_path):
    folder = motions(tmp_path)
    truncate(folder / "squat1Reps" / "HDM_bd_squat1Reps_001_120.amc")
    all_or_nothing(load_hdm05, folder, "HDM_bd_squat1Reps_001_120.amc", "ends or changes its form")
    for path in folder.rglob("HDM_mm.asf"):
        path.unlink()
    data = load_hdm05(folder, on_error="ignore")
    assert data.names == ("bd__throwBasketball__001",)
    with pytest.raises(ValueError, match=r"HDM_mm\.asf is missing"):
        load_hdm05(folder)


def test_hdm05_archive(tmp_path):
    takes = {
        "bd__squat1Reps__001": np.ones((4, 31, 3), np.float32),
        "mm__sneak2StepsLStart__002": np.zeros((6, 31, 3), np.float32),
    }
    np.savez(tmp_path / "joints.npz", **takes)
    data = load_hdm05(tmp_path)
    assert data.groups.tolist() == ["bd", "mm"]
    assert [len(array) for array in data.data] == [4, 6]
    np.savez(tmp_path / "joints.npz", **takes, bk__squat1Reps__003=np.ones((4, 30, 3)))
    all_or_nothing(
        load_hdm05, tmp_path, "joints.npz", r"bk__squat1Reps__003 has the shape \(4, 30, 3\)"
    )
    np.savez(tmp_path / "joints.npz", **takes, nameless=np.ones((4, 31, 3)))
    all_or_nothing(load_hdm05, tmp_path, "joints.npz", "'nameless' is not <subject>")


# --- Flickr materials --------------------------------------------------------------------------------


def materials(folder: Path, count: int = 100) -> Path:
    mask = np.zeros((6, 8), np.uint8)
    mask[2:4, 3:6] = 255
    for material in MATERIALS:
        for i in range(1, count + 1):
            view = "final" if material == "foliage" else "moderate" if i <= count // 2 else "object"
            name = f"{material}/{material}_{view}_{i:03d}_new.jpg"
            save(folder / "image" / name, noise(6, 8, 3, seed=i))
            save(folder / "mask" / name, mask)
    (folder / "image" / "wood" / "Thumbs.db").write_text("not an image, and not meant to be one")
    return folder


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

    save(tmp_path / "mask" / wood, np.zeros((6, 8), np.uint8))
    assert f"image/{wood}: its mask is a mask without a pixel" in complaint()
    save(tmp_path / "mask" / wood, np.full((6, 9), 255, np.uint8))
    assert "has (6, 8) pixels, its mask (6, 9)" in complaint()
    (tmp_path / "mask" / wood).unlink()
    assert "has no mask" in complaint()
    truncate(tmp_path / "image" / wood)
    assert f"image/{wood}: " in complaint()


# --- ETHZ --------------------------------------------------------------------------------------------


def pedestrians(folder: Path) -> Path:
    for seq, people in (("seq1", 3), ("seq2", 2), ("seq3", 2)):
        for person in range(1, people + 1):
            for i in range(4):
                shape = (130 + i, 60, 3)
                save(folder / seq / f"p{person:03d}" / f"{i:05d}.png", noise(*shape, seed=person))
    return folder


def test_ethz(tmp_path):
    pedestrians(tmp_path)
    with pytest.raises(ValueError, match="people in seq1: 83 were expected, 3 are there"):
        load_ethz(tmp_path)
    data = load_ethz(tmp_path, on_error="ignore")
    assert len(data) == 28
    assert data.target_names[3] == "seq2/p001"
    assert {image.shape for image in data.data} == {(64, 32, 3)}
    third = load_ethz(tmp_path, sequence=3, size=None, on_error="ignore")
    assert set(third.groups) == {"seq3"}
    np.testing.assert_array_equal(third.data[1], noise(131, 60, 3, seed=1))
    with pytest.raises(ValueError, match="sequence must be 1, 2, 3"):
        load_ethz(tmp_path, sequence=4)


def test_ethz_damaged(tmp_path):
    pedestrians(tmp_path)
    truncate(tmp_path / "seq2" / "p001" / "00002.png")
    (tmp_path / "seq2" / "p003").mkdir()
    data = all_or_nothing(load_ethz, tmp_path, "seq2/p001/00002.png", "cannot be read", sequence=2)
    assert len(data) == 7
    with pytest.warns(DatasetWarning, match="seq2/p003: is a folder without images"):
        load_ethz(tmp_path, sequence=2, on_error="warn")


# --- UCF sports --------------------------------------------------------------------------------------


def clip(folder: Path, frames: int = 3, box: str = "4\t2\t6\t8\tDiving") -> Path:
    for i in range(frames):
        save(folder / f"{i:03d}.png", noise(20, 30, 3, seed=i))
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
        save(folder / f"x{i}.png", noise(20, 30, 3, seed=i))
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


# --- the real data -----------------------------------------------------------------------------------


@pytest.fixture
def real():
    folder = os.environ.get("SPDATOMS_DATA")
    if not folder:
        pytest.skip("SPDATOMS_DATA does not say where the real data are")

    def find(name: str) -> Path:
        path = Path(folder) / name
        if not path.is_dir():
            pytest.skip(f"SPDATOMS_DATA has no folder {name}")
        return path

    return find


def test_real_brodatz(real):
    data = load_brodatz(real("brodatz"))
    assert len(data) == 111
    assert load_brodatz_mosaics(real("brodatz"))["16c"].data.shape == (16, 256, 256)


def test_real_randen(real):
    patches = load_randen(real("randen"))
    images = load_randen(real("randen"), kind="images")["5c"]
    assert {name: len(d.target_names) for name, d in patches.items()} == {
        "5c": 5,
        "5v": 5,
        "5v2": 5,
        "5v3": 5,
        "5m": 5,
        "16c": 16,
    }
    # The patches are the left halves of the 49 blocks of the images.
    halves = images.data.reshape(5, 7, 32, 7, 32)[..., :16].transpose(0, 1, 3, 2, 4)
    np.testing.assert_array_equal(patches["5c"].data, halves.reshape(-1, 32, 16))


def test_real_feret(real):
    faces = load_feret(real("feret_b"))
    check_spd(faces.data)
    assert faces.data.shape == (1400, 43, 43)
    images = load_feret(real("feret_b"), kind="images")
    assert images.data.shape == (1400, 40, 40)


def test_real_hdm05(real):
    data = load_hdm05(real("hdm05"))
    assert len(data) == 287
    assert len(set(data.groups)) == 5
    assert set(load_hdm05(real("hdm05"), actions="paper").target_names) == set(data.target_names)
