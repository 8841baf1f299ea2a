"""Folds of labelled samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Indices


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
