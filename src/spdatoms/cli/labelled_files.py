"""Matrices for training and as queries: with their labels, on the common range and with the channels of training.

Labels are those of a second file, of the same one, or of a folder per class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spdatoms._utils.text import counted
from spdatoms._utils.typing import Array
from spdatoms.cli.formats.half_vectors import Components
from spdatoms.cli.formats.samples import Covariance, has_classes, is_epochs, is_folder
from spdatoms.cli.formats.volumes import VOLUME_FILES
from spdatoms.cli.show import say

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices

#: The greatest number of names in a message.
_LISTED = 8


class Files(NamedTuple):
    """Files of matrices, of their labels, and of the voxels of a volume to use."""

    matrices: Path | None
    labels: Path | None
    mask: Path | None


def with_own_labels(files: Files) -> Files:
    """Return the files with the labels that epochs and folders have themselves, and the voxels that a map labels."""
    matrices, labels, mask = files
    if matrices is not None and labels is None:
        labels = matrices if is_epochs(matrices) or is_folder(matrices) else None
    return Files(matrices, labels, labels if mask is None and _is_volume(labels) else mask)


def _is_volume(path: Path | None) -> bool:
    return path is not None and path.name.lower().endswith(VOLUME_FILES)


@dataclass(frozen=True)
class Reader:
    """How files of matrices and labels are read, by the options of these names."""

    key: str | None
    label_key: str | None
    components: Components | None
    covariance: Covariance | None

    def training(self, files: Files, others: Files) -> tuple[Matrices | None, Any]:
        """Return the training matrices on their common range, and that range, or None as far as there are none."""
        if files.matrices is None:
            return None, None
        found = self._matrices(files.matrices, files.mask, others.matrices)
        reach = common_range(found.X, files.matrices)
        return self._labelled(on_range(found, files.matrices, reach), files, others), reach

    def queries(
        self, files: Files, others: Files, reach: Any, channels: Sequence[str]
    ) -> Matrices | None:
        """Return the matrices to classify on the range of the training matrices, with the channels of these names.

        They may lack channels.
        """
        if files.matrices is None:
            return None
        found = self._matrices(files.matrices, files.mask, others.matrices)
        found = in_places(found, channels, files.matrices, whole=reach is not None)
        placed = on_range(found, files.matrices, reach, incomplete=True)
        if files.labels is None and (is_epochs(files.matrices) or has_classes(files.matrices)):
            files = files._replace(labels=files.matrices)
        return self._labelled(placed, files, others)

    def _matrices(self, path: Path, mask: Path | None, other: Path | None) -> Matrices:
        from spdatoms.cli.formats.matrices import read_matrices

        for_other = _is_volume(other) and not _is_volume(path)  # the volume needs their order
        order = None if for_other else self.components
        return read_matrices(path, _key(self.key, path, other), mask, order, self.covariance)

    def _labelled(self, found: Matrices, files: Files, others: Files) -> Matrices:
        from spdatoms.cli.formats.labels import read_labels

        if files.labels is None:
            return found
        key = _key(self.label_key, files.labels, others.labels)
        return replace(found, y=read_labels(files.labels, key, len(found.X), found.volume))


def _key(key: str | None, path: Path, other: Path | None) -> str | None:
    """Return the key for a file; an .npy file needs none if the key is for the other file."""
    single = path.suffix.lower() == ".npy"
    return None if single and other is not None and other.suffix.lower() != ".npy" else key


def in_places(read: Matrices, names: Sequence[str], path: Path, *, whole: bool) -> Matrices:
    """Return matrices whose channels have these names, in this order; rows and columns of absent ones are NaN.

    If one side has no names, nothing changes. If matrices must be ``whole``, absent channels are an error.
    """
    own = read.channels
    if not own or not names or tuple(own) == tuple(names):
        return read
    absent = [name for name in names if name not in own]
    foreign = [name for name in own if name not in names]
    if len(absent) == len(names):
        raise ValueError(
            f"{path} has no channel of the training matrices: its channels are {_listed(own)}, theirs {_listed(names)}."
        )
    if absent and whole:
        raise ValueError(
            f"{path} lacks {_listed(absent)}, but a common range of singular matrices needs all channels."
        )
    said = [f"lacks {_listed(absent)}"] if absent else []
    if foreign:
        said.append(f"has {_listed(foreign)}, which training lacks and which is left out")
    if [name for name in own if name in names] != [name for name in names if name in own]:
        said.append("has its channels in another order: they are matched by their names")
    say(f"note: {path} {'; it '.join(said)}")
    places = np.array([own.index(name) if name in own else -1 for name in names])
    X = read.X[:, places[:, None], places]
    X[:, places < 0] = X[:, :, places < 0] = np.nan
    return replace(read, X=X, channels=tuple(names))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def common_range(X: Array, path: Path) -> Any:
    """Return the `SPDRange` of singular matrices, and say so; None for others."""
    from spdatoms.geometry.validation import Unfit, as_float, check_stack, find_unfit
    from spdatoms.scale.blocks import of_blocks

    check_stack(X, "X")
    found = of_blocks(lambda block: find_unfit(as_float(block, "X")), X)
    if not sum((unfit for _, unfit in found), Unfit()).singular:
        return None
    from spdatoms.channels import SPDRange

    reach = SPDRange()
    try:
        reach.fit(X)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    n = X.shape[-1]
    say(
        f"note: the rank of the matrices in {path} is {reach.rank_}, not {n}: their common range is used"
    )
    return reach


def check_sizes(X: Array, path: Path | None, n: int, other: Path | None) -> None:
    """Refuse matrices of a file that are not n×n, as those of the other file are."""
    own = X.shape[-1]
    if own != n:
        raise ValueError(f"{path} has {own}×{own} matrices, but {other} has {n}×{n}.")


def on_range(read: Matrices, path: Path, reach: Any, *, incomplete: bool = False) -> Matrices:
    """Return the matrices of a file on a common range, or checked if that is None; the first bad one is an error.

    Those that are ``incomplete`` may lack channels, whose rows and columns are NaN, if there is no common range.
    """
    from spdatoms.cli.formats.matrices import complaints_about
    from spdatoms.geometry import check_spd
    from spdatoms.geometry.channels import check_incomplete
    from spdatoms.scale.blocks import gathered, of_blocks

    lacking, count = 0, len(read.X)

    def checked(block: Array) -> Array:
        nonlocal lacking
        if not incomplete:
            return check_spd(block)
        X, known = check_incomplete(block)
        lacking += int((~known.all(axis=1)).sum())
        return X

    with complaints_about(path, read.options):
        if reach is not None:
            found = (placed for _, placed in of_blocks(reach.transform, read.X))
            return replace(read, X=gathered(found, count))
        for _, last in of_blocks(checked, read.X):
            X = last  # all of them, if they are one block
    if lacking:
        say(f"note: {lacking} of {counted(count, 'matrix', 'matrices')} lack channels")
    return replace(read, X=X) if len(X) == count else read
