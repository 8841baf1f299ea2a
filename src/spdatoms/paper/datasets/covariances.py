"""Ready covariances: a folder of .npz files, each a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.array_files import read_npz
from spdatoms.datasets.dataset import Dataset
from spdatoms.geometry.validation import as_float, check_spd, check_stack
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset

_LAYOUT = ".npz files with arrays 'X' (m, n, n), 'y' (m,) and perhaps 'g' (m,)"


@allow.checks(**FOLDER, definite=allow.BOOLEAN)
def load_covariances(
    folder: PathLike, *, definite: bool = True, on_error: str = "raise"
) -> dict[str, Dataset]:
    """Load ready covariances with their labels and groups.

    Parameters
    ----------
    folder : path-like
        Holds .npz files with the arrays ``X`` (m, n, n), SPD matrices, ``y`` (m,), their labels, and
        perhaps ``g`` (m,), their groups: subjects, recordings, or parts of a published division.
    definite : bool, default=True
        Whether a file with matrices that are not positive definite counts as one that cannot be read.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do about files that cannot be read: stop, or leave them out with or without a
        warning.

    Returns
    -------
    dict of str to Dataset
        By the name of the file, without its ending. ``groups`` is ``g``, or zeros if there is none.
    """
    problems = Problems("Ready covariances", folder, _LAYOUT, on_error)
    found: dict[str, Dataset] = {}
    for path in sorted(problems.folder.glob("*.npz")):
        with problems.noted(path):
            found[path.stem] = _dataset(path, definite)
    problems.report(len(found))
    return found


def _dataset(path: Path, definite: bool) -> Dataset:
    arrays = read_npz(path)
    missing = [key for key in ("X", "y") if key not in arrays]
    if missing:
        raise ValueError(f"has no array {missing[0]!r}")
    X = check_spd(arrays["X"]) if definite else as_float(arrays["X"], "X")
    check_stack(X, "X")
    y, groups = arrays["y"], arrays.get("g", np.zeros(len(X), dtype=np.intp))
    for name, labels in (("y", y), ("g", groups)):
        if labels.shape != (len(X),):
            raise ValueError(f"{name} has the shape {labels.shape} for {len(X)} matrices")
    # Sorted as they are, not as text: 2 stands before 10.
    classes = [str(label) for label in np.unique(y)]
    return dataset(
        X,
        [str(label) for label in y],
        groups,
        [f"{path.name}[{i}]" for i in range(len(X))],
        f"{len(X)} ready covariances of size {X.shape[-1]}, {len(classes)} classes.",
        order=classes,
    )
