"""Codes over a dictionary, with parameters chosen on the matrices that the dictionary is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.clustering.kmeans import SPDKMeans
from spdatoms.coding import SPDSparseCoder
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.experiments.division import halves
from spdatoms.kernels.bandwidth import subsample_beta

Codes = Floats
Choice = dict[str, Any]

LEARNED, KMEANS = "learned", "k-means"


class ChosenCodes(BaseEstimator, ABC):
    """Codes with the parameters for which the nearest code is most often of the same class.

    Every choice of parameters makes a dictionary of one half of the training matrices and codes the
    other half. The choice with the most nearest neighbours of the same class among these codes wins;
    with it the dictionary is made of all the training matrices.
    """

    random_state: int
    max_iter: int

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
        first, second = halves(y, np.random.default_rng(self.random_state))
        choices = self._choices()
        coders = self._coders(X[first], choices)
        hits = [matches(coder.transform(X[second]), y[second]) for coder in coders]
        self.chosen_ = choices[int(np.argmax(hits))]
        (self.coder_,) = self._coders(X, [self.chosen_])
        return self

    def transform(self, X: FloatArray) -> Codes:
        """Return codes.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n_atoms)
            The codes, one per row.
        """
        codes: Codes = self.coder_.transform(X)
        return codes

    @abstractmethod
    def _choices(self) -> list[Choice]:
        """Return the parameters to choose from."""

    @abstractmethod
    def _coders(self, X: FloatArray, choices: Sequence[Choice]) -> list[Any]:
        """Return a coder over a dictionary of X for each of the choices."""


class KernelDictionaryCodes(ChosenCodes):
    """min_y 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ over atoms that are learned, or centres of k-means.

    For both kinds of atoms the codes are those of `SPDSparseCoder`; β and α are chosen.

    Parameters
    ----------
    atoms : {"learned", "k-means"}, default="learned"
        `SPDDictionaryLearning`, or the affine-invariant centres of `SPDKMeans`.
    metric : str, default="stein"
        The divergence of the kernel.
    n_atoms : int, default=24
        The size of the dictionary.
    beta_factors : tuple of float, default=(0.1, 0.3, 1.0, 3.0)
        The β to try, as multiples of the automatic one.
    alphas : tuple of float, default=(0.001, 0.003, 0.01, 0.03)
        The α to try.
    max_iter : int, default=30
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
        beta_factors: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0),
        alphas: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03),
        max_iter: int = 30,
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

    def _choices(self) -> list[Choice]:
        grid = product(self.beta_factors, self.alphas)
        return [{"beta_factor": factor, "alpha": alpha} for factor, alpha in grid]

    def _coders(self, X: FloatArray, choices: Sequence[Choice]) -> list[Any]:
        automatic = subsample_beta(X, symmetric_divergence(self.metric), "auto")
        common: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        if self.atoms == KMEANS:
            atoms = SPDKMeans(self.n_atoms, **common).fit(X).cluster_centers_
        coders = []
        for choice in choices:
            beta, alpha = choice["beta_factor"] * automatic, choice["alpha"]
            if self.atoms == LEARNED:
                # The table in the documentation is that of the kernel itself, with a ridge where it needs one.
                learner = SPDDictionaryLearning(
                    self.n_atoms,
                    self.metric,
                    beta,
                    alpha,
                    max_iter=self.max_iter,
                    landmarks=None,
                    **common,
                )
                atoms = learner.fit(X).atoms_
            coder = SPDSparseCoder(atoms, self.metric, beta, alpha, n_jobs=self.n_jobs)
            coders.append(coder.fit(X))
        return coders


class KSVDCodes(ChosenCodes):
    """Codes by K-SVD on logarithms; the number of non-zeros is chosen.

    Parameters
    ----------
    n_atoms : int, default=24
        The size of the dictionary.
    nonzeros : tuple of int, default=(2, 4, 8, 12)
        The numbers of non-zeros per code to try.
    max_iter : int, default=30
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
        max_iter: int = 30,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.nonzeros = nonzeros
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _choices(self) -> list[Choice]:
        return [{"n_nonzero": count} for count in self.nonzeros if count <= self.n_atoms]

    def _coders(self, X: FloatArray, choices: Sequence[Choice]) -> list[Any]:
        from spdatoms.baselines import LogEuclideanKSVD

        common: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        return [
            LogEuclideanKSVD(self.n_atoms, max_iter=self.max_iter, **choice, **common).fit(X)
            for choice in choices
        ]


def matches(codes: Codes, y: Array) -> float:
    """Return how often the nearest other code is of the same class."""
    nearest = NearestNeighbors(n_neighbors=1).fit(codes).kneighbors(return_distance=False)
    return float(np.mean(y[nearest[:, 0]] == y))
