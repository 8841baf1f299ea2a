"""Classifiers whose parameters are chosen on training samples: C and β of kernel machines, the penalty α of codes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.divergences.pairwise import pairwise_divergence
from spdatoms.kernels.bandwidth import choose_beta, kernel_values
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.paper.methods.tangent_vectors import TangentVectors

#: Of equal values the first is taken.
_C_OF_LINEAR_MODELS = (1.0, 10.0, 100.0, 0.1)
_C_OF_KERNELS = (1.0, 10.0, 100.0, 1000.0)
_MOST_FOLDS = 5
TANGENT = "tangent"


class FewFolds(BaseEstimator):
    """Five stratified folds, or as many as the smallest class has members, but two at least.

    Where every class has one member nothing can be left out: all samples are training and test samples.
    """

    def get_n_splits(self, X: object = None, y: Any = None, groups: object = None) -> int:
        """Return the number of folds for labels y."""
        counts = np.unique(y, return_counts=True)[1]
        return 1 if counts.max() < 2 else max(2, min(_MOST_FOLDS, int(counts.min())))

    def split(
        self, X: Any, y: Any = None, groups: object = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the training and test indices of every fold."""
        folds = self.get_n_splits(X, y)
        if folds < 2:
            yield np.arange(len(y)), np.arange(len(y))
        else:
            yield from StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)


def with_chosen_c(model: Any) -> GridSearchCV:
    """Return a search for the C of a linear model or an SVM, by accuracy in `FewFolds`."""
    values = _C_OF_KERNELS if isinstance(model, SVC) else _C_OF_LINEAR_MODELS
    return GridSearchCV(model, {"C": list(values)}, cv=FewFolds())


def vector_classifier(model: str) -> Any:
    """Return a classifier of vectors by name: "LR", "LinearSVC" or "SVC", whose C is chosen, or "LDA"."""
    if model == "LDA":
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    machines = {
        "LR": LogisticRegression(max_iter=500, random_state=0),
        "LinearSVC": LinearSVC(random_state=0),
        "SVC": SVC(random_state=0),
    }
    return with_chosen_c(machines[model])


@dataclass(eq=False, repr=False)
class KernelSVM(ClassifierMixin, BaseEstimator):
    """An SVM with the kernel exp(−β·d), C and β chosen by cross-validation.

    Parameters
    ----------
    metric : str, default="stein"
        The divergence d; ``"tangent"`` is the squared distance between tangent vectors at the mean.
    beta_factors : tuple of float, default=(1.0, 0.3, 0.1, 0.03, 3.0)
        The β to try, as multiples of the automatic one. Of equal ones the first is taken.
    n_jobs : int, default=None
        The number of threads.
    """

    metric: str = "stein"
    beta_factors: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 3.0)
    n_jobs: int | None = None

    def fit(self, X: FloatArray, y: Array) -> KernelSVM:
        """Choose C and β, and fit a machine with them."""
        self._tangent = TangentVectors().fit(X) if self.metric == TANGENT else None
        self._X = X if self._tangent is None else self._tangent.transform(X)
        divergences = self._divergences(self._X)
        automatic = choose_beta("auto", divergences)
        searches = {
            beta: with_chosen_c(SVC(kernel="precomputed")).fit(kernel_values(divergences, beta), y)
            for beta in automatic * np.array(self.beta_factors)
        }
        self.beta_ = float(max(searches, key=lambda beta: searches[beta].best_score_))
        self.search_ = searches[self.beta_]
        self.classes_ = self.search_.classes_
        return self

    def predict(self, X: FloatArray) -> Array:
        """Return the class of each matrix."""
        queries = X if self._tangent is None else self._tangent.transform(X)
        return np.asarray(
            self.search_.predict(kernel_values(self._divergences(queries), self.beta_))
        )

    def _divergences(self, queries: Floats) -> Floats:
        if self._tangent is None:
            found = pairwise_divergence(queries, self._X, metric=self.metric, n_jobs=self.n_jobs)
            return np.asarray(found)
        return np.asarray(pairwise_distances(queries, self._X, metric="sqeuclidean"))


@dataclass(eq=False, repr=False)
class PrecomputedSVM(ClassifierMixin, BaseEstimator):
    """``SVC(kernel="precomputed")`` on the values of a `DivergenceKernel`, C chosen by cross-validation.

    Parameters
    ----------
    metric : str, default="stein"
        The divergence of the kernel; its β is the automatic one.
    n_jobs : int, default=None
        The number of threads.
    """

    metric: str = "stein"
    n_jobs: int | None = None

    def fit(self, X: FloatArray, y: Array) -> PrecomputedSVM:
        """Choose C, and fit a machine with it to the Gram matrix."""
        self.kernel_ = DivergenceKernel(self.metric, n_jobs=self.n_jobs).fit(X)
        self.search_ = with_chosen_c(SVC(kernel="precomputed")).fit(self.kernel_.gram_, y)
        self.classes_ = self.search_.classes_
        return self

    def predict(self, X: FloatArray) -> Array:
        """Return the class of each matrix."""
        return np.asarray(self.search_.predict(self.kernel_.cross(X)))


def with_alpha(model: Any, alpha: float) -> Any:
    """Return a fitted estimator that codes with another α over the same atoms."""
    found = copy(model).set_params(alpha=alpha)
    if hasattr(found, "alpha_"):
        found.alpha_ = alpha
    return found


@dataclass(eq=False, repr=False)
class ChosenAlpha(ClassifierMixin, BaseEstimator):
    """A classifier with the α of the most right answers in stratified folds of the training samples.

    Where predictions take long, some of the samples that a fold leaves out are enough.

    Parameters
    ----------
    classifier : estimator
        It has a parameter ``alpha``.
    alphas : tuple of float, default=(0.01, 0.001, 0.1)
        The α to try. Of equal ones the first is taken.
    queries : int, default=200
        The most training samples that are left out and classified with each α.
    """

    classifier: Any
    alphas: tuple[float, ...] = (0.01, 0.001, 0.1)
    queries: int = 200

    def fit(self, X: Any, y: Array) -> ChosenAlpha:
        """Choose α, and fit the classifier with it to all samples."""
        y, hits = np.asarray(y), np.zeros(len(self.alphas))
        rng, folds = np.random.default_rng(0), FewFolds()
        each = max(1, self.queries // folds.get_n_splits(X, y))
        for train, test in folds.split(X, y):
            asked = np.sort(rng.permutation(test)[:each])
            model = clone(self.classifier).fit(X[train], y[train])
            hits += [
                np.sum(with_alpha(model, a).predict(X[asked]) == y[asked]) for a in self.alphas
            ]
        self.alpha_ = self.alphas[int(hits.argmax())]
        self.model_ = with_alpha(clone(self.classifier).fit(X, y), self.alpha_)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Array:
        """Return the labels of samples."""
        return np.asarray(self.model_.predict(X))

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes."""
        return np.asarray(self.model_.decision_function(X))
