"""Codes over dictionaries at equal sparsity, with parameters chosen on the matrices that a dictionary is made of.

How many entries of a code are not zero depends on α, on the kernel and on the atoms, so that equal α compare unequal
codes. Here the number of non-zeros is given, and α follows from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.clustering.kmeans import SPDKMeans
from spdatoms.coding.blocks import code_matrices, of_norm_one
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.dictionary.problem import fix_problem
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.bandwidth import subsample_beta
from spdatoms.kernels.base import Kernel
from spdatoms.paper import baselines
from spdatoms.paper.experiments.task import halves
from spdatoms.paper.methods.chosen_parameters import with_alpha
from spdatoms.paper.methods.codes import mean_nonzeros

#: What makes a coder with a number of non-zeros, after some iterations of learning.
MakeCoder = Callable[..., Any]
LEARNED, KMEANS, RANDOM = "learned", "k-means", "random"
LEVELS = (2, 5, 10, 20, 50)
#: Learners whose α does not rule the number of non-zeros.
_WITH_OWN_NONZEROS = ("tensor", "riemannian")
#: In place of a number of non-zeros: as many as a chosen α gives.
OWN = 0

#: The kernel of a divergence, as the ``landmarks`` of `SPDDictionaryLearning`: Jeffrey's in the span of
#: landmarks, where it is positive definite; Stein's itself, which codes these textures better than its
#: approximation does.
LANDMARKS: dict[str, str | None] = {"stein": None, "jeffrey": "auto"}
#: Iterations of learning after which choices of parameters are compared.
FIRST_LOOK = 5
#: Matrices whose codes are counted in the search for α; its bounds; its steps; how far the number of non-zeros may
#: be from the one asked for when the search ends early, and when it ends at all, relative to it.
_COUNTED, _ALPHAS, _STEPS, _CLOSE, _NEAR = 200, (1e-9, 1e3), 24, 0.02, 0.1


def alpha_for(count: Callable[[float], float], nonzeros: float) -> float | None:
    """Return the α for which ``count(α)`` is nearest to a number of non-zeros, or None if none comes near.

    The count falls as α grows, but for small exceptions: the search halves the interval of log α.
    """
    low, high = np.log(_ALPHAS)
    found: dict[float, float] = {}
    for _ in range(_STEPS):
        alpha = float(np.exp(0.5 * (low + high)))
        found[alpha] = count(alpha)
        if abs(found[alpha] - nonzeros) <= _CLOSE * nonzeros:
            break
        low, high = (np.log(alpha), high) if found[alpha] > nonzeros else (low, np.log(alpha))
    best = min(found, key=lambda alpha: abs(found[alpha] - nonzeros))
    return best if abs(found[best] - nonzeros) <= _NEAR * nonzeros else None


def with_nonzeros(coder: Callable[[float], Any], X: FloatArray, nonzeros: int) -> Any:
    """Return ``coder(α)`` with the α for which its codes of X have this many non-zeros in the mean, or None."""
    counted = X[evenly_spaced(len(X), _COUNTED)]
    alpha = alpha_for(lambda alpha: mean_nonzeros(coder(alpha).transform(counted)), nonzeros)
    return None if alpha is None else coder(alpha)


@dataclass(eq=False, repr=False, kw_only=True)
class SparseCodes(BaseEstimator, ABC):
    """Codes of norm one with 2, 5, 10, 20 or 50 non-zeros in the mean over the training matrices.

    For every number of non-zeros each choice of the other parameters makes a dictionary of one half of the training
    matrices and codes the other half, each half in turn. The choice with the most nearest neighbours of the same class
    among these codes wins; with it the dictionary is made of all the training matrices. The same figure chooses one
    of the numbers.

    Numbers that codes cannot have are left out.
    """

    n_atoms: int = 24
    nonzeros: tuple[int, ...] = LEVELS
    max_iter: int = 15
    random_state: int = 0
    n_jobs: int | None = None

    def fit(self, X: FloatArray, y: Array) -> SparseCodes:
        """Choose the parameters and make the dictionaries.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.
        y : ndarray of shape (m,)
            Their labels.

        Returns
        -------
        SparseCodes
            The estimator itself.
        """
        whole = self._coder_of(X)
        first, second = halves(y, np.random.default_rng(self.random_state))
        turns = [(self._coder_of(X[a]), b) for a, b in ((first, second), (second, first))]
        self.coders_: dict[int, Any] = {}
        self.choices_: dict[int, dict[str, Any]] = {}
        hits: dict[int, float] = {}
        for level in self._levels(X):
            tried = [
                sum(_hits(coder(level, FIRST_LOOK, **choice), X[b], y[b]) for coder, b in turns)
                for choice in self._choices()
            ]
            choice = self._choices()[int(np.argmax(tried))]
            best = whole(level, self.max_iter, **choice)
            if best is not None:
                self.coders_[level], self.choices_[level], hits[level] = best, choice, max(tried)
        if not hits:
            raise ValueError(
                f"No code has one of {self.nonzeros} non-zeros: give other numbers, or more atoms."
            )
        self.chosen_ = max(hits, key=lambda level: hits[level])
        return self

    def transform(self, X: FloatArray, nonzeros: int | None = None) -> Floats:
        """Return codes of norm one, so that near codes are those at a small angle.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.
        nonzeros : int, default=None
            One of the numbers of non-zeros; None stands for the chosen one.

        Returns
        -------
        ndarray of shape (m, n_atoms)
            The codes, one per row.
        """
        level = self.chosen_ if nonzeros is None else nonzeros
        return of_norm_one(self.coders_[level].transform(X))

    def _levels(self, X: FloatArray) -> Sequence[int]:
        """Return the numbers of non-zeros that are possible: in the space of symmetric matrices up to its dimension."""
        dimension = X.shape[-1] * (X.shape[-1] + 1) // 2
        return [level for level in self.nonzeros if level <= min(self.n_atoms, dimension)]

    def _choices(self) -> list[dict[str, Any]]:
        """Return the other parameters to choose from."""
        return [{}]

    @abstractmethod
    def _coder_of(self, X: FloatArray) -> MakeCoder:
        """Return what makes a coder of ``(nonzeros, max_iter, **choice)`` over a dictionary of X, or None."""


@dataclass(frozen=True)
class KernelCodes:
    """Codes over the atoms of a kernel."""

    kernel: Kernel
    n_jobs: int | None
    alpha: float

    def transform(self, X: FloatArray) -> Floats:
        """Return the code of every matrix."""
        return code_matrices(check_spd(X), self.kernel, self.alpha, n_jobs=self.n_jobs)


@dataclass(eq=False, repr=False)
class KernelDictionaryCodes(SparseCodes):
    """min_y k(X, X) − 2 yᵀk_X + yᵀKy + α‖y‖₁ over atoms that are learned, centres of k-means, or random.

    All kinds of atoms are coded alike, with the kernel of the learner (`LANDMARKS`), and β is chosen alike. Learning
    starts from the random atoms, with the α at which these have the wanted number of non-zeros.

    Parameters
    ----------
    atoms : {"learned", "k-means", "random"}, default="learned"
        `SPDDictionaryLearning`, the affine-invariant centres of `SPDKMeans`, or training matrices.
    metric : {"stein", "jeffrey"}, default="stein"
        The divergence of the kernel.
    n_atoms : int, default=24
        The size of the dictionary.
    nonzeros : tuple of int, default=(2, 5, 10, 20, 50)
        The numbers of non-zeros.
    beta_factors : tuple of float, default=(0.05, 0.15, 0.5, 1.5)
        The β to try, as multiples of the automatic one.
    max_iter : int, default=15
        The greatest number of iterations of learning.
    random_state : int, default=0
        The seed of the halves and of the first atoms.
    n_jobs : int, default=None
        The number of threads.
    """

    atoms: str = LEARNED
    metric: str = "stein"
    beta_factors: tuple[float, ...] = (0.05, 0.15, 0.5, 1.5)

    def _levels(self, X: FloatArray) -> Sequence[int]:
        return [level for level in self.nonzeros if level <= self.n_atoms]

    def _choices(self) -> list[dict[str, Any]]:
        return [{"beta_factor": factor} for factor in self.beta_factors]

    def _first_atoms(self, X: FloatArray) -> FloatArray:
        """Return the atoms, or those that learning starts from."""
        seed = self.random_state
        if self.atoms == KMEANS:
            kmeans = SPDKMeans(self.n_atoms, "riemann", random_state=seed, n_jobs=self.n_jobs)
            return kmeans.fit(X).cluster_centers_
        chosen = np.random.default_rng(seed).choice(len(X), self.n_atoms, replace=False)
        return np.asarray(X[chosen])

    def _coder_of(self, X: FloatArray) -> MakeCoder:
        first, landmarks = self._first_atoms(X), LANDMARKS[self.metric]
        divergence = symmetric_divergence(self.metric)
        automatic = subsample_beta(X, divergence, "auto")

        @cache
        def kernel_of(beta: float) -> Kernel:
            problem = fix_problem(X, first, divergence, beta, 0.0, landmarks)
            return problem.kernel(self.metric, self.n_jobs).fit_checked(first)

        def coder(nonzeros: int, max_iter: int, beta_factor: float) -> Any:
            beta = beta_factor * automatic
            found = with_nonzeros(partial(KernelCodes, kernel_of(beta), self.n_jobs), X, nonzeros)
            if found is None or self.atoms != LEARNED:
                return found
            learner = SPDDictionaryLearning(
                self.n_atoms,
                self.metric,
                beta,
                found.alpha,
                init=first,
                max_iter=max_iter,
                landmarks=landmarks,
                n_jobs=self.n_jobs,
            )
            kernel = learner.fit(X).kernel_
            return with_nonzeros(partial(KernelCodes, kernel, self.n_jobs), X, nonzeros)

        return coder


@dataclass(eq=False, repr=False)
class PeerCodes(SparseCodes):
    """Codes over a dictionary that a baseline learns, with the α at which its first atoms have the wanted non-zeros.

    K-SVD, which has a number of non-zeros in place of α, learns with that number by orthogonal matching pursuit. Then
    the pursuit codes, or the Lasso, whichever is chosen. The non-zeros of the codes of tensors and in tangent spaces
    hardly depend on α: these have one dictionary, with the α that is chosen.

    Parameters
    ----------
    learner : {"ksvd", "tensor", "riemannian", "frobenius"}, default="tensor"
        `LogEuclideanKSVD`, `TensorDictionaryLearning`, `RiemannianDictionaryLearning` or
        `FrobeniusDictionaryLearning`.
    n_atoms : int, default=24
        The size of the dictionary.
    nonzeros : tuple of int, default=(2, 5, 10, 20, 50)
        The numbers of non-zeros; those beyond the dimension of the space are left out.
    alphas : tuple of float, default=(0.001, 0.01, 0.1, 1.0, 10.0)
        The α to try where it does not rule the number of non-zeros.
    max_iter : int, default=15
        The greatest number of iterations of learning.
    random_state : int, default=0
        The seed of the halves and of the first atoms.
    n_jobs : int, default=None
        The number of threads.
    """

    learner: str = "tensor"
    alphas: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0)

    def _choices(self) -> list[dict[str, Any]]:
        if self.learner in _WITH_OWN_NONZEROS:
            return [{"alpha": alpha} for alpha in self.alphas]
        return [{"pursuit": True}, {"pursuit": False}] if self.learner == "ksvd" else [{}]

    def _levels(self, X: FloatArray) -> Sequence[int]:
        return (OWN,) if self.learner in _WITH_OWN_NONZEROS else super()._levels(X)

    def _coder_of(self, X: FloatArray) -> MakeCoder:
        name = f"{self.learner.capitalize()}DictionaryLearning"
        kind = getattr(baselines, "LogEuclideanKSVD" if self.learner == "ksvd" else name)
        learner = kind(self.n_atoms, random_state=self.random_state, n_jobs=self.n_jobs)
        return partial(_learned, learner, X)


def _learned(
    untrained: Any,
    X: FloatArray,
    nonzeros: int,
    max_iter: int,
    pursuit: bool | None = None,
    alpha: float | None = None,
) -> Any:
    """Return codes with the wanted number of non-zeros over learned atoms, or with this α, or None."""
    learner = clone(untrained).set_params(max_iter=max_iter)
    if nonzeros == OWN:
        return learner.set_params(alpha=alpha).fit(X)
    if pursuit is None:
        # Atoms after one iteration, in place of the first ones, which learners do not show.
        begun = clone(learner).set_params(max_iter=1).fit(X)
        first = with_nonzeros(partial(with_alpha, begun), X, nonzeros)
        if first is None:
            return None
        learner.set_params(alpha=first.alpha)
    else:
        learner.set_params(n_nonzero=nonzeros)
    learner.fit(X)
    return learner if pursuit else with_nonzeros(partial(with_alpha, learner), X, nonzeros)


def _hits(coder: Any, X: FloatArray, y: Array) -> float:
    """Return how often the nearest other code is of the same class, −1 without a coder."""
    return -1.0 if coder is None else matches(of_norm_one(coder.transform(X)), y)


def matches(codes: Floats, y: Array) -> float:
    """Return how often the nearest other code is of the same class."""
    nearest = NearestNeighbors(n_neighbors=1).fit(codes).kneighbors(return_distance=False)
    return float(np.mean(y[nearest[:, 0]] == y))
