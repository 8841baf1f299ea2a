"""The nearest training matrices of a query, and how much each of them counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, by_channels
from spdatoms.divergences import Divergence, PreparedSet, get_divergence
from spdatoms.divergences.hermitian import beside, over
from spdatoms.geometry.hermitian import real_type
from spdatoms.layout import PreparedFrom, holds

#: What the parameter ``weights`` may be.
VOTES = allow.choice("uniform", "distance")
#: Divergences held at a time.
_BLOCK_ENTRIES = 4_000_000


class NearestMatrices(SPDEstimator):
    """An estimator that keeps its training matrices, and finds those that are nearest to a query."""

    hermitian: ClassVar[bool] = True

    n_neighbors: int
    metric: str | Divergence
    n_jobs: int | None
    weights: str
    _weights: Floats | None = None  # for models of earlier versions
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
        X : array-like of shape (m, n, n)
            SPD matrices.
        n_neighbors : int, default=None
            How many; None is the number that votes.
        return_distance : bool, default=True
            Return their divergences, too.
        channels : array-like, default=None
            As in `predict`.

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
            every = between.pairwise(queries, own, n_jobs=self.n_jobs)
            indices[part] = np.argsort(every, axis=1, kind="stable")[:, :k]
            values[part] = np.take_along_axis(every, indices[part], axis=1)
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
