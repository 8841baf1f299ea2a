"""`SPDKNeighborsClassifier`: nearest neighbours under any divergence, to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms._utils.weights import CLASS_WEIGHT, labelled_weights
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification.classifier import SPDClassifier
from spdatoms.classification.nearest import VOTES, NearestMatrices
from spdatoms.classification.scores import prior_answers
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC
from spdatoms.geometry.channels import Mask, cut
from spdatoms.layout import holds

#: Votes that differ by less than this share of them are tied.
_ROUNDING = 1e-12


@allow.with_parameters
class SPDKNeighborsClassifier(SPDClassifier, NearestMatrices):
    """Classification of SPD matrices by their nearest neighbours.

    The most frequent label among the k training matrices X_i with the least d(X, X_i), which may vote with
    weights.

    A tie goes to the class with the nearest matrix.

    Parameters
    ----------
    n_neighbors : int, default=1
        The number k of neighbours.
    metric : str or Divergence, default="riemann"
        The divergence, any of `pairwise_divergence`.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbours vote alike, or by the reciprocals 1/√d of their distances: near ones count more. If
        some have the distance zero, they alone vote.
    class_weight : "balanced", dict or None, default=None
        A weight for each class, which the weights of its matrices are multiplied with, see `fit`. A class
        that a dict does not name has the weight 1. ``"balanced"`` gives all classes the same sum of weights.
        With one neighbour, which has no other to outvote, it changes nothing; there is a warning.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKNeighborsClassifier
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> SPDKNeighborsClassifier().fit(X, ["a", "a", "b", "b"]).predict(4.0 * X[:2])
    array(['a', 'b'], dtype='<U1')
    """

    _stored = holds("classes_ _labels")
    n_neighbors: int = allow.parameter(allow.integer(1), default=1)
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    _: KW_ONLY
    weights: str = allow.parameter(VOTES, default="uniform")
    class_weight: str | Mapping[Any, float] | None = allow.parameter(CLASS_WEIGHT, default=None)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SPDKNeighborsClassifier:
        """Keep the labelled matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,)
            Their labels.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices, not negative: a neighbour votes with its weight. It is one of the k
            neighbours whatever its weight, so that with one neighbour weights other than 0 change nothing. A
            matrix of weight 0 is left out, as if it were not there.

        Returns
        -------
        SPDKNeighborsClassifier
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        if self.class_weight is not None and self.n_neighbors == 1:
            warn_user(
                "class_weight changes nothing with n_neighbors=1: one neighbour has no other to outvote. Use "
                "more neighbours, or no class_weight."
            )
        rows, weights = labelled_weights(labels, self.classes_, sample_weight, self.class_weight)
        self._labels = labels[rows]
        self._keep(X[rows], weights)
        return self

    def _probabilities(self, X: FloatArray) -> Floats:
        return self._shares(X)[0]

    def _best(self, X: FloatArray) -> Indices:
        shares, nearest = self._shares(X)
        # A tie goes to the class of the nearest matrix. Sums of weights that should be the same differ by rounding.
        tied = shares >= (1.0 - _ROUNDING) * shares.max(axis=1, keepdims=True)
        return np.asarray(np.where(tied, nearest, -1.0).argmax(axis=1))

    def _cut(self, known: Mask) -> Self:
        labels = self.classes_[self._labels]
        return self._fitted_anew(
            cut(self._matrices, known), labels, self._weights, class_weight=None
        )

    def _answers_to_nothing(self) -> dict[str, Array]:
        return prior_answers(self.classes_, self._labels, self._weights)

    def _shares(self, X: FloatArray) -> tuple[Floats, Floats]:
        """Return shares of votes, and for each class 1/(1 + rank of its nearest matrix)."""
        votes, neighbours = self._votes(X)
        shares = np.zeros((len(X), len(self.classes_)))
        nearest, rows = np.zeros_like(shares), np.arange(len(X))
        for rank in reversed(range(self.n_neighbors)):
            labels = self._labels[neighbours[:, rank]]
            shares[rows, labels] += votes[:, rank]
            nearest[rows, labels] = 1.0 / (1.0 + rank)
        return shares / shares.sum(axis=1, keepdims=True), nearest
