"""Acclaim motion capture: a skeleton (.asf), its motion (.amc), and where the joints are.

With C_b the rotation to the axes of bone b, M_b that of its channels, d_b its direction and ℓ_b its length,

    G_b = G_parent · C_b M_b C_bᵀ ,    p_b = p_parent + ℓ_b G_b d_b .

The rotations of a triple such as ``axis 0 0 90 XYZ`` follow in this order about fixed axes: R_z R_y R_x.
The format is described by J. Lander, Working with motion capture file formats, Game Developer, 1998.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Floats

_ROTATIONS = ("rx", "ry", "rz")
_TRANSLATIONS = ("tx", "ty", "tz")
_ORIGIN = ["0"] * 3


@dataclass
class Bone:
    """One bone: its direction in the rest pose, its length, its axes and its channels."""

    name: str
    direction: Floats
    length: float
    axis: Floats
    axis_order: str
    channels: tuple[str, ...]


@dataclass
class Skeleton:
    """A tree of bones below the root, in the order of the file.

    ``unit`` is the unit of length in the file; coordinates are divided by it, which gives inches for the
    usual 0.45.
    """

    root: Bone
    position: Floats
    bones: dict[str, Bone]
    parents: dict[str, str]
    unit: float
    degrees: bool

    @property
    def joints(self) -> tuple[str, ...]:
        """The root and the far end of every bone."""
        return (self.root.name, *self.bones)

    def order(self) -> list[str]:
        """Return the bones, parents before children."""
        done, waiting = [self.root.name], list(self.bones)
        while waiting:
            ready = [name for name in waiting if self.parents[name] in done]
            if not ready:
                raise ValueError(f"the bone {waiting[0]!r} is not connected to the root")
            done += ready
            waiting = [name for name in waiting if name not in ready]
        return done[1:]


def read_skeleton(path: Path) -> Skeleton:
    """Read an .asf file."""
    sections = _sections(path.read_text(encoding="latin-1"))
    for name in ("root", "bonedata", "hierarchy"):
        if name not in sections:
            raise ValueError(f"has no section ':{name}'")
    units = {line[0].lower(): line[1] for line in sections.get("units", []) if len(line) > 1}
    root, position = _root(sections["root"])
    bones = _bones(sections["bonedata"])
    parents = {
        child: line[0]
        for line in sections["hierarchy"]
        if line[0].lower() not in ("begin", "end")
        for child in line[1:]
    }
    for name in bones:
        if name not in parents:
            raise ValueError(f"does not place the bone {name!r} in the hierarchy")
    for child, parent in parents.items():
        if child not in bones or (parent not in bones and parent != root.name):
            raise ValueError(f"puts {child!r} below {parent!r}, but not both are bones")
    unit = float(units.get("length", 1.0))
    if not unit > 0:
        raise ValueError(f"gives the unit of length {unit}, which is not positive")
    return Skeleton(root, position, bones, parents, unit, units.get("angle", "deg") == "deg")


def _sections(text: str) -> dict[str, list[list[str]]]:
    """Return the words of the lines of every ``:section``, without comments."""
    sections: dict[str, list[list[str]]] = {}
    current: list[list[str]] = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words and words[0].startswith(":"):
            current = sections.setdefault(words[0][1:].lower(), [])
            words = words[1:]
        if words:
            current.append(words)
    return sections


def _root(lines: list[list[str]]) -> tuple[Bone, Floats]:
    values = {line[0].lower(): line[1:] for line in lines}
    axis = _vector(values.get("orientation", _ORIGIN))
    axes = values.get("axis", ["XYZ"])[-1].lower()
    order = values.get("order", [*_TRANSLATIONS, *_ROTATIONS])
    root = Bone("root", np.zeros(3), 0.0, axis, axes, tuple(name.lower() for name in order))
    return root, _vector(values.get("position", _ORIGIN))


def _bones(lines: list[list[str]]) -> dict[str, Bone]:
    bones: dict[str, Bone] = {}
    values: dict[str, list[str]] = {}
    for word, *rest in lines:
        if word.lower() == "begin":
            values = {}
        elif word.lower() == "end":
            bone = _bone(values)
            bones[bone.name] = bone
        else:
            values[word.lower()] = rest
    return bones


def _bone(values: dict[str, list[str]]) -> Bone:
    name = values.get("name", [""])[0]
    length = values.get("length", ["0"])[0]
    direction = _vector(values.get("direction", _ORIGIN))
    axis = values.get("axis", _ORIGIN)
    axes = axis[3].lower() if len(axis) > 3 else "xyz"
    channels = tuple(channel.lower() for channel in values.get("dof", []))
    if not set(channels) <= set(_ROTATIONS):
        raise ValueError(f"the bone {name!r} has channels other than rx, ry, rz")
    return Bone(name, direction, float(length), _vector(axis), axes, channels)


def _vector(words: list[str]) -> Floats:
    try:
        return np.array([float(word) for word in words[:3]])
    except ValueError:
        raise ValueError(f"has {' '.join(words)!r} where three numbers are expected") from None


def read_motion(path: Path) -> dict[str, Floats]:
    """Read an .amc file: the channels of every bone, (frames, channels)."""
    text = path.read_text(encoding="latin-1")
    start = re.search(r"^\s*1\s*$", text, flags=re.MULTILINE)
    if start is None:
        raise ValueError("has no frame 1")
    lines = (line.split() for line in text[start.end() :].splitlines() if line.strip())
    # All frames have the layout of the first, which ends at the number of the second.
    layout = [(line[0], len(line) - 1) for line in takewhile(lambda line: len(line) > 1, lines)]
    words = np.array(text[start.start() :].split())
    width = 1 + sum(1 + count for _, count in layout)
    frames, rest = divmod(len(words), width)
    table = words[: frames * width].reshape(frames, width)
    astray = table[:, 0] != np.arange(1, frames + 1).astype(str)
    if rest or astray.any():
        last = int(np.argmax(astray)) if astray.any() else frames
        raise ValueError(f"ends or changes its form after frame {last}: it is damaged")
    motion, column = {}, 1
    for name, count in layout:
        if (table[:, column] != name).any():
            frame = int(np.argmax(table[:, column] != name)) + 1
            raise ValueError(f"has no bone {name!r} where it is expected in frame {frame}")
        motion[name] = table[:, column + 1 : column + 1 + count].astype(np.float64)
        column += 1 + count
    return motion


def joint_positions(skeleton: Skeleton, motion: dict[str, Floats]) -> Floats:
    """Return p_b of the formula for the root and all bones, (frames, joints, 3)."""
    root = skeleton.root
    if root.name not in motion:
        raise ValueError("does not move the root")
    for name in motion:
        if name != root.name and name not in skeleton.bones:
            raise ValueError(f"moves the bone {name!r}, which the skeleton does not have")
    frames = len(motion[root.name])
    channels = _channels(root, motion[root.name])
    position = np.stack([channels.get(name, np.zeros(frames)) for name in _TRANSLATIONS], axis=1)
    turned = {root.name: _local_rotation(skeleton, root, motion, frames)}
    places = {root.name: skeleton.position + position}
    for name in skeleton.order():
        bone, parent = skeleton.bones[name], skeleton.parents[name]
        turned[name] = turned[parent] @ _local_rotation(skeleton, bone, motion, frames)
        places[name] = places[parent] + bone.length * (turned[name] @ bone.direction)
    return np.stack([places[name] for name in skeleton.joints], axis=1) / skeleton.unit


def _channels(bone: Bone, values: Floats) -> dict[str, Floats]:
    if values.shape[1] != len(bone.channels):
        raise ValueError(
            f"gives {bone.name!r} {values.shape[1]} channels, the skeleton {len(bone.channels)}"
        )
    return dict(zip(bone.channels, values.T, strict=True))


def _local_rotation(
    skeleton: Skeleton, bone: Bone, motion: dict[str, Floats], frames: int
) -> Floats:
    """Return C M Cᵀ, (frames, 3, 3)."""
    from scipy.spatial.transform import Rotation

    values = motion.get(bone.name, np.zeros((frames, len(bone.channels))))
    channels = _channels(bone, values)
    rotations = [name for name in bone.channels if name in _ROTATIONS]
    if not rotations:
        return np.broadcast_to(np.eye(3), (frames, 3, 3))
    # Lower-case letters stand for rotations about fixed axes in SciPy.
    order = "".join(name[1] for name in rotations)
    angles = np.stack([channels[name] for name in rotations], axis=1)
    M = Rotation.from_euler(order, angles, degrees=skeleton.degrees).as_matrix()
    C = Rotation.from_euler(bone.axis_order, bone.axis, degrees=skeleton.degrees).as_matrix()
    return np.asarray(C @ M @ C.T)
