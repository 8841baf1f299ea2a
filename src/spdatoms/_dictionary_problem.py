"""What is settled before a dictionary is learned: first atoms, β, λ, and the ridge that an indefinite kernel needs."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from spdatoms._atom_sums import atom_sums
from spdatoms._atom_updates import UpdateRule
from spdatoms._blocks import block_slices
from spdatoms.coding import automatic_alpha
from spdatoms.correction import eigenvalue_tolerance
from spdatoms.divergences import Divergence, Jeffrey, Stein
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernel import (
    DivergenceKernel,
    check_size,
    choose_beta,
    evenly_spaced,
    kernel_values,
    stein_kernel_is_guaranteed,
)
from spdatoms.validation import FloatArray, check_spd

Floats = NDArray[np.float64]

#: β and the ridge are found from so many samples at most.
_SUBSAMPLE = 500
#: K + μI has no eigenvalue below this on the subsample and the first atoms.
_MARGIN = 1e-3
#: The least Schur complement of an atom in K + (μ − ν)I: what rounding cannot reach.
_LEAST_SCHUR = 1e-5
#: The least eigenvalue of an atom in its unit-diagonal scaling.
_LEAST_EIGENVALUE = 1e-10
#: Iterations of k-means to start with: the learner moves the atoms anyway.
_KMEANS_ITERATIONS = 10
#: It sees so many samples an atom at most, evenly taken, or this number if that is more.
_KMEANS_SAMPLES, _KMEANS_LEAST = 100, 20_000


@dataclass(frozen=True)
class Problem:
    """The kernel and the objective, fixed from the first step to the last.

    Attributes
    ----------
    divergence : Divergence
        The d of the kernel exp(−β·d).
    beta, alpha : float
        β, and the price λ of ‖y‖₁.
    ridge : float
        The price μ of ‖y‖².
    margin : float or None
        The ν that no eigenvalue of K + μI may fall below; None where the kernel is positive definite
        on every set of matrices of this size, and there is nothing to watch.
    """

    divergence: Divergence
    beta: float
    alpha: float
    ridge: float
    margin: float | None

    def gram(self, atoms: Floats) -> Floats:
        """Return K of a dictionary."""
        divergence = self.divergence
        return kernel_values(divergence.pairwise(divergence.prepare(atoms)), self.beta)

    def ridged(self, gram: Floats) -> Floats:
        """Return K + μI."""
        return gram + self.ridge * np.eye(len(gram))

    def rule(self, update: str, block_size: int | None, X: FloatArray) -> UpdateRule:
        """Return how atoms move, so that they are SPD in the precision of X, too."""
        eps = float(np.finfo(X.dtype).eps)
        return UpdateRule(
            atom_sums(self.divergence),
            self.beta,
            gradient=update == "gradient",
            block_size=block_size,
            shift=None if self.margin is None else self.ridge - self.margin,
            least_schur=_LEAST_SCHUR,
            least_eigenvalue=max(_LEAST_EIGENVALUE, 4.0 * X.shape[-1] * eps),
        )


class RidgeKernel(DivergenceKernel):
    """k(X, Y) = exp(−β·d(X, Y)) over a dictionary, with K + μI in the place of its Gram matrix.

    Parameters
    ----------
    metric : str or Divergence
        The divergence d.
    beta : float
        The β of the kernel.
    ridge : float
        The μ that was fixed for learning; zero changes nothing.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self,
        metric: str | Divergence = "stein",
        beta: float = 1.0,
        ridge: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(metric, beta, "shift", n_jobs)
        self.ridge = ridge

    def fit_checked(self, D: FloatArray) -> RidgeKernel:
        """Compute K + μI for matrices that `check_spd` has seen already."""
        with warnings.catch_warnings():
            # Of the ridge the learner has told.
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            super().fit_checked(D)
        # A shift of any size touches neither cross values nor what is off the diagonal.
        self.gram_ = self.gram_.copy()
        np.fill_diagonal(self.gram_, 1.0 + self.ridge)
        self.corrected_ = self.ridge > 0
        return self


def kernel_is_guaranteed(divergence: Divergence, beta: float, n: int) -> bool:
    """Say whether exp(−β·d) is positive definite on every set of n×n matrices.

    Stein's is at some β, Jeffrey's at none, and the Gaussian kernel of the logarithms at all.
    """
    if isinstance(divergence, Stein):
        return stein_kernel_is_guaranteed(beta, n)
    return not isinstance(divergence, Jeffrey)


