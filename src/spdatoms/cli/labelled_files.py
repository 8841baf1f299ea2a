"""Matrices with their labels: of two files, of one that has both, or of a folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spdatoms.cli.formats.folders import has_classes, is_folder
from spdatoms.cli.formats.half_vectors import Components
from spdatoms.cli.formats.signals import Covariance, is_epochs
from spdatoms.cli.formats.volumes import VOLUME_FILES

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices


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
        from spdatoms.cli import models

        if files.matrices is None:
            return None, None
        found = self._matrices(files.matrices, files.mask, others.matrices)
        reach = models.common_range(found.X, files.matrices)
        return self._labelled(models.on_range(found, files.matrices, reach), files, others), reach

    def queries(
        self, files: Files, others: Files, reach: Any, channels: Sequence[str]
    ) -> Matrices | None:
        """Return the matrices to classify on the range of the training matrices, with the channels of these names.

        They may lack channels.
        """
        from spdatoms.cli import models
        from spdatoms.cli.channels import in_places

        if files.matrices is None:
            return None
        found = self._matrices(files.matrices, files.mask, others.matrices)
        found = in_places(found, channels, files.matrices, whole=reach is not None)
        placed = models.on_range(found, files.matrices, reach, incomplete=True)
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
