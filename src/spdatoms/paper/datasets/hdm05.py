"""The motion capture database HDM05: actions of five subjects, 120 frames per second."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.array_files import read_npz
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset
from spdatoms.paper.datasets.acclaim import Skeleton, joint_positions, read_motion, read_skeleton

#: Joint positions (frames, joints, 3) by subject, action and take.
Motions = dict[tuple[str, str, str], Array]

#: The paper's fourteen actions, and the classes of the release that are used for them (the paper does
#: not state which of several variants it used).
PAPER_ACTIONS = {
    "clap above head": "clapAboveHead1Reps",
    "deposit floor": "depositFloorR",
    "elbow to knee": "elbowToKnee1RepsLelbowStart",
    "grab high": "grabHighR",
    "hop both legs": "hopBothLegs1hops",
    "jog": "jogLeftCircle4StepsRstart",
    "kick forward": "kickLFront1Reps",
    "lie down floor": "lieDownFloor",
    "rotate both arms backward": "rotateArmsBothBackward1Reps",
    "sit down chair": "sitDownChair",
    "sneak": "sneak2StepsLStart",
    "squat": "squat1Reps",
    "stand up lie": "standUpLieFloor",
    "throw basketball": "throwBasketball",
}
JOINTS = 31

_MOTION = re.compile(r"HDM_([a-z]+)_(\w+)_(\d+)_120\.amc$", re.IGNORECASE)
_ARCHIVE = "joints.npz"
_LAYOUT = (
    "motions like HDM_bd_squat1Reps_001_120.amc with skeletons like HDM_bd.asf, at any depth, or "
    f"{_ARCHIVE}"
)


_NAME_OF_ACTION = allow.Allowed(("a name",), lambda value: isinstance(value, str))


@allow.checks(**FOLDER, actions=allow.NONE | allow.choice("paper") | allow.ITERABLE)
def load_hdm05(
    folder: PathLike, *, actions: Iterable[str] | None = None, on_error: str = "raise"
) -> Dataset:
    """Load motions as the positions of 31 joints.

    Parameters
    ----------
    folder : path-like
        Holds the cut motions of the release in Acclaim's format, ``HDM_<subject>_<action>_<take>_120.amc``
        with the skeletons ``HDM_<subject>.asf``, at any depth; or ``joints.npz`` with an array
        (frames, joints, 3) for every key ``<subject>__<action>__<take>``.
    actions : iterable of str or "paper", default=None
        Names of the classes to load, such as ``squat1Reps``, or ``"paper"`` for those of the fourteen
        of the paper that the folder holds. None takes all.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do if files are missing or cannot be read: stop, or leave them out with or without a
        warning.

    Returns
    -------
    Dataset
        ``data`` is `Samples` of arrays (frames, 31, 3), coordinates x, y, z in inches with y up;
        ``target`` is the action, ``groups`` the subject.
    """
    problems = Problems("HDM05", folder, _LAYOUT, on_error)
    wanted = _wanted(actions)
    archive = problems.folder / _ARCHIVE
    motions = (_from_archive if archive.exists() else _from_files)(wanted, problems)
    there = {action for _, action, _ in motions}
    missing = sorted(wanted - there)
    if missing and actions != "paper":
        problems.add(f"there is no motion of the actions {', '.join(missing)}")
    problems.report(len(motions))
    keys = sorted(motions)
    labels = [action for _, action, _ in keys]
    absent = f" Not there: {', '.join(missing)}." if missing else ""
    return dataset(
        Samples(motions[key] for key in keys),
        labels,
        [subject for subject, _, _ in keys],
        ["__".join(key) for key in keys],
        f"HDM05 motions: {len(keys)} of {len(set(labels))} actions, 120 frames per second.{absent}",
    )


def _wanted(actions: Iterable[str] | None) -> set[str]:
    if isinstance(actions, str):
        return set(PAPER_ACTIONS.values())
    names = [] if actions is None else list(actions)
    for i, name in enumerate(names):
        _NAME_OF_ACTION.check(f"actions[{i}]", name)
    return set(names)


def _from_archive(wanted: set[str], problems: Problems) -> Motions:
    path = problems.folder / _ARCHIVE
    arrays: dict[str, Array] = {}
    with problems.noted(path):
        arrays = read_npz(path)
    motions: Motions = {}
    for key, array in arrays.items():
        parts = tuple(key.split("__"))
        if len(parts) != 3:
            problems.add(f"the key {key!r} is not <subject>__<action>__<take>", path)
        elif not wanted or parts[1] in wanted:
            with problems.noted(path):
                motions[parts] = _checked(array, f"{key} ")
    return motions


def _from_files(wanted: set[str], problems: Problems) -> Motions:
    files = sorted(
        path for path in problems.folder.rglob("*") if path.suffix.lower() in (".asf", ".amc")
    )
    skeletons: dict[str, Skeleton] = {}
    for path in files:
        subject = path.stem.lower().removeprefix("hdm_")
        if path.suffix.lower() == ".asf" and subject not in skeletons:
            with problems.noted(path):
                skeletons[subject] = read_skeleton(path)
    motions: Motions = {}
    for path in files:
        match = _MOTION.match(path.name)
        if match is None or (wanted and match.group(2) not in wanted):
            continue
        subject, action, take = match.group(1).lower(), match.group(2), match.group(3)
        with problems.noted(path):
            if subject not in skeletons:
                raise ValueError(f"the skeleton HDM_{subject}.asf is missing or cannot be read")
            positions = joint_positions(skeletons[subject], read_motion(path))
            motions[subject, action, take] = _checked(positions)
    return motions


def _checked(positions: Array, what: str = "") -> Array:
    if positions.ndim != 3 or positions.shape[1:] != (JOINTS, 3):
        raise ValueError(f"{what}has the shape {positions.shape}, not (frames, {JOINTS}, 3)")
    if not np.isfinite(positions).all():
        raise ValueError(f"{what}has coordinates that are not finite")
    return positions
