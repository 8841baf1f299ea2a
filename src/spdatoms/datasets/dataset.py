"""What every loader returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.typing import Array, Indices


class Samples(Sequence[Array]):
    """Arrays of different shapes, kept in memory or read from disk when they are used.

    As an index, an integer gives one array; a slice, an array of indices or a mask gives `Samples`.

    Parameters
    ----------
    items : iterable
        The arrays, or the arguments of `read`.
    read : callable, default=None
        Returns the array of an item.
    """

    def __init__(self, items: Iterable[Any], read: Callable[[Any], Array] | None = None) -> None:
        self._items = list(items)
        self._read = read

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: Any) -> Samples: ...

    def __getitem__(self, index: Any) -> Array | Samples:
        if isinstance(index, int | np.integer):
            item = self._items[index]
            return np.asarray(item) if self._read is None else self._read(item)
        picked = np.arange(len(self))[index]
        return Samples([self._items[i] for i in picked], self._read)

    def __repr__(self) -> str:
        return f"<Samples: {len(self)} arrays{'' if self._read is None else ', read when used'}>"


@dataclass(frozen=True, repr=False)
class Dataset:
    """Samples with their classes and groups.

    Parameters
    ----------
    data : ndarray or Samples
        The samples, along the first axis. `Samples`, which are indexed like an array, hold those of
        different shapes, and large ones, which are read from disk when they are used.
    target : ndarray of shape (m,)
        The class of each sample, an index into `target_names`.
    target_names : tuple of str
        The names of the classes.
    groups : ndarray of shape (m,)
        What protocols split by: the pose, subject or sequence that a sample belongs to.
    names : tuple of str
        The file, relative to the folder of the data set, or the key of each sample.
    description : str
        What the data are, in a few sentences, and what is not certain about them.
    masks : Samples, default=None
        For each image the pixels (True) that show the object.
    boxes : Samples, default=None
        For each film the regions of interest of its frames, (frames, 4): x, y, width, height.
    """

    data: Array | Samples
    target: Indices
    target_names: tuple[str, ...]
    groups: Array
    names: tuple[str, ...]
    description: str
    masks: Samples | None = None
    boxes: Samples | None = None

    def __post_init__(self) -> None:
        count = len(self.data)
        for name in ("target", "groups", "names", "masks", "boxes"):
            part = getattr(self, name)
            if part is not None and len(part) != count:
                raise ValueError(f"{name} has {len(part)} entries for {count} samples.")

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        data = self.data
        kind = f"{data.shape} {data.dtype}" if isinstance(data, np.ndarray) else repr(data)
        return f"<Dataset: {len(self)} samples, {kind}, {len(self.target_names)} classes>"

    @property
    def labels(self) -> NDArray[np.str_]:
        """The name of the class of each sample."""
        return np.asarray(self.target_names)[self.target]

    def subset(self, index: ArrayLike) -> Dataset:
        """Return some of the samples; the classes keep their numbers.

        Parameters
        ----------
        index : int, array-like of int or array-like of bool
            The index of a sample, several indices, or a mask.

        Returns
        -------
        Dataset
        """
        chosen = np.atleast_1d(index)
        picked = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.intp)]
        each = {
            name: getattr(self, name) for name in ("data", "target", "groups", "masks", "boxes")
        }
        parts = {name: part[picked] for name, part in each.items() if part is not None}
        return replace(self, names=tuple(self.names[i] for i in picked), **parts)


def encode(labels: Sequence[str], order: Sequence[str] = ()) -> tuple[Indices, tuple[str, ...]]:
    """Return a data set's labels as indices, and their names: those of `order`, or the labels sorted."""
    names = tuple(order) or tuple(sorted(set(labels)))
    index = {name: i for i, name in enumerate(names)}
    return np.array([index[label] for label in labels], dtype=np.intp), names
