"""Random and evenly spaced choices of matrices."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Indices


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator of random numbers for whatever scikit-learn or NumPy call a random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def random_source(random_state: Any) -> Any:
    """Return what to draw from: for None a fresh generator, not the global state of NumPy.

    Recorded results hold what `RandomState` draws for an integer, so integers are not for `default_rng`.
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return generator(random_state)
    # Late, so that commands that draw nothing start without scikit-learn.
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


def distinct_samples(X: FloatArray, order: ArrayLike, count: int) -> list[int]:
    """Return the first samples in this order that differ from each other, ``count`` at most."""
    order = np.asarray(order, np.intp)
    seen: set[bytes] = set()
    chosen: list[int] = []
    # A few at a time: data may be far away, and the first ones are usually enough.
    for part in block_slices(len(order), 2 * count):
        if len(chosen) == count:
            break
        for i, matrix in zip(order[part], X[order[part]], strict=True):
            digest = hashlib.blake2b(matrix.tobytes(), digest_size=16).digest()
            if digest not in seen and len(chosen) < count:
                seen.add(digest)
                chosen.append(int(i))
    return chosen


def evenly_spaced(count: int, limit: int) -> slice:
    """Return a slice that takes at most ``limit`` of ``count`` things, evenly, the same every time."""
    return slice(None, None, -(-count // limit))


def spread_evenly(count: int, limit: int) -> Indices:
    """Return ``limit`` of ``count`` indices, or all if they are fewer, evenly, the same every time.

    Unlike those of `evenly_spaced` they are always as many as they may be.
    """
    number = min(count, limit)
    return np.arange(number) * count // max(1, number)


def first_samples(X: FloatArray, order: ArrayLike, n_atoms: int) -> list[int]:
    """Return ``n_atoms`` different samples to begin a dictionary with, or refuse if there are fewer."""
    chosen = distinct_samples(X, order, n_atoms)
    if len(chosen) < n_atoms:
        raise too_few(len(X), len(chosen), n_atoms)
    return chosen


def too_few(n_samples: int, different: int, n_atoms: int) -> ValueError:
    """Return what is raised if no dictionary can begin with so few different samples."""
    return ValueError(
        f"X (n_samples={n_samples}) holds {different} different matrices, too few for {n_atoms} atoms: "
        "lower n_atoms."
    )
