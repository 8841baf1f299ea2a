"""What the regressors share: one target per matrix or several, predictions, and what every training matrix adds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import per_matrix
from spdatoms.classification.named_atoms import (
    ExplainingEstimator,
    Listing,
    NamedAtoms,
    SeveralExplanations,
)


@dataclass(frozen=True)
class TargetExplanation(NamedAtoms):
    """The prediction for one query, taken apart by training matrices.

    t̂ = t̄ + Σ_j c_j (t_j − t̄): the prediction is the mean target plus what the training matrices contribute.

    Attributes
    ----------
    prediction : float or ndarray of shape (q,)
        What ``predict`` returns.
    offset : float or ndarray of shape (q,)
        The mean target t̄ of the training matrices.
    atoms : ndarray of shape (k,)
        The indices of the training matrices; what contributes most comes first.
    contributions : ndarray of shape (k,) or (k, q)
        What each adds to the prediction.
    targets : ndarray of shape (k,) or (k, q)
        Their targets.
    n_used : int
        The number of all that contribute, of which the k may be a part.
    names : tuple of str or None
        The names of the k, if names were given.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKNeighborsRegressor
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> regressor = SPDKNeighborsRegressor(n_neighbors=2).fit(X, [0.0, 1.0, 3.0, 4.0])
    >>> print(regressor.explain(1.2 * X[:1])[0])
    0.5: the mean 2 and -1.5 of 2 matrices: #0 (0) -1, #1 (1) -0.5
    """

    prediction: Any
    offset: Any
    atoms: Indices
    contributions: Floats
    targets: Floats
    n_used: int
    names: tuple[str, ...] | None = None
    contributed_to = "the prediction"

    @property
    def headline(self) -> str:
        """The prediction, and the mean that it differs from."""
        return f"{_number(self.prediction)}: the mean {_number(self.offset)}"

    @property
    def agreeing(self) -> NDArray[np.bool_]:
        """Which of the k training matrices move the prediction away from the mean."""
        return np.asarray(self.contributions * (self.prediction - self.offset) > 0.0)

    def of_target(self, index: int) -> TargetExplanation:
        """Return the explanation of one of several targets.

        Parameters
        ----------
        index : int
            Which target.

        Returns
        -------
        TargetExplanation
        """
        order = np.argsort(-np.abs(self.contributions[:, index]), kind="stable")
        return replace(
            self,
            prediction=float(self.prediction[index]),
            offset=float(self.offset[index]),
            atoms=self.atoms[order],
            contributions=self.contributions[order, index],
            targets=self.targets[order, index],
            names=None if self.names is None else tuple(self.names[i] for i in order),
        )

    def named(self) -> Iterator[tuple[str, float]]:
        """Yield the name and target, and the contribution of each of the k training matrices.

        Yields
        ------
        tuple of str and float
        """
        if self.contributions.ndim == 1:
            for i, target in enumerate(self.targets):
                yield f"{self._name(i)} ({target:.3g})", float(self.contributions[i])
            return
        for index in range(self.contributions.shape[1]):
            for name, value in self.of_target(index).named():
                yield f"target {index}: {name}", value

    def __str__(self) -> str:
        if self.contributions.ndim > 1:
            return "\n".join(str(self.of_target(j)) for j in range(self.contributions.shape[1]))
        count, listed = self._listed()
        return f"{self.headline} and {self.contributions.sum():+.3g} of {count}: {listed}"


class TargetExplanations(SeveralExplanations[TargetExplanation]):
    """The explanations of several queries, one per query.

    Parameters
    ----------
    found : sequence of TargetExplanation
        The explanations.

    Attributes
    ----------
    predictions : ndarray of shape (m,) or (m, q)
        What ``predict`` returns.
    """

    @property
    def predictions(self) -> Floats:
        """The predictions, one row per query."""
        return np.array([one.prediction for one in self._found])


class SPDRegressor(RegressorMixin, ExplainingEstimator[TargetExplanations]):
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

    @per_matrix
    def predict(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return the prediction for each matrix.

        Returns
        -------
        ndarray of shape (m,) or (m, q)
            The predictions.
        """
        return self._predicted(self.check_queries(X))


def explained_targets(
    codes: Floats,
    targets: Floats,
    weights: Floats | None,
    listing: Listing,
) -> TargetExplanations:
    """Return the explanations of targets that codes (m, N) over matrices with targets and weights predict."""
    columns = targets.reshape(len(targets), -1)
    mean = np.average(columns, axis=0, weights=weights)
    found: list[TargetExplanation] = []
    for code in codes:  # one by one: what they contribute may not fit in memory
        added = code[None, :, None] * (columns - mean)
        found += targets_taken_apart(added, mean, targets, listing)
    return TargetExplanations(found)


def targets_taken_apart(
    contributions: Floats,
    offset: Floats,
    targets: Floats,
    listing: Listing,
) -> Iterator[TargetExplanation]:
    """Yield the explanations of queries to whose targets atoms contribute (m, N, q).

    Targets (N,) are a single one, q = 1.
    """
    shape = targets.shape[1:]
    for own in contributions:
        sizes = np.sqrt((own**2).sum(axis=1))
        used = np.flatnonzero(sizes)
        used = used[np.argsort(-sizes[used], kind="stable")]
        atoms, indices, names = listing.of(used)
        prediction = (offset + own.sum(axis=0)).reshape(shape)
        yield TargetExplanation(
            prediction if shape else float(prediction),
            offset.reshape(shape) if shape else float(offset[0]),
            indices,
            own[atoms].reshape(len(atoms), *shape),
            targets[atoms],
            len(used),
            names,
        )


def _number(value: Any) -> str:
    return f"{value:.4g}" if np.ndim(value) == 0 else ", ".join(f"{one:.4g}" for one in value)
