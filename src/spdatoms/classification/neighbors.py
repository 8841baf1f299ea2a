"""`SPDKNeighborsClassifier`: nearest neighbours under any divergence, and what it shares with the regressor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms._utils.weights import CLASS_WEIGHT, labelled_weights
from spdatoms.base import SPDEstimator, by_channels, check_labels, checked_fit
from spdatoms.classification.classifier import SPDClassifier, prior_answers
from spdatoms.divergences import Divergence, PreparedSet, get_divergence
from spdatoms.divergences.hermitian import beside, over
from spdatoms.divergences.registry import METRIC
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import real_type
from spdatoms.layout import PreparedFrom, holds

#: What the parameter ``weights`` may be.
VOTES = allow.choice("uniform", "distance")
#: Divergences held at a time.
_BLOCK_ENTRIES = 4_000_000
#: Votes that differ by less than this share of them are tied.
_ROUNDING = 1e-12


class NearestMatrices(SPDEstimator):
    """An estimator that keeps its training matrices, and finds those that are nearest to a query."""

    hermitian: ClassVar[bool] = True

    n_neighbors: int
    metric: str | Divergence
    n_jobs: int | None
    weights: str
    _weights: Floats | None = None  # for models of earlier versions
    _seen: ClassVar[str] = "_matrices"
    _stored = holds("_matrices", _prepared=PreparedFrom("_matrices", PreparedSet))

    def _keep(self, X: FloatArray, weights: Floats | None) -> None:
        """Keep checked matrices, and their weights."""
        if self.n_neighbors > len(X):
            raise ValueError(
                f"n_neighbors must be between 1 and the number of matrices, got {self.n_neighbors} for "
                f"n_samples={len(X)}."
            )
        self._matrices, self._weights = X, weights
        self._prepared = over(get_divergence(self.metric), X).prepare(X)

    @by_channels
    def kneighbors(
        self,
        X: ArrayLike,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        channels: ArrayLike | None = None,
    ) -> Any:
        """Return the nearest training matrices of each matrix, the nearest first.

        Parameters
        ----------
        n_neighbors : int, default=None
            How many; None is the number that votes.
        return_distance : bool, default=True
            Return their divergences, too.

        Returns
        -------
        divergences : ndarray of shape (m, n_neighbors)
            d(X, X_i), for most metrics a squared distance. Only if ``return_distance``.
        indices : ndarray of shape (m, n_neighbors)
            Which training matrices they are, of those with a positive weight.
        """
        X = self.check_queries(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        allow.integer(1, len(self._matrices)).check("n_neighbors", k)
        divergences, indices = self._nearest(X, k)
        return (divergences, indices) if return_distance else indices

    def _nearest(self, X: FloatArray, k: int) -> tuple[FloatArray, Indices]:
        """Return divergences and indices of the k nearest training matrices."""
        divergence = get_divergence(self.metric)
        values = np.empty((len(X), k), real_type(self._matrices.dtype))
        indices = np.empty((len(X), k), np.intp)
        for part in block_slices(len(X), max(1, _BLOCK_ENTRIES // len(self._matrices))):
            between, queries, own = beside(divergence, X[part], self._prepared)
            values[part], indices[part] = between.nearest(queries, own, k, n_jobs=self.n_jobs)
        return values, indices

    def _votes(self, X: FloatArray) -> tuple[Floats, Indices]:
        """Return how much the neighbours of each query count, and which they are, the nearest first."""
        values, neighbours = self._nearest(X, self.n_neighbors)
        votes = np.ones(values.shape)
        if self.weights == "distance":
            at_zero = values == 0.0
            with np.errstate(divide="ignore"):
                votes = 1.0 / np.sqrt(np.asarray(values, np.float64))
            votes = np.where(at_zero.any(axis=1, keepdims=True), at_zero, votes)
        if self._weights is not None:
            votes = votes * self._weights[neighbours]
        return votes, neighbours


@allow.with_parameters
class SPDKNeighborsClassifier(Threaded, SPDClassifier, NearestMatrices):
    """Classification of SPD matrices by their nearest neighbours.

    The most frequent label among the k training matrices X_i with the least d(X, X_i), which may vote with
    weights.

    A tie goes to the class with the nearest matrix.

    Parameters
    ----------
    metric : str or Divergence, default="riemann"
        The divergence, any of `pairwise_divergence`.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbours vote alike, or by the reciprocals 1/√d of their distances: near ones count more. If
        some have the distance zero, they alone vote.
    class_weight : "balanced", dict or None, default=None
        A weight for each class, which the weights of its matrices are multiplied with, see `fit`. A class
        that a dict does not name has the weight 1. ``"balanced"`` gives all classes the same sum of weights.
        With one neighbour, which has no other to outvote, it changes nothing; there is a warning.

    Attributes
    ----------
    classes_, n_features_in_

    Notes
    -----
    With ``"riemann"`` Stein's divergence tells which training matrices are too far away, and the distances to these are
    not computed.

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

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SPDKNeighborsClassifier:
        """Keep the labelled matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices, not negative: a neighbour votes with its weight. It is one of the k
            neighbours whatever its weight, so that with one neighbour weights other than 0 change nothing. A
            matrix of weight 0 is left out, as if it were not there.
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
