"""Which labelled matrices a classifier keeps as atoms: some of each class, or the newest of a stream.

In a stream a matrix is ranked by how many newer ones its class has. Those of the least rank are kept, of the same rank
the newest: the oldest of the class that has most are forgotten first, and no class is forgotten as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.checks import check_size
from spdatoms._utils.typing import Array, FloatArray, Indices
from spdatoms._utils.weights import Weighted, labelled_weights, part_of
from spdatoms.base.labels import given_labels
from spdatoms.geometry.validation import check_spd


def chosen_rows(
    labels: Indices,
    classes: Array,
    sample_weight: ArrayLike | None,
    class_weight: str | Mapping[Any, float] | None,
    most: int | None,
) -> Weighted:
    """Return rows with a positive weight, at most this number of them spread over the classes, and their weights."""
    rows, weights = labelled_weights(labels, classes, sample_weight, class_weight)
    if most is None:
        return rows, weights
    own = np.arange(len(labels))[rows]
    some = spread_over_classes(labels[own], max(most, len(classes)))
    return own[some], part_of(weights, some)


def spread_over_classes(labels: Indices, count: int) -> Indices:
    """Return ``count`` rows, if there are as many, evenly taken from the rows sorted by their class.

    So each class has its share of them, whatever the order of the rows is. A class too rare for that adds one.
    """
    order = np.argsort(labels, kind="stable")
    steps = np.linspace(0, len(order) - 1, min(count, len(order)))
    taken = order[steps.round().astype(np.intp)]
    classes, first = np.unique(labels, return_index=True)
    return np.unique(np.concatenate([taken, first[~np.isin(classes, labels[taken])]]))


@dataclass(frozen=True)
class Remembered:
    """Labelled matrices that are kept, in the order in which they came.

    Attributes
    ----------
    matrices : ndarray of shape (N, n, n)
        The matrices.
    classes : ndarray of shape (n_classes,)
        The different labels, sorted.
    labels : ndarray of shape (N,)
        The index of the class of each matrix.
    old : ndarray of int of shape (k,)
        Which of the atoms that there were the first k matrices are.
    new : ndarray of int of shape (N - k,)
        Which of the new matrices the others are.
    """

    matrices: FloatArray
    classes: Array
    labels: Indices
    old: Indices
    new: Indices

    @classmethod
    def of(cls, model: Any, X: ArrayLike, y: ArrayLike, most: int | None) -> Remembered:
        """Return what is kept of the atoms of a model, if it is fitted, and of new labelled matrices."""
        matrices: FloatArray = model._of_its_type(check_spd(X))
        labels = given_labels(y, len(matrices))
        count = 0
        if getattr(model, "n_atoms_per_class", None) is not None:
            raise ValueError(
                "partial_fit keeps training matrices as atoms, and learns none: set n_atoms_per_class=None, and give "
                "max_atoms to keep few."
            )
        if hasattr(model, "classes_"):
            _check_kept(model, labels)
            count = len(model.atoms_)
            matrices = check_size(matrices, model.n_features_in_)
            matrices = np.concatenate([model.atoms_, matrices])
            labels = np.concatenate([model.atom_labels_, labels])
        classes, indices = np.unique(labels, return_inverse=True)
        rows = newest_of_classes(indices, most)
        old, new = rows[rows < count], rows[rows >= count] - count
        return cls(matrices[rows], classes, indices[rows], old, new)


def newest_of_classes(labels: Indices, most: int | None) -> Indices:
    """Return which of labelled matrices, the oldest first, are kept: at most this number, but one of each class.

    What is kept does not depend on whether matrices come one by one or at once.
    """
    count = len(labels)
    if most is None or count <= most:
        return np.arange(count)
    order = np.lexsort((-np.arange(count), labels))  # by class, the newest first
    classes, first = np.unique(labels[order], return_index=True)
    ranks = np.empty(count, np.intp)
    ranks[order] = np.arange(count) - first[np.searchsorted(classes, labels[order])]
    kept = np.lexsort((-np.arange(count), ranks))[: max(most, len(classes))]
    return np.sort(kept)


def kept_atoms(model: Any, wanted: str) -> FloatArray:
    """Return the atoms of a model, or refuse what is ``wanted``, such as "partial_fit needs", if it has none."""
    if model.atoms_ is None:
        raise ValueError(
            f"{wanted} the training matrices, which are not kept when they are read from a Dask array or a long memory "
            "map: fit to an array in memory."
        )
    atoms: FloatArray = model.atoms_
    return atoms


def _check_kept(model: Any, labels: Array) -> None:
    """Refuse to go on from a model without its training matrices, or with labels of another kind."""
    kept_atoms(model, "partial_fit needs")
    weights = model.atom_weights_
    if weights is not None:
        of_class = np.zeros(len(model.classes_))
        of_class[model._atom_classes] = weights
        if model.class_weight is None or (of_class[model._atom_classes] != weights).any():
            raise ValueError(
                "partial_fit does not go on with weights of matrices: fit without sample_weight, or fit again to all "
                "of them."
            )
    if (labels.dtype.kind in "biuf") != (model.atom_labels_.dtype.kind in "biuf"):
        raise ValueError(
            f"y must hold labels like those so far, such as {model.classes_[0]!r}, got {labels[0]!r}."
        )