def settle(
    X: FloatArray,
    atoms: Floats,
    divergence: Divergence,
    beta: float | str,
    alpha: float | str,
) -> Problem:
    """Choose β, λ and the ridge from a subsample of X and the first atoms.

    The ridge is μ = max(0, 0.001 − λ_min) with the least eigenvalue of the Gram matrix of both. On
    them f(y) ≥ −μ then holds for every y. Learning would seek out other matrices where it does not,
    so the least eigenvalue of K + μI may fall to ν, half of what it is for the first atoms, or half
    of μ if that is less: with N atoms f(y) ≥ 1 − N/ν, whatever they are.
    """
    samples = np.asarray(X[evenly_spaced(len(X), _SUBSAMPLE)], np.float64)
    divergences = divergence.pairwise(divergence.prepare(np.concatenate([samples, atoms])))
    beta = choose_beta(beta, divergences[: len(samples), : len(samples)])
    ridge, margin, indefinite = 0.0, None, False
    if not kernel_is_guaranteed(divergence, beta, X.shape[-1]):
        gram = kernel_values(divergences, beta)
        eigenvalues = np.linalg.eigvalsh(gram)
        indefinite = bool(eigenvalues[0] < -eigenvalue_tolerance(gram) * eigenvalues[-1])
        ridge = max(0.0, _MARGIN - float(eigenvalues[0]))
        least = float(np.linalg.eigvalsh(gram[len(samples) :, len(samples) :])[0])
        margin = 0.5 * min(max(ridge, _MARGIN), least + ridge)
        if indefinite:
            _warn_of_ridge(divergence, beta, eigenvalues, ridge)
    chosen = automatic_alpha(indefinite) if isinstance(alpha, str) else float(alpha)
    return Problem(divergence, beta, chosen, ridge, margin)


def subsample_beta(X: FloatArray, divergence: Divergence, beta: float | str) -> float:
    """Return the β that was given, or the automatic one for these matrices."""
    samples = X[evenly_spaced(len(X), _SUBSAMPLE)]
    return choose_beta(beta, divergence.pairwise(divergence.prepare(samples)))


def _warn_of_ridge(divergence: Divergence, beta: float, eigenvalues: Floats, ridge: float) -> None:
    warnings.warn(
        f"The {divergence.name} kernel at beta={beta:.3g} is indefinite on these matrices (least "
        f"eigenvalue {eigenvalues[0]:.3g}, greatest {eigenvalues[-1]:.3g}): a ridge of {ridge:.3g} "
        "times the squared norm of the codes is added to the objective.",
        IndefiniteKernelWarning,
        stacklevel=4,
    )


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator of random numbers for whatever scikit-learn or NumPy call a random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


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
        return atoms.astype(np.float64)
    if init == "random":
        return np.asarray(X[_enough_samples(X, rng.permutation(len(X)), n_atoms)], np.float64)
    _enough_samples(X, range(len(X)), n_atoms)
    from spdatoms.clustering import SPDKMeans

    kmeans: Any = SPDKMeans(
        n_atoms,
        metric=divergence,
        init="k-means++",
        n_init=1,
        max_iter=_KMEANS_ITERATIONS,
        random_state=int(rng.integers(2**31)),
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        some = X[evenly_spaced(len(X), max(_KMEANS_LEAST, _KMEANS_SAMPLES * n_atoms))]
        return np.asarray(kmeans.fit(some).cluster_centers_, np.float64)


def _enough_samples(X: FloatArray, order: ArrayLike, count: int) -> list[int]:
    chosen = distinct_samples(X, order, count)
    if len(chosen) < count:
        raise ValueError(
            f"X holds {len(chosen)} different matrices, too few for {count} atoms: lower n_atoms."
        )
    return chosen


def distinct_samples(X: FloatArray, order: ArrayLike, count: int) -> list[int]:
    """Return the first samples in this order that differ from each other, ``count`` at most."""
    order = np.asarray(order, np.intp)
    seen: set[bytes] = set()
    chosen: list[int] = []
    # A few at a time: data may be far away, and mostly the first ones will do.
    for part in block_slices(len(order), 2 * count):
        if len(chosen) == count:
            break
        for i, matrix in zip(order[part], X[order[part]], strict=True):
            digest = hashlib.blake2b(matrix.tobytes(), digest_size=16).digest()
            if digest not in seen and len(chosen) < count:
                seen.add(digest)
                chosen.append(int(i))
    return chosen
