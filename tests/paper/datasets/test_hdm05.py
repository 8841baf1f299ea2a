"""HDM05: kinematics by hand and against products of matrices, files and archives, damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import all_or_nothing, truncate
from spdatoms.paper.datasets import load_hdm05
from spdatoms.paper.datasets.acclaim import joint_positions, read_motion, read_skeleton

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
