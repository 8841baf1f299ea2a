"""The subset b of the FERET faces: 200 people in seven poses."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.array_files import read_all_apart, read_apart
from spdatoms._utils.extras import import_extra
from spdatoms._utils.images import image_files, read_grey
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset
from spdatoms.geometry.validation import check_spd
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset, stacked

#: Frontal (ba; bj with another expression, bk in other light), and turned by +25, +15, −15, −25 degrees.
POSES = ("ba", "bd", "be", "bf", "bg", "bj", "bk")
PEOPLE = 200
#: An image or a covariance, the person, the pose and the name.
Face: TypeAlias = tuple[Array, str, str, str]

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
        faces = _covariances(problems)
    elif (root / _ARCHIVE).exists():
        faces = _archived(problems, size)
    else:
        faces = _images(problems, size)
    problems.report(len(faces))
    data, people, poses, names = zip(*faces, strict=True)
    description = f"FERET faces, subset b: {len(set(people))} people, {kind}."
    return dataset(stacked(data), people, poses, names, description)


def _covariances(problems: Problems) -> list[Face]:
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
            stacks[pose] = _checked(found[path])
    counts = {len(stack) for stack in stacks.values()}
    if len(counts) > 1:
        problems.add(f"the files hold different numbers of people: {sorted(counts)}")
    elif len({stack.shape[1:] for stack in stacks.values()}) > 1:
        problems.add("the files hold matrices of different sizes")
    elif counts:
        problems.expect("people", min(counts), PEOPLE)
    return [
        (matrix, f"{i:03d}", pose, f"{pose}.mat[{i:03d}]")
        for pose, stack in stacks.items()
        for i, matrix in enumerate(stack[: min(counts)], start=1)
    ]


def _checked(variables: dict[str, Array] | ValueError) -> Array:
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


def _archived(problems: Problems, size: tuple[int, int] | None) -> list[Face]:
    """Read all images from one .mat file."""
    path, faces = problems.folder / _ARCHIVE, list[Face]()
    with problems.noted(path):
        arrays = read_apart(path)
        missing = [key for key in ("all_data", "all_label", "rows", "cols") if key not in arrays]
        if missing:
            raise ValueError(f"has no array {missing[0]!r}")
        height, width = int(arrays["rows"].item()), int(arrays["cols"].item())
        people, shape = arrays["all_label"].ravel(), arrays["all_data"].shape
        if shape != (height * width, len(people)) or len(people) % len(POSES):
            raise ValueError(
                f"holds an array {shape}, not {height}·{width} pixels × seven per person"
            )
        # MATLAB stores columns first.
        columns = arrays["all_data"].T.reshape(-1, width, height)
        images = np.ascontiguousarray(columns.swapaxes(1, 2))
        problems.expect("images", len(images), PEOPLE * len(POSES))
        faces.extend(
            (_resampled(image, size), f"{person:03d}", POSES[i % len(POSES)], f"{path.name}[{i}]")
            for i, (image, person) in enumerate(zip(images, people, strict=True))
        )
    return faces


def _resampled(image: Array, size: tuple[int, int] | None) -> Array:
    if size is None:
        return image
    resize = import_extra("skimage.transform", extra="vision").resize
    scaled = resize(image, size, preserve_range=True, anti_aliasing=True)
    return np.asarray(scaled).round().astype(np.uint8)


def _images(problems: Problems, size: tuple[int, int] | None) -> list[Face]:
    """Read image files that are named, or lie in folders named, by pose."""
    faces: list[Face] = []
    there: dict[str, set[str]] = defaultdict(set)
    for path in image_files(problems.folder, deep=True):
        identity = _identity(path)
        if identity is None:
            continue
        with problems.noted(path):
            faces.append((read_grey(path, size), *identity, problems.name(path)))
            there[identity[0]].add(identity[1])
    if faces:
        problems.expect("people", len(there), PEOPLE)
    for person, poses in sorted(there.items()):
        absent = [pose for pose in POSES if pose not in poses]
        if absent:
            problems.add(f"person {person} has no image of the pose {', '.join(absent)}")
    return faces


def _identity(path: Path) -> tuple[str, str] | None:
    """Return the person and the pose of an image, by its name or its folder's."""
    match = _FILE.match(path.name)
    if match:
        return match.group(1), match.group(2).lower()
    number = re.search(r"\d+", path.stem)
    if path.parent.name.lower() in POSES and number:
        return number.group(), path.parent.name.lower()
    return None
