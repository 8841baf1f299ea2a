"""Random divisions of labelled samples in two, class by class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spdatoms._utils.typing import Array, Indices


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
