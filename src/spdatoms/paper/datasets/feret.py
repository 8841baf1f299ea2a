"""The subset b of the FERET faces: 200 people in seven poses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.array_files import read_all_apart, read_apart
from spdatoms._utils.images import image_files, read_grey
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.geometry.validation import check_spd
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset, stacked

#: Frontal (ba; bj with another expression, bk in other light), and turned by +25, +15, −15, −25 degrees.
POSES = ("ba", "bd", "be", "bf", "bg", "bj", "bk")
PEOPLE = 200

_ARCHIVE = "images_40x40.mat"
_FILE = re.compile(r"(\d{5})(b[adefgjk])\d", re.IGNORECASE)
_LAYOUT = (
    "covariances as ba.mat, bd.mat … bk.mat, or images called like 01013ba010_960521.tif, or in "
    f"folders ba, bd …, or {_ARCHIVE}"
)


@allow.checks(
    **FOLDER, kind=allow.choice("auto", "covariances", "images"), size=allow.NONE | allow.IMAGE_SIZE
)
def load_feret(
    folder: PathLike,
    *,
    kind: str = "auto",
    size: tuple[int, int] | None = None,
    on_error: str = "raise",
) -> Dataset:
    """Load the faces of the subset b, as images or as ready covariances.

    Parameters
    ----------
    folder : path-like
        Holds one of

        - ``ba.mat``, ``bd.mat``, … ``bk.mat``, each an array ``features`` (n, n, people) of
          covariances with the people in the same order;
        - ``images_40x40.mat``, an array ``all_data`` (pixels, images), the seven poses of a person
          side by side in alphabetical order, with ``all_label``, ``rows`` and ``cols``;
        - images under the names of the release, ``<person><pose><flags>_<date>`` (also .bz2), at any
          depth;
        - folders ``ba``, ``bd``, … of images named by the person.
    kind : {"auto", "covariances", "images"}, default="auto"
        ``"auto"`` takes the covariances if the folder holds them.
    size : (int, int), default=None
        Height and width to which images are resampled, (64, 64) in the paper; None keeps theirs.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do if files are missing or cannot be read: stop, or leave them out with or without a
        warning.

    Returns
    -------
    Dataset
        ``target`` is the person, ``groups`` the pose. The paper trains on ba, bj and bk and tests
        on each of bd, be, bf and bg.
    """
    problems = Problems("FERET", folder, _LAYOUT, on_error)
    root = problems.folder
    if kind == "auto":
        kind = "covariances" if any((root / f"{pose}.mat").exists() for pose in POSES) else "images"
    if kind == "covariances":
        return _load_covariances(problems)
    if (root / _ARCHIVE).exists():
        return _load_archive(problems, size)
    return _load_images(problems, size)


def _load_covariances(problems: Problems) -> Dataset:
    """Read one .mat file per pose."""
    stacks: dict[str, Array] = {}
    paths = {pose: problems.folder / f"{pose}.mat" for pose in POSES}
    there = [path for path in paths.values() if path.exists()]
    found = dict(zip(there, read_all_apart(there), strict=True))
    for pose, path in paths.items():
        if path not in found:
            problems.add(f"{path.name} is missing, the covariances of the pose {pose}")
            continue
        with problems.noted(path):
            stacks[pose] = _covariances(found[path])
    counts = {len(stack) for stack in stacks.values()}
    if len(counts) > 1:
        problems.add(f"the files hold different numbers of people: {sorted(counts)}")
        fewest = min(counts)
        stacks = {pose: stack[:fewest] for pose, stack in stacks.items()}
    elif counts:
        problems.expect("people", counts.pop(), PEOPLE)
    problems.report(len(stacks))
    people = [f"{i + 1:03d}" for stack in stacks.values() for i in range(len(stack))]
    poses = [pose for pose, stack in stacks.items() for _ in stack]
    names = [f"{p}.mat[{person}]" for p, person in zip(poses, people, strict=True)]
    return _dataset(np.concatenate(list(stacks.values())), people, poses, names, "covariances")


def _covariances(variables: dict[str, Array] | ValueError) -> Array:
    """Return ``features`` of a .mat file as an array (people, n, n), or raise what is wrong with the file."""
    if isinstance(variables, ValueError):
        raise variables
    features = variables.get("features")
    if features is None or features.ndim != 3 or features.shape[0] != features.shape[1]:
        found = {name: array.shape for name, array in variables.items()}
        raise ValueError(f"has no array 'features' of shape (n, n, people), but {found}")
    return check_spd(
        np.ascontiguousarray(features.transpose(2, 0, 1), dtype=np.float64), name="features"
    )


def _load_archive(problems: Problems, size: tuple[int, int] | None) -> Dataset:
    """Read all images from one .mat file."""
    path = problems.folder / _ARCHIVE
    images, people = np.empty((0, 0, 0), dtype=np.uint8), np.empty(0, dtype=int)
    with problems.noted(path):
        arrays = read_apart(path)
        missing = [key for key in ("all_data", "all_label", "rows", "cols") if key not in arrays]
        if missing:
            raise ValueError(f"has no array {missing[0]!r}")
        height, width = int(arrays["rows"].item()), int(arrays["cols"].item())
        people = arrays["all_label"].ravel()
        if arrays["all_data"].shape != (height * width, len(people)) or len(people) % len(POSES):
            shape = arrays["all_data"].shape
            raise ValueError(
                f"holds an array {shape}, not {height}·{width} pixels × seven per person"
            )
        # MATLAB stores columns first.
        images = arrays["all_data"].T.reshape(-1, width, height).swapaxes(1, 2)
        problems.expect("images", len(images), PEOPLE * len(POSES))
    problems.report(len(images))
    if size is not None:
        images = _resampled(images, size)
    labels = [f"{person:03d}" for person in people]
    poses = list(POSES) * (len(images) // len(POSES))
    names = [f"{path.name}[{i}]" for i in range(len(images))]
    return _dataset(np.ascontiguousarray(images), labels, poses, names, "images")


def _resampled(images: Array, size: tuple[int, int]) -> Array:
    from spdatoms._utils.extras import import_extra

    resize = import_extra("skimage.transform", extra="vision").resize
    scaled = [resize(image, size, preserve_range=True, anti_aliasing=True) for image in images]
    return np.stack(scaled).round().astype(np.uint8)


def _load_images(problems: Problems, size: tuple[int, int] | None) -> Dataset:
    """Read image files that are named, or lie in folders named, by pose."""
    images, people, poses, names = [], [], [], []
    for path in image_files(problems.folder, deep=True):
        identity = _identity(path)
        if identity is None:
            continue
        with problems.noted(path):
            images.append(read_grey(path, size))
            people.append(identity[0])
            poses.append(identity[1])
            names.append(problems.name(path))
    if images:
        problems.expect("people", len(set(people)), PEOPLE)
        for person in sorted(set(people)):
            there = {pose for who, pose in zip(people, poses, strict=True) if who == person}
            absent = [pose for pose in POSES if pose not in there]
            if absent:
                problems.add(f"person {person} has no image of the pose {', '.join(absent)}")
    problems.report(len(images))
    return _dataset(stacked(images), people, poses, names, "images")


def _identity(path: Path) -> tuple[str, str] | None:
    """Return the person and the pose of an image, by its name or its folder's."""
    match = _FILE.match(path.name)
    if match:
        return match.group(1), match.group(2).lower()
    number = re.search(r"\d+", path.stem)
    if path.parent.name.lower() in POSES and number:
        return number.group(), path.parent.name.lower()
    return None


def _dataset(
    data: Array | Samples, people: list[str], poses: list[str], names: list[str], kind: str
) -> Dataset:
    description = f"FERET faces, subset b: {len(set(people))} people, {kind}."
    return dataset(data, people, poses, names, description)
