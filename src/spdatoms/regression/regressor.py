"""What the regressors share: one target per matrix or several, predictions and explanations of queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, by_channels, per_matrix
from spdatoms.classification.named_atoms import Listing
from spdatoms.regression.explanation import TargetExplanations


class SPDRegressor(RegressorMixin, SPDEstimator):
    """A regressor whose subclass predicts and explains the targets of checked matrices."""

    targets_: Floats
    score = same_kind(RegressorMixin.score)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @abstractmethod
    def _predicted(self, X: FloatArray) -> Floats:
        """Return the predictions (m,) or (m, q)."""

    @abstractmethod
    def _explained(self, X: FloatArray, listing: Listing) -> TargetExplanations:
        """Return the explanations."""

    @per_matrix
    def predict(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return the prediction for each matrix.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            The matrices whose target is asked for. It may be a Dask array, see `spdatoms.scale`.
        channels : array-like, default=None
            The channels that they have, as in `SPDSparseClassifier.predict`.

        Returns
        -------
        ndarray of shape (m,) or (m, q)
            The predictions.
        """
        return self._predicted(self.check_queries(X))

    @by_channels
    def explain(
        self,
        X: ArrayLike,
        n_atoms: int | None = None,
        *,
        names: Sequence[str] | None = None,
        channels: ArrayLike | None = None,
    ) -> TargetExplanations:
        """Return what every training matrix adds to the mean target: an exact sum.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            The matrices whose prediction is explained.
        n_atoms : int, default=None
            List only this number of training matrices, those that contribute most. None lists all that contribute.
        names : sequence of str, default=None
            A name for each training matrix, to be shown instead of its index.
        channels : array-like, default=None
            As in `predict`.

        Returns
        -------
        TargetExplanations
            One `TargetExplanation` per matrix. Its contributions and the mean target sum to what `predict` returns.
        """
        X = self.check_queries(X)
        listing = Listing(n_atoms, names)
        listing.check(len(self.targets_))
        return self._explained(X, listing)
