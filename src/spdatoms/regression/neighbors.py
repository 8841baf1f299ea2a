"""`SPDKNeighborsRegressor`: the mean target of the nearest neighbours under any divergence."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.weights import relative_weights
from spdatoms.base import check_targets, checked_fit
from spdatoms.classification.named_atoms import Listing
from spdatoms.classification.neighbors import VOTES, NearestMatrices
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC
from spdatoms.geometry.channels import Mask, cut
from spdatoms.layout import holds
from spdatoms.regression.regressor import SPDRegressor, TargetExplanations, explained_targets


@allow.with_parameters
class SPDKNeighborsRegressor(Threaded, SPDRegressor, NearestMatrices):
    """Regression on SPD matrices by their nearest neighbours.

    Σ_i v_i t_i / Σ_i v_i over the k training matrices X_i with the least d(X, X_i): the mean of their
    targets t_i, with the votes v_i.

    Parameters
    ----------
    metric : str or Divergence, default="riemann"
        The divergence, any of `pairwise_divergence`.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbours count alike, or by the reciprocals 1/√d of their distances: near ones count more. If
        some have the distance zero, they alone count.

    Attributes
    ----------
    targets_ : ndarray of shape (N,) or (N, q)
        The targets of the training matrices.
    n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKNeighborsRegressor
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> SPDKNeighborsRegressor(n_neighbors=2).fit(X, [0.0, 1.0, 3.0, 4.0]).predict(1.2 * X)
    array([0.5, 0.5, 3.5, 3.5])
    """

    _stored = holds("targets_")
    n_neighbors: int = allow.parameter(allow.integer(1), default=5)
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    _: KW_ONLY
    weights: str = allow.parameter(VOTES, default="uniform")

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SPDKNeighborsRegressor:
        """Keep the matrices and their targets.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,) or (m, q)
            Their targets: a number for each, or q numbers.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices, not negative: a neighbour votes with its weight. It is one of the k
            neighbours whatever its weight, so that with one neighbour weights other than 0 change nothing. A
            matrix of weight 0 is left out, as if it were not there.
        """
        X = self.check_training_matrices(X)
        targets = check_targets(y, len(X))
        rows, weights = relative_weights(sample_weight, len(X))
        self.targets_ = targets[rows]
        self._keep(X[rows], weights)
        return self

    def _predicted(self, X: FloatArray) -> Floats:
        shares, neighbours = self._shares(X)
        return np.asarray(np.einsum("ik,ik...->i...", shares, self.targets_[neighbours]))

    def _explained(self, X: FloatArray, listing: Listing) -> TargetExplanations:
        listing.check(len(self.targets_))
        shares, neighbours = self._shares(X)
        codes = np.zeros((len(X), len(self.targets_)))
        np.put_along_axis(codes, neighbours, shares, axis=1)
        return explained_targets(codes, self.targets_, self._weights, listing)

    def _cut(self, known: Mask) -> Self:
        return self._fitted_anew(cut(self._matrices, known), self.targets_, self._weights)

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {"predict": np.average(self.targets_, axis=0, weights=self._weights)[None]}

    def _shares(self, X: FloatArray) -> tuple[Floats, Indices]:
        """Return the shares of the neighbours in the mean of each query, and which they are."""
        votes, neighbours = self._votes(X)
        # Votes of neighbours that are almost there are huge.
        shares = votes / votes.max(axis=1, keepdims=True)
        return shares / shares.sum(axis=1, keepdims=True), neighbours
