"""Codes over a dictionary, with parameters chosen on the matrices that the dictionary is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.clustering.kmeans import SPDKMeans
from spdatoms.coding import code_matrices, of_norm_one
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.dictionary.problem import fix_problem
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.bandwidth import subsample_beta
from spdatoms.kernels.base import Kernel
from spdatoms.paper.experiments.division import halves

Codes = Floats
Choice = dict[str, Any]

LEARNED, KMEANS, RANDOM = "learned", "k-means", "random"

#: The kernel of a divergence, as the ``landmarks`` of `SPDDictionaryLearning`: Jeffrey's in the span of
#: landmarks, where it is positive definite; Stein's itself, which codes these textures better than its
#: approximation does.
LANDMARKS: dict[str, str | None] = {"stein": None, "jeffrey": "auto"}
#: Iterations after which the best choices of parameters are picked out, and how many of them learn to the end.
FIRST_LOOK, FINALISTS = 2, 6


class ChosenCodes(BaseEstimator, ABC):
    """Codes of norm one, with the parameters for which the nearest is most often of the same class.

    Every choice of parameters makes a dictionary of one half of the training matrices and codes the
    other half, each half in turn. The choice with the most nearest neighbours of the same class among these codes wins;
    with it the dictionary is made of all the training matrices. Where atoms are learned and choices are many, a few
    iterations of learning tell which of them are worth all.
    """

    random_state: int
    max_iter: int
    #: Whether atoms are learned in iterations.
    learns = True

    def fit(self, X: FloatArray, y: Array) -> ChosenCodes:
        """Choose the parameters and make the dictionary.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.
        y : ndarray of shape (m,)
            Their labels.

        Returns
        -------
        ChosenCodes
            The estimator itself.
        """
        choices = self._choices()
        if self.learns and len(choices) > FINALISTS:
            order = np.argsort(-self._hits(X, y, choices, FIRST_LOOK), kind="stable")
            choices = [choices[i] for i in order[:FINALISTS]]
        self.chosen_ = choices[int(np.argmax(self._hits(X, y, choices, self.max_iter)))]
        (self.coder_,) = self._coders(X, [self.chosen_], self.max_iter)
        return self

    def _hits(
        self, X: FloatArray, y: Array, choices: Sequence[Choice], max_iter: int
    ) -> FloatArray:
        """Return how often, with each of the choices, the nearest code of the same half is of the same class."""
        first, second = halves(y, np.random.default_rng(self.random_state))
        hits = np.zeros(len(choices))
        for made_of, coded in ((first, second), (second, first)):
            coders = self._coders(X[made_of], choices, max_iter)
            codes = (of_norm_one(coder.transform(X[coded])) for coder in coders)
            hits += [matches(Y, y[coded]) for Y in codes]
        return hits

    def transform(self, X: FloatArray) -> Codes:
        """Return codes of norm one, so that near codes are those at a small angle.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n_atoms)
            The codes, one per row.
        """
        return of_norm_one(self.coder_.transform(X))

    @abstractmethod
    def _choices(self) -> list[Choice]:
        """Return the parameters to choose from."""

    @abstractmethod
    def _coders(self, X: FloatArray, choices: Sequence[Choice], max_iter: int) -> list[Any]:
        """Return a coder over a dictionary of X for each of the choices, learned in at most ``max_iter`` iterations."""


@dataclass(frozen=True)
class KernelCodes:
    """Codes over the atoms of a kernel."""

    kernel: Kernel
    alpha: float
    n_jobs: int | None

    def transform(self, X: FloatArray) -> Codes:
        """Return the code of every matrix."""
        return code_matrices(check_spd(X), self.kernel, self.alpha, n_jobs=self.n_jobs)


class KernelDictionaryCodes(ChosenCodes):
    """min_y k(X, X) − 2 yᵀk_X + yᵀKy + α‖y‖₁ over atoms that are learned, centres of k-means, or random.

    All kinds of atoms are coded alike, with the kernel of the learner (`LANDMARKS`); β and α are chosen, and
    whether learning starts from random training matrices or from the centres of k-means under its divergence.

    Parameters
    ----------
    atoms : {"learned", "k-means", "random"}, default="learned"
        `SPDDictionaryLearning`, the affine-invariant centres of `SPDKMeans`, or training matrices.
    metric : {"stein", "jeffrey"}, default="stein"
        The divergence of the kernel.
    n_atoms : int, default=24
        The size of the dictionary.
    beta_factors : tuple of float, default=(0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
        The β to try, as multiples of the automatic one.
    alphas : tuple of float, default=(0.0001, 0.001, 0.003)
        The α to try.
    max_iter : int, default=15
        The greatest number of iterations of learning.
    random_state : int, default=0
        The seed of the halves and of the first atoms.
    n_jobs : int, default=None
        The number of threads.
    """

    def __init__(
        self,
        atoms: str = LEARNED,
        metric: str = "stein",
        n_atoms: int = 24,
        beta_factors: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
        alphas: tuple[float, ...] = (0.0001, 0.001, 0.003),
        max_iter: int = 15,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.atoms = atoms
        self.metric = metric
        self.n_atoms = n_atoms
        self.beta_factors = beta_factors
        self.alphas = alphas
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether atoms are learned in iterations."""
        return self.atoms == LEARNED

    def _choices(self) -> list[Choice]:
        starts = (RANDOM, KMEANS) if self.atoms == LEARNED else (self.atoms,)
        grid = product(starts, self.beta_factors, self.alphas)
        return [
            {"start": start, "beta_factor": factor, "alpha": alpha} for start, factor, alpha in grid
        ]

    def _coders(self, X: FloatArray, choices: Sequence[Choice], max_iter: int) -> list[Any]:
        automatic = subsample_beta(X, symmetric_divergence(self.metric), "auto")
        starts = dict.fromkeys(choice["start"] for choice in choices)
        first = {start: self._first_atoms(X, start) for start in starts}
        coders = []
        for choice in choices:
            beta, alpha = choice["beta_factor"] * automatic, choice["alpha"]
            kernel = self._kernel(X, first[choice["start"]], beta, alpha, max_iter)
            coders.append(KernelCodes(kernel, alpha, self.n_jobs))
        return coders

    def _first_atoms(self, X: FloatArray, start: str) -> FloatArray:
        """Return the atoms, or what learning starts from."""
        if start == RANDOM:
            rng = np.random.default_rng(self.random_state)
            return np.asarray(X[rng.choice(len(X), self.n_atoms, replace=False)])
        metric = self.metric if self.atoms == LEARNED else "riemann"
        kmeans = SPDKMeans(self.n_atoms, metric, random_state=self.random_state, n_jobs=self.n_jobs)
        return kmeans.fit(X).cluster_centers_

    def _kernel(
        self, X: FloatArray, atoms: FloatArray, beta: float, alpha: float, max_iter: int
    ) -> Kernel:
        """Return the kernel over the atoms, after learning if they are to be learned."""
        landmarks = LANDMARKS[self.metric]
        if self.atoms == LEARNED:
            learner = SPDDictionaryLearning(
                self.n_atoms,
                self.metric,
                beta,
                alpha,
                init=atoms,
                max_iter=max_iter,
                landmarks=landmarks,
                n_jobs=self.n_jobs,
            )
            return learner.fit(X).kernel_
        divergence = symmetric_divergence(self.metric)
        problem = fix_problem(X, atoms, divergence, beta, alpha, landmarks)
        return problem.kernel(self.metric, self.n_jobs).fit_checked(atoms)


class KSVDCodes(ChosenCodes):
    """Codes over a dictionary of K-SVD on logarithms; the number of non-zeros and the kind of codes are chosen.

    K-SVD learns with orthogonal matching pursuit. Its atoms then code by the pursuit, or by the Lasso with
    one of the α.

    Parameters
    ----------
    n_atoms : int, default=24
        The size of the dictionary.
    nonzeros : tuple of int, default=(2, 4, 8, 12)
        The numbers of non-zeros per code to try in learning.
    alphas : tuple of float or None, default=(None, 0.003, 0.01, 0.03, 0.1)
        The α of the Lasso to try in coding; None stands for the pursuit.
    max_iter : int, default=15
        The greatest number of iterations of learning.
    random_state : int, default=0
        The seed of the halves and of the first atoms.
    n_jobs : int, default=None
        The number of threads.
    """

    def __init__(
        self,
        n_atoms: int = 24,
        nonzeros: tuple[int, ...] = (2, 4, 8, 12),
        alphas: tuple[float | None, ...] = (None, 0.003, 0.01, 0.03, 0.1),
        max_iter: int = 15,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.nonzeros = nonzeros
        self.alphas = alphas
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _choices(self) -> list[Choice]:
        counts = [count for count in self.nonzeros if count <= self.n_atoms]
        return [{"n_nonzero": n, "alpha": alpha} for n, alpha in product(counts, self.alphas)]

    def _coders(self, X: FloatArray, choices: Sequence[Choice], max_iter: int) -> list[Any]:
        counts = dict.fromkeys(choice["n_nonzero"] for choice in choices)
        learned = {count: self._learned(X, count, max_iter) for count in counts}
        return [copy(learned[c["n_nonzero"]]).set_params(alpha=c["alpha"]) for c in choices]

    def _learned(self, X: FloatArray, n_nonzero: int, max_iter: int) -> Any:
        from spdatoms.paper.baselines import LogEuclideanKSVD

        learner = LogEuclideanKSVD(
            self.n_atoms,
            n_nonzero,
            max_iter=max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        return learner.fit(X)


class PeerCodes(ChosenCodes):
    """Codes over a dictionary that a baseline learns; its α is chosen.

    Parameters
    ----------
    learner : {"tensor", "riemannian", "frobenius"}, default="tensor"
        `TensorDictionaryLearning`, `RiemannianDictionaryLearning` or `FrobeniusDictionaryLearning`.
    n_atoms : int, default=24
        The size of the dictionary.
    alphas : tuple of float, default=(0.001, 0.01, 0.1)
        The α to try.
    max_iter : int, default=15
        The greatest number of iterations of learning.
    random_state : int, default=0
        The seed of the halves and of the first atoms.
    n_jobs : int, default=None
        The number of threads.
    """

    def __init__(
        self,
        learner: str = "tensor",
        n_atoms: int = 24,
        alphas: tuple[float, ...] = (0.001, 0.01, 0.1),
        max_iter: int = 15,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.n_atoms = n_atoms
        self.alphas = alphas
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _choices(self) -> list[Choice]:
        return [{"alpha": alpha} for alpha in self.alphas]

    def _coders(self, X: FloatArray, choices: Sequence[Choice], max_iter: int) -> list[Any]:
        from spdatoms.paper import baselines

        kind = getattr(baselines, f"{self.learner.capitalize()}DictionaryLearning")
        common = {"max_iter": max_iter, "random_state": self.random_state}
        return [
            kind(self.n_atoms, **choice, **common, n_jobs=self.n_jobs).fit(X) for choice in choices
        ]


def matches(codes: Codes, y: Array) -> float:
    """Return how often the nearest other code is of the same class."""
    nearest = NearestNeighbors(n_neighbors=1).fit(codes).kneighbors(return_distance=False)
    return float(np.mean(y[nearest[:, 0]] == y))
