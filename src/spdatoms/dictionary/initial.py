"""The first atoms of a dictionary."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.sampling import distinct_samples, evenly_spaced, too_few
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.warning import warn_user
from spdatoms._utils.weights import part_of
from spdatoms.divergences import Divergence
from spdatoms.geometry.functions import geodesic
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.validation import check_spd

#: What ``init`` may be by name, and in all.
INIT_NAMES = ("kmeans", "kmeans-riemann", "random")
INIT = allow.choice(*INIT_NAMES) | allow.MATRICES
#: Iterations of k-means to start with: the learner moves the atoms anyway.
_KMEANS_ITERATIONS = 10
#: The most samples per atom that it sees, evenly taken, or this number if that is more.
_KMEANS_SAMPLES, _KMEANS_LEAST = 100, 20_000


def first_atoms(
    X: FloatArray,
    init: str | ArrayLike,
    n_atoms: int,
    divergence: Divergence,
    rng: np.random.Generator,
    n_jobs: int | None,
    weights: Floats | None = None,
) -> Floats:
    """Return the dictionary to start from: random samples, the centres of k-means, or a given one.

    If there are fewer different samples than atoms, all of them, and midpoints between random pairs of them.
    """
    if not isinstance(init, str):
        atoms = check_size(check_spd(init, name="init"), X.shape[-1], name="init")
        if len(atoms) != n_atoms:
            raise ValueError(f"init holds {len(atoms)} atoms, but n_atoms is {n_atoms}.")
        return as_double(atoms)
    order = rng.permutation(len(X)) if init == "random" else range(len(X))
    different = distinct_samples(X, order, n_atoms)
    if len(different) == 1 < n_atoms:
        raise too_few(len(X), 1, n_atoms)
    if len(different) < n_atoms:
        warn_user(
            f"n_atoms={n_atoms} is more than the {len(different)} different matrices to learn from: the other atoms "
            "start at midpoints between pairs of them. Ask for fewer atoms, or give more matrices."
        )
        return _with_midpoints(as_double(X[different]), n_atoms, rng)
    if init == "random":
        return as_double(X[different])
    metric = "riemann" if init == "kmeans-riemann" else divergence
    some = evenly_spaced(len(X), max(_KMEANS_LEAST, _KMEANS_SAMPLES * n_atoms))
    kmeans = quick_kmeans(
        X[some],
        n_atoms,
        part_of(weights, some),
        metric=metric,
        max_iter=_KMEANS_ITERATIONS,
        random_state=int(rng.integers(2**31)),
        n_jobs=n_jobs,
    )
    return as_double(kmeans.cluster_centers_)


def quick_kmeans(X: FloatArray, count: int, weights: Floats | None, **options: Any) -> Any:
    """Return `SPDKMeans` after one start: its centres need not be the best, and so it does not warn."""
    from spdatoms.clustering.kmeans import SPDKMeans

    kmeans: Any = SPDKMeans(count, n_init=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(X, sample_weight=weights)


def _with_midpoints(samples: Floats, n_atoms: int, rng: np.random.Generator) -> Floats:
    """Return the samples, and points on the geodesics between random pairs of them."""
    missing = n_atoms - len(samples)
    first = rng.integers(len(samples), size=missing)
    second = (first + rng.integers(1, len(samples), size=missing)) % len(samples)
    # Not all in the middle: there may be more atoms than pairs.
    t = rng.uniform(0.25, 0.75, size=missing)
    return np.concatenate([samples, geodesic(samples[first], samples[second], t)])
