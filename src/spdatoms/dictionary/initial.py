"""The first atoms of a dictionary."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.sampling import evenly_spaced, first_samples
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences import Divergence
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
) -> Floats:
    """Return the dictionary to start from: random samples, the centres of k-means, or a given one."""
    if not isinstance(init, str):
        atoms = check_size(check_spd(init, name="init"), X.shape[-1], name="init")
        if len(atoms) != n_atoms:
            raise ValueError(f"init holds {len(atoms)} atoms, but n_atoms is {n_atoms}.")
        return as_double(atoms)
    if init == "random":
        return as_double(X[first_samples(X, rng.permutation(len(X)), n_atoms)])
    first_samples(X, range(len(X)), n_atoms)
    from spdatoms.clustering.kmeans import SPDKMeans

    kmeans: Any = SPDKMeans(
        n_atoms,
        metric="riemann" if init == "kmeans-riemann" else divergence,
        init="k-means++",
        n_init=1,
        max_iter=_KMEANS_ITERATIONS,
        random_state=int(rng.integers(2**31)),
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        some = X[evenly_spaced(len(X), max(_KMEANS_LEAST, _KMEANS_SAMPLES * n_atoms))]
        return as_double(kmeans.fit(some).cluster_centers_)
