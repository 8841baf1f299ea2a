"""Problems of a folder: collected while it is read, reported together, by file name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, Samples, encode

PathLike: TypeAlias = str | os.PathLike[str]

#: What all loaders have in common.
FOLDER = allow.declare(folder=allow.PATH, on_error=allow.choice("raise", "warn", "ignore"))
#: An error shows only the first problems: of a thousand, these show the kind.
_SHOWN = 10


class DatasetWarning(UserWarning):
    """Files of a data set were left out, or it is not complete."""


class Problems:
    """The problems met in one data set.

    Parameters
    ----------
    title : str
        The name of the data set.
    folder : path-like
        Where it is; file names are relative to it. It is an error if it does not exist.
    layout : str
        What it should hold.
    on_error : {"raise", "warn", "ignore"}
        What `report` does.
    """

    def __init__(self, title: str, folder: PathLike, layout: str, on_error: str) -> None:
        self.title, self.layout, self.on_error = title, layout, on_error
        self.folder = Path(folder).expanduser()
        if not self.folder.is_dir():
            what = "is not a folder" if self.folder.exists() else "does not exist"
            raise FileNotFoundError(
                f"{title}: {self.folder} {what}. Give the folder that holds {layout}."
            )
        self.found: list[str] = []

    def add(self, what: str, path: Path | None = None) -> None:
        """Add a problem, of a file if it belongs to one."""
        self.found.append(f"{self.name(path)}: {what}" if path else what)

    def name(self, path: Path) -> str:
        """Return the path relative to the folder, with forward slashes."""
        inside = path.is_relative_to(self.folder)
        return (path.relative_to(self.folder) if inside else path).as_posix()

    def folders(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the names of folders that are there, and add a problem for every other."""
        for name in names:
            if (self.folder / name).is_dir():
                yield name
            else:
                self.add(f"the folder {name} is missing")

    @contextmanager
    def noted(self, path: Path) -> Iterator[None]:
        """Add an error in the block as a problem of the file, and continue."""
        try:
            yield
        except (ValueError, OSError) as error:
            self.add(str(error), path)

    def expect(self, what: str, count: int, expected: int) -> None:
        """Add a problem if a count is not that of the release."""
        if count != expected:
            self.add(f"{what}: {expected} were expected, {count} are there")

    def report(self, left: int) -> None:
        """Raise an error or warn if there are problems; raise an error if no sample is left."""
        if not left:
            reason = self._list(_SHOWN) or f"it does not hold {self.layout}"
            raise ValueError(f"{self.title}: nothing to use in {self.folder}: {reason}.")
        if self.found and self.on_error == "raise":
            raise ValueError(
                f"{self.title} in {self.folder}: {self._list(_SHOWN)}. Complete the folder, or use "
                "what is there with on_error='warn'."
            )
        if self.found and self.on_error == "warn":
            warnings.warn(
                f"{self.title} in {self.folder}, going on without: {self._list(len(self.found))}.",
                DatasetWarning,
                stacklevel=3,
            )

    def _list(self, most: int) -> str:
        more = len(self.found) - most
        return "; ".join(self.found[:most]) + (f"; and {more} more" if more > 0 else "")


def stacked(images: Sequence[Array]) -> Array | Samples:
    """Return images as one array if they all have the same size."""
    return np.stack(images) if len({image.shape for image in images}) == 1 else Samples(images)


def dataset(
    data: Array | Samples,
    labels: Sequence[str],
    groups: Sequence[Any] | Array,
    names: Iterable[str],
    description: str,
    *,
    order: Sequence[str] = (),
    **more: Samples,
) -> Dataset:
    """Return samples with labels, whose classes are in the given or in alphabetical order."""
    target, classes = encode(labels, order)
    return Dataset(data, target, classes, np.asarray(groups), tuple(names), description, **more)
