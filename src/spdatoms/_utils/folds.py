"""Folds of training matrices that are left out in turn: those of labels, and those of the parameter ``cv``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, Indices

#: Where there are few matrices, it is chance which are left out together. So they are cut into folds anew until this
#: number has been left out, at most six times.
_LEFT_OUT, _MOST_REPEATS = 200, 6
#: What ``cv`` may be.
CV = allow.integer(2) | allow.Allowed(
    ("a splitter of scikit-learn", "a list of splits"),
    lambda value: (
        not isinstance(value, str) and (hasattr(value, "split") or hasattr(value, "__iter__"))
    ),
)
LEAVE_ONE_OUT = "loo"


@dataclass(frozen=True)
class Fold:
    """Training samples and left-out ones.

    Attributes
    ----------
    train, test : ndarray of int
        Their indices.
    exclude : ndarray of int or None
        Where left-out samples are training samples, too: for each the position of itself among those.
    """

    train: Indices
    test: Indices
    exclude: Indices | None = None


def left_out_rows(folds: Sequence[Fold]) -> Indices:
    """Return which samples the folds leave out, one after the other."""
    return np.concatenate([np.zeros(0, np.intp), *(fold.test for fold in folds)])


def class_folds(labels: Indices, most: int = 5, repeats: int = 1) -> list[Fold]:
    """Return folds that leave out the members of every class in turn, the same every time.

    Parameters
    ----------
    labels : ndarray of shape (m,)
        The index of the class of every sample.
    most : int, default=5
        The greatest number of folds. There are fewer, but two, if no class has as many members.
    repeats : int, default=1
        How often the samples are cut into folds, every time in another way.

    Returns
    -------
    list of Fold
        Without those that have nothing on one side.
    """
    counts = np.bincount(labels)
    n_folds = max(2, min(most, int(counts.max(initial=0))))
    # Classes begin with different folds, so that all folds are about equally large.
    within = np.concatenate([np.arange(count) for count in counts])
    turns = (within + np.repeat(np.arange(len(counts)), counts)) % n_folds
    rng = np.random.default_rng(0)
    folds = []
    for repeat in range(repeats):
        # The first time by their order, which may be that of time.
        shuffled = rng.permutation(len(labels)) if repeat else np.arange(len(labels))
        order = shuffled[np.argsort(labels[shuffled], kind="stable")]
        fold = np.empty(len(labels), np.intp)
        fold[order] = turns
        folds += [
            Fold(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)
        ]
    return [one for one in folds if len(one.train) and len(one.test)]


def folds_of(cv: Any, labels: Indices, groups: ArrayLike | None, rows: Indices) -> Iterator[Fold]:
    """Yield folds of these rows alone; a list of splits counts all matrices, with or without a weight."""
    if not (hasattr(cv, "split") or isinstance(cv, str | int | np.integer)):
        yield from _given_folds(cv, len(labels), rows)
        return
    labels = labels[rows]
    groups = None if groups is None else np.asarray(groups)[rows]
    everything = np.arange(len(labels))
    if isinstance(cv, str):
        if len(labels) < 2:
            raise ValueError(
                f"Leave-one-out needs at least two matrices, got n_samples={len(labels)}."
            )
        yield Fold(everything, everything, exclude=everything)
    elif isinstance(cv, int | np.integer):
        repeats = max(1, min(_MOST_REPEATS, ceil(_LEFT_OUT / max(1, len(labels)))))
        yield from class_folds(labels, int(cv), repeats)
    else:
        from sklearn.model_selection import check_cv  # late: it takes a tenth of a second

        splitter = check_cv(cv, labels, classifier=True)
        for train, test in splitter.split(everything, labels, groups):
            yield Fold(train, test)


def domain_folds(cv: Any, domains: Array) -> Any:
    """Return ``cv`` as a list of splits that leave out whole domains, by their names; one that is no number stays."""
    if not isinstance(cv, int | np.integer) and cv != LEAVE_ONE_OUT:
        return cv
    different, which = np.unique(domains, return_inverse=True)
    if len(different) < 2:
        raise ValueError("domains must name two domains at least: one of them is left out in turn.")
    folds = len(different) if isinstance(cv, str) else min(int(cv), len(different))
    return [
        (np.flatnonzero(which % folds != f), np.flatnonzero(which % folds == f))
        for f in range(folds)
    ]


def _given_folds(splits: Any, count: int, rows: Indices) -> list[Fold]:
    """Return splits of all matrices as folds of these rows."""
    position = np.full(count, -1)
    position[rows] = np.arange(len(rows))
    folds = []
    for sides in splits:
        try:
            train, test = (own[own >= 0] for own in (position[side] for side in sides))
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                "cv as a list must hold pairs of arrays, the indices of training matrices and of left-out "
                f"ones, each from 0 to {count - 1}."
            ) from error
        if len(train) and len(test):
            folds.append(Fold(train, test))
    if not folds:
        raise ValueError("cv as a list must hold a split with matrices on both sides.")
    return folds


def sides_of(
    folds: Sequence[Fold], count: int, rows: Indices | slice = slice(None)
) -> NDArray[np.int8] | None:
    """Return on which side each of ``count`` matrices is in every fold of these rows: 1 left out, −1 training, 0 none.

    None for a fold that leaves out single matrices, which needs no record.
    """
    sides = np.zeros((len(folds), count), np.int8)
    own = np.arange(count)[rows]
    for side, fold in zip(sides, folds, strict=True):
        if fold.exclude is not None:
            return None
        side[own[fold.train]], side[own[fold.test]] = -1, 1
    return sides


def given_folds(cv: Any, sides: NDArray[np.int8] | None) -> Any:
    """Return ``cv`` as the list of splits that `sides_of` has recorded, itself if there is no record."""
    if sides is None:
        return cv
    return [(np.flatnonzero(row < 0), np.flatnonzero(row > 0)) for row in sides]
