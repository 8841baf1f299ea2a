"""What an experiment gives to a method: samples with labels, divided into those to learn from and to classify."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray, Indices

#: The score of most experiments, and the view of the samples that most methods work on.
ACCURACY = "accuracy"
COVARIANCES = "covariances"


@dataclass(frozen=True)
class LabelledViews:
    """Labelled samples, described in one or several ways.

    Parameters
    ----------
    y : ndarray of shape (m,)
        The labels.
    views : dict of str to ndarray
        Descriptions of the same m samples by name, "covariances" (m, n, n) among them.
    """

    y: Array
    views: Mapping[str, Array]

    def take(self, indices: Any) -> LabelledViews:
        """Return some of the samples.

        Parameters
        ----------
        indices : array-like of int or bool
            Their indices, or a mask.

        Returns
        -------
        LabelledViews
        """
        views = {name: view[indices] for name, view in self.views.items()}
        return LabelledViews(self.y[indices], views)

    def with_covariances(self, X: FloatArray) -> LabelledViews:
        """Return the samples with other covariances, X of shape (m, n, n)."""
        return replace(self, views={**self.views, COVARIANCES: X})

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Task:
    """What a method has to do in one repeat: learn from some samples, classify others.

    Parameters
    ----------
    train : LabelledViews
        The samples that a classifier is fitted to, or the gallery.
    tests : dict of str to LabelledViews
        The samples to classify, by the name of the score.
    learn : LabelledViews, default=None
        The samples that a dictionary is learned from, where they are not those of `train`.
    parameters : dict, default={}
        Parameters of the methods that the part prescribes, such as the number of atoms.
    """

    train: LabelledViews
    tests: Mapping[str, LabelledViews]
    learn: LabelledViews | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def sequences(items: Collection[Array]) -> Array:
    """Return arrays of different shapes as an array of objects, which can be a view of samples."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def halves(y: Array, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the indices of a random half of every class, and those of the other half."""
    return _divided(y, rng, lambda count: count // 2)


def drawn(y: Array, per_class: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the indices of ``per_class`` random samples of every class, and those of the others."""
    return _divided(y, rng, lambda count: per_class)


def _divided(
    y: Array, rng: np.random.Generator, first: Callable[[int], int]
) -> tuple[Indices, Indices]:
    """Return the first ``first(count)`` of the samples of every class, in random order, and the rest."""
    orders = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return (
        np.concatenate([order[: first(len(order))] for order in orders]),
        np.concatenate([order[first(len(order)) :] for order in orders]),
    )
