"""Bags of matrices, described by the largest entries of their codes and classified by a linear SVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import watched
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import check_labels, checked_fit
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.geometry.validation import check_spd
from spdatoms.layout import Part, holds
from spdatoms.paper.baselines.items import ItemClassifier

_LEARNER = allow.Allowed(
    ("an estimator with n_atoms, fit and transform",),
    lambda value: all(hasattr(value, name) for name in ("n_atoms", "fit", "transform")),
)


@allow.with_parameters
class MaxPoolingClassifier(ItemClassifier):
    """Classification of bags of matrices by the largest entries of their codes.

    v_j = max_i y_ij over the matrices X_i of a bag, y_i their codes, and a linear SVM on v.

    A film, for example, is a bag of the covariances of its volumes. The dictionary is learned from the
    matrices of all bags. The entries of v are brought to mean 0 and deviation 1 over the training bags before
    the SVM: codes are small numbers, which its penalty of the weights would keep it from using.

    Parameters
    ----------
    learner : estimator, default=None
        Learns a dictionary by `fit` and codes by `transform`, such as `LogEuclideanKSVD`; None stands for
        `SPDDictionaryLearning` with its defaults. Its ``n_atoms`` is lowered if there are fewer matrices.
    C : float, default=1.0
        The C of the SVM.

    Attributes
    ----------
    classes_
    learner_ : estimator
        The learner, fitted.
    classifier_ : Pipeline
        The scaler and the SVM, fitted to the v of the training bags.

    Examples
    --------
    Bags of four matrices, of which one is long in some:

    >>> import numpy as np
    >>> from spdatoms import SPDDictionaryLearning
    >>> from spdatoms.paper.baselines import MaxPoolingClassifier
    >>> G = np.random.default_rng(0).standard_normal((24, 4, 3, 12))
    >>> G[::2, 0, 2] *= 6.0
    >>> bags, y = list(G @ G.swapaxes(2, 3)), np.arange(24) % 2
    >>> learner = SPDDictionaryLearning(8, random_state=0)
    >>> MaxPoolingClassifier(learner).fit(bags[:16], y[:16]).score(bags[16:], y[16:])
    1.0
    """

    _stored = holds(
        "classes_", learner_=Part(SPDDictionaryLearning), classifier_=Part(BaseEstimator)
    )
    learner: Any = allow.parameter(allow.NONE | _LEARNER, default=None)
    C: float = allow.parameter(allow.real(above=0), default=1.0)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(self, X: Sequence[FloatArray], y: Array) -> MaxPoolingClassifier:
        """Learn a dictionary from the matrices of all bags, and the SVM from the bags.

        Parameters
        ----------
        X : sequence of array-like of shape (n_matrices, n, n)
            The bags.
        """
        bags = _bags(X)
        self.classes_, labels = check_labels(y, len(bags))
        learner = SPDDictionaryLearning() if self.learner is None else clone(self.learner)
        matrices = np.concatenate(bags)
        learner.set_params(n_atoms=min(learner.n_atoms, len(matrices)))
        self.learner_ = learner.fit(matrices)
        svm = LinearSVC(C=self.C, dual=True, random_state=0, max_iter=20000)
        self.classifier_ = make_pipeline(StandardScaler(), svm).fit(self._pooled(bags), labels)
        return self

    def _decisions(self, X: Sequence[FloatArray]) -> Floats:
        return np.asarray(self.classifier_.decision_function(self._pooled(_bags(X))))

    def _best(self, X: Sequence[FloatArray]) -> Indices:
        return np.asarray(self.classifier_.predict(self._pooled(_bags(X))))

    def _pooled(self, bags: Sequence[FloatArray]) -> Floats:
        return np.stack([self.learner_.transform(bag).max(axis=0) for bag in watched(bags, "bags")])


def _bags(X: Sequence[FloatArray]) -> list[FloatArray]:
    """Return checked bags of matrices of one size."""
    if len(X) == 0:
        raise ValueError("X is empty: give at least one bag of matrices.")
    bags = [check_spd(bag, name=f"X[{i}]") for i, bag in enumerate(X)]
    for i, bag in enumerate(bags):
        if bag.shape[1:] != bags[0].shape[1:]:
            raise ValueError(
                f"X[{i}] holds matrices of size {bag.shape[-1]}, but X[0] of size {bags[0].shape[-1]}."
            )
    return bags
