"""The training textures of Randen's mosaics."""

from __future__ import annotations

import re

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.array_files import read_npz
from spdatoms._utils.images import image_files, read_grey
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset

#: The mosaic that a case of the files stands for. Cases 1 and 6 match known Brodatz plates; that 2 to 5
#: are these mosaics is probable, and was not checked.
CASES = {1: "5c", 2: "5v", 3: "5v2", 4: "5v3", 5: "5m", 6: "16c"}
CERTAIN = ("5c", "16c")

_KEY = re.compile(r"case(\d+)_class(\d+)$")
_IMAGE = re.compile(r"case(\d+)_\w+_class(\d+)_")
_LAYOUTS = {
    "patches": "a .npz file with arrays 'case1_class01' … (rows, columns, height, width)",
    "images": "grey images called like 'case1_5c_class1_224x224.png'",
}


@allow.checks(**FOLDER, kind=allow.choice(*_LAYOUTS))
def load_randen(
    folder: PathLike, *, kind: str = "patches", on_error: str = "raise"
) -> dict[str, Dataset]:
    """Load the training textures of the mosaics 5c, 5v, 5v2, 5v3, 5m and 16c.

    Parameters
    ----------
    folder : path-like
        Holds one .npz file with an array (rows, columns, height, width) of patches for each class,
        under keys ``case1_class01`` …, or images ``case1_5c_class1_….png``.
    kind : {"patches", "images"}, default="patches"
        The patches of the .npz file, or the images.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do about files that cannot be read: stop, or leave them out with or without a
        warning.

    Returns
    -------
    dict of str to Dataset
        By mosaic. ``data`` has shape (m, height, width); ``groups`` is the row of a patch. Split by
        these groups, since neighbouring patches resemble each other.
    """
    problems = Problems("Randen textures", folder, _LAYOUTS[kind], on_error)
    textures = (_patches if kind == "patches" else _images)(problems)
    problems.report(len(textures))
    cases = sorted({case for case, _ in textures})
    return {CASES[case]: _dataset(case, textures) for case in cases}


def _patches(problems: Problems) -> dict[tuple[int, int], Array]:
    """Return the patches (rows, columns, height, width) by case and class."""
    found: dict[tuple[int, int], Array] = {}
    for path in sorted(problems.folder.glob("*.npz")):
        with problems.noted(path):
            for key, array in read_npz(path).items():
                match = _KEY.match(key)
                if match and int(match.group(1)) in CASES:
                    if array.ndim != 4:
                        raise ValueError(
                            f"{key} has shape {array.shape}, not (rows, columns, height, width)"
                        )
                    found[int(match.group(1)), int(match.group(2))] = array
    return found


def _images(problems: Problems) -> dict[tuple[int, int], Array]:
    """Return the images by case and class, each as a single patch."""
    found: dict[tuple[int, int], Array] = {}
    for path in image_files(problems.folder):
        match = _IMAGE.match(path.name)
        if match and int(match.group(1)) in CASES:
            with problems.noted(path):
                found[int(match.group(1)), int(match.group(2))] = read_grey(path)[None, None]
    return found


def _dataset(case: int, textures: dict[tuple[int, int], Array]) -> Dataset:
    mosaic = CASES[case]
    classes = {number: array for (of, number), array in sorted(textures.items()) if of == case}
    labels, rows, names = [], [], []
    for number, array in classes.items():
        for row, column in np.ndindex(array.shape[:2]):
            labels.append(f"class{number:02d}")
            rows.append(row)
            names.append(f"case{case}_class{number:02d}[{row}, {column}]")
    probable = f" That case {case} is {mosaic} is probable, not certain."
    return dataset(
        np.concatenate([array.reshape(-1, *array.shape[2:]) for array in classes.values()]),
        labels,
        rows,
        names,
        f"Training textures of Randen's mosaic {mosaic} (case {case})."
        + ("" if mosaic in CERTAIN else probable),
    )
