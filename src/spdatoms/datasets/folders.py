"""Samples from a folder with a folder per class: images, or skeletons as tables of joint positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.images import IMAGES, read_colour, read_luminance
from spdatoms._utils.tables import TEXT_FILES, read_numbers
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, Samples, encode

_AXES = 3


@allow.checks(folder=allow.PATH, grey=allow.BOOLEAN)
def load_folder(folder: str | Path, *, grey: bool = False) -> Dataset:
    """Load samples whose classes are the folders that they lie in: images, or skeletons.

    ``photos/cat/1.jpg``, ``photos/dog/2.jpg``: the classes are cat and dog. Files of other kinds, and names that begin
    with a dot, are left out. If there are no folders inside, all samples are of one class, named after the folder.

    A skeleton is a table (.csv, .tsv, .txt) with a row per frame and three columns per joint, x, y and z, joint after
    joint; its first line may have names.

    Parameters
    ----------
    folder : str or Path
        The folder.
    grey : bool, default=False
        Read images as grey, (height, width), in place of colours, (height, width, 3).

    Returns
    -------
    Dataset
        ``data`` are `Samples`, read when they are used: images (height, width, 3), or sequences (frames, joints, 3).
        ``target`` is the class, ``names`` the file, and ``groups`` the number of the sample.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from spdatoms.datasets import load_folder
    >>> from spdatoms.descriptors import JointCovariance
    >>> with TemporaryDirectory() as folder:
    ...     for action in ("jump", "walk"):
    ...         (Path(folder) / action).mkdir()
    ...         walk = np.random.default_rng(0).standard_normal((20, 6))  # 20 frames, 2 joints
    ...         np.savetxt(Path(folder) / action / "1.csv", walk, delimiter=",")
    ...     skeletons = load_folder(folder)
    ...     JointCovariance().transform(skeletons.data).shape, skeletons.target_names
    ((2, 6, 6), ('jump', 'walk'))
    """
    place = Path(folder)
    files, labels = folder_files(place)
    tables = is_skeletons(files[0])
    read = read_skeleton if tables else read_luminance if grey else read_colour

    def named(path: Path) -> Array:
        try:
            return np.asarray(read(path))
        except ValueError as error:
            raise ValueError(f"{path}: {str(error).rstrip('.')}.") from error

    target, names = encode(labels)
    return Dataset(
        data=Samples(files, named),
        target=target,
        target_names=names,
        groups=np.arange(len(files)),
        names=tuple(file.relative_to(place).as_posix() for file in files),
        description=f"{'Skeletons' if tables else 'Images'} in the folders of {place.name}.",
    )


def folder_files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of samples in a folder, all images or all tables, and their classes."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder.")
    inside = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [(file, own.name) for own in inside or [folder] for file in _samples(own)]
    kinds = {is_skeletons(file) for file, _ in found}
    if len(kinds) != 1:
        problem = "both images and tables" if kinds else "no images and no tables of skeletons"
        raise ValueError(
            f"{folder} has {problem}: expected is a folder per class, all with images ({', '.join(IMAGES)}) or all "
            f"with tables of joint positions ({', '.join(TEXT_FILES)})."
        )
    empty = [own.name for own in inside if not any(label == own.name for _, label in found)]
    if empty:
        raise ValueError(f"{folder} has a folder without samples, {empty[0]}: leave it out.")
    return [file for file, _ in found], [label for _, label in found]


def is_skeletons(path: Path) -> bool:
    """Return whether a file is a table of joint positions, by its name."""
    return path.suffix.lower() in TEXT_FILES


def read_skeleton(path: Path) -> Array:
    """Return a table of joint positions as (frames, joints, 3)."""
    numbers = read_numbers(path)
    if numbers.shape[1] % _AXES:
        raise ValueError(
            f"is a table of the shape {numbers.shape}: expected are frames × joints·3, x, y and z of joint after joint"
        )
    return numbers.reshape(len(numbers), -1, _AXES)


def _samples(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file()
        and not path.name.startswith(".")
        and path.name.lower().endswith((*IMAGES, *TEXT_FILES))
    )
