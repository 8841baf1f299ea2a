"""`SPDSparseClassifier`: the class whose atoms represent a query best.

The training matrices (or fewer atoms made of them) are labelled atoms. A query is coded over all of
them at once, and each class is judged by the part of the code that falls on its atoms.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax

from spdatoms._utils.checks import check_alpha, check_choice
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, check_labels, per_matrix
from spdatoms.classification.scores import RULES, scores_of_codes, warn_of_zero_codes
from spdatoms.coding import coded_blocks
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.lasso.alpha import choose_alpha


class SPDSparseClassifier(ClassifierMixin, SPDEstimator):
    """Sparse-representation classification of SPD matrices (RSR-S, RSR-J).

    A query X gets the code y that minimises 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ over the labelled atoms, and
    the class that does best by `rule`.

    Parameters
    ----------
    metric : str or Divergence, default="stein"
        ``"stein"`` gives the paper's RSR-S, ``"jeffrey"`` its RSR-J; also ``"logeuclid"``,
        ``"riemann"``, ``"euclid"``.
    beta : float or "auto", default="auto"
        The β of the kernel exp(−β·d). ``"auto"`` is the reciprocal of the median divergence between
        two atoms; `SPDSparseClassifierCV` chooses it by cross-validation.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the Gram matrix was
        indefinite and had to be corrected.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`.
    rule : {"residual", "sum", "max"}, default="residual"
        Judge a class by how much of the query its part of the code explains (the paper's choice), or
        by the sum or the maximum of that part.
    n_atoms_per_class : int, default=None
        Learn this number of atoms for every class. None uses all training matrices as atoms; fewer
        atoms make prediction cheap on large training sets. A class with fewer matrices keeps them all.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness when atoms are learned.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    atoms_ : ndarray of shape (N, n, n)
        The labelled atoms.
    atom_labels_ : ndarray of shape (N,)
        Their labels.
    kernel_ : DivergenceKernel
        The kernel over the atoms.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 3.0
    >>> X = samples @ samples.swapaxes(1, 2) / 20
    >>> y = np.repeat(["round", "long"], 20)
    >>> SPDSparseClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    def __init__(
        self,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        alpha: float | str = "auto",
        correction: str = "clip",
        rule: str = "residual",
        n_atoms_per_class: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.beta = beta
        self.alpha = alpha
        self.correction = correction
        self.rule = rule
        self.n_atoms_per_class = n_atoms_per_class
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> SPDSparseClassifier:
        """Make labelled atoms of labelled matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,)
            Their labels.

        Returns
        -------
        SPDSparseClassifier
            The estimator itself.
        """
        check_alpha(self.alpha)
        check_choice("rule", self.rule, RULES)
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        self.atoms_, self._atom_classes = self._labelled_atoms(X, labels)
        self.atom_labels_ = self.classes_[self._atom_classes]
        self.kernel_ = self._kernel().fit_checked(self.atoms_)
        self.alpha_ = choose_alpha(self.alpha, self.kernel_.corrected_)
        return self

    def _kernel(self) -> Kernel:
        return DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)

    def _distance_scale(self) -> float:
        """Return what divergences are multiplied by before their softmax: that of the kernel."""
        return float(self.kernel_.beta_)

    def _divergence(self) -> Divergence:
        """Return what finds the nearest atom where a code is zero."""
        return get_divergence(self.metric)

    def _labelled_atoms(self, X: FloatArray, labels: Indices) -> tuple[FloatArray, Indices]:
        if self.n_atoms_per_class is None:
            return X, labels
        from spdatoms.dictionary.per_class import class_dictionary

        atoms, classes = class_dictionary(
            X,
            labels,
            self.n_atoms_per_class,
            metric=self.metric,
            beta=self.beta,
            alpha=self.alpha,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        return atoms, classes

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return how well each class represents each matrix, by `rule`.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The scores of the classes; of two classes the second score minus the first.
        """
        scores, _ = self._scores(self.check_queries(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @per_matrix
    def predict(self, X: ArrayLike) -> Array:
        """Return the label of each matrix.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m,)
            The labels.
        """
        scores, _ = self._scores(self.check_queries(X))
        labels: Array = self.classes_[scores.argmax(axis=1)]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return each class's share of the positive scores.

        With the residual rule it is the share of the explained squared norm. The numbers rank
        classes as `predict` does and sum to 1; they are not calibrated.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The shares, one row per matrix.
        """
        scores, fallback = self._scores(self.check_queries(X))
        shares = np.maximum(scores, 0.0)
        total = shares.sum(axis=1, keepdims=True)
        # Where nothing is explained, distances to the nearest atoms are all there is to go by.
        by_distance = fallback | (total[:, 0] <= 0)
        probabilities = shares / np.where(total > 0, total, 1.0)
        probabilities[by_distance] = softmax(scores[by_distance] * self._distance_scale())
        return probabilities

    def _scores(self, X: FloatArray) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the scores of the classes, and which queries have an all-zero code."""
        n_classes, gram = len(self.classes_), self.kernel_.gram_
        scores, zero = np.empty((len(X), n_classes)), np.empty(len(X), dtype=bool)
        for block in coded_blocks(X, self.kernel_, self.alpha_, n_jobs=self.n_jobs):
            scores[block.rows], zero[block.rows] = scores_of_codes(
                block.codes,
                gram,
                block.cross,
                self._atom_classes,
                n_classes,
                self.rule,
                partial(self._divergences_to_atoms, X[block.rows]),
            )
        if zero.any():
            warn_of_zero_codes(int(zero.sum()), len(X), stacklevel=5)
        return scores, zero

    def _divergences_to_atoms(self, X: FloatArray, some: NDArray[np.bool_]) -> FloatArray:
        """Return the divergences of some of the matrices X to the atoms."""
        divergence = self._divergence()
        queries = divergence.prepare(X[some].astype(self.atoms_.dtype, copy=False))
        return divergence.pairwise(queries, divergence.prepare(self.atoms_), n_jobs=self.n_jobs)
