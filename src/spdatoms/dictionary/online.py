"""Learning from one batch after another: past matrices are replaced by a few centres that stand for all of them.

The centres have weights, the numbers of matrices that they stand for, and are at most eight per atom. A batch and
the centres together are learned from as any weighted matrices are, so that the order of the stream hardly matters.
After that the nearest of them are merged, by k-means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary.initial import quick_kmeans
from spdatoms.divergences import Divergence
from spdatoms.layout import COUNT, TINY, Matrices, Numbers, part

#: Centres per atom. With fewer of them learning ends above the loss of all matrices, most with Jeffrey's divergence.
_CENTRES_PER_ATOM = 8
#: A stream is young up to this many matrices per atom. It begins anew when it has grown by this factor: less than a
#: class that comes last would.
_YOUNG_PER_ATOM, _GROWTH = 80, 1.05
#: Iterations of k-means when centres are merged.
_MERGE_ITERATIONS = 5


@dataclass(frozen=True)
class Summary:
    """Centres with weights that stand for all matrices of a stream so far.

    Attributes
    ----------
    centres : ndarray of shape (c, n, n)
        SPD matrices.
    weights : ndarray of shape (c,)
        The number of matrices that each stands for, discounted by what was forgotten.
    count : int
        The number of matrices so far.
    started : int
        The number of them when first atoms, β, α and landmarks were found last; 0 if `fit` has found them.
    """

    centres: Annotated[FloatArray, Matrices("c")]
    weights: Annotated[Floats, Numbers("c", least=TINY)]
    count: Annotated[int, COUNT]
    started: Annotated[int, COUNT]
    _stored = part()

    @classmethod
    def empty(cls, X: FloatArray) -> Summary:
        """Return the summary of no matrices, of the kind of X."""
        return cls(X[:0], np.zeros(0), 0, 0)

    def with_batch(self, X: FloatArray, weights: Floats | None, forgetting: float) -> Summary:
        """Return centres and batch together; ρ of the weight of the past remains."""
        own = np.ones(len(X)) if weights is None else weights
        return Summary(
            np.concatenate([self.centres, X.astype(self.centres.dtype)]),
            np.concatenate([forgetting * self.weights, own]),
            self.count + len(X),
            self.started,
        )

    def begins_anew(self, n_atoms: int) -> bool:
        """Return whether first atoms, β, α and landmarks are to be found again: the stream is young and has grown."""
        young = self.count < _YOUNG_PER_ATOM * n_atoms
        return self.started > 0 and young and self.count >= _GROWTH * self.started

    def merged(
        self, n_atoms: int, divergence: Divergence, seed: int, n_jobs: int | None
    ) -> Summary:
        """Return fewer centres, of those that are near each other."""
        size = _CENTRES_PER_ATOM * n_atoms
        centres, weights = _distinct(self.centres, self.weights)
        if len(centres) > size:
            options = {"max_iter": _MERGE_ITERATIONS, "tol": 0.0}
            kmeans = quick_kmeans(
                centres,
                size,
                weights,
                metric=divergence,
                random_state=seed,
                n_jobs=n_jobs,
                **options,
            )
            weights = np.bincount(kmeans.labels_, weights, minlength=size).astype(np.float64)
            used = weights > 0
            centres, weights = kmeans.cluster_centers_[used], weights[used]
        return Summary(centres, weights, self.count, self.started)


def _distinct(X: FloatArray, weights: Floats) -> tuple[FloatArray, Floats]:
    """Return the different matrices, in their order, with the sums of their weights."""
    _, first, of = np.unique(X.reshape(len(X), -1), axis=0, return_index=True, return_inverse=True)
    totals = np.bincount(of.ravel(), weights).astype(np.float64)
    order = np.argsort(first)
    return X[first[order]], totals[order]
