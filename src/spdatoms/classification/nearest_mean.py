"""`MinimumDistanceToMean`: the class whose mean is nearest."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import watched
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.weights import labelled_weights, part_of
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification.classifier import ScoredClassifier, prior_answers
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.means import mean_of_checked
from spdatoms.divergences.registry import METRIC
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import as_double
from spdatoms.layout import Matrices, holds


@allow.with_parameters
class MinimumDistanceToMean(ScoredClassifier):
    """Classification by the nearest class mean (MDM).

    The class c with the least d(X, C_c), where C_c is the mean of its training matrices (MDM).
    Queries that lack channels are compared with the same channels of the means.

    Parameters
    ----------
    metric : str or Divergence, default="riemann"
        The divergence, any of `mean` and `pairwise_divergence`.

    Attributes
    ----------
    classes_
    means_ : ndarray of shape (n_classes, n, n)
        The means.
    n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import MinimumDistanceToMean
    >>> X = np.array([1.0, 2.0, 10.0, 20.0])[:, None, None] * np.eye(2)
    >>> MinimumDistanceToMean().fit(X, ["a", "a", "b", "b"]).predict(4.0 * X[:2])
    array(['a', 'b'], dtype='<U1')
    """

    hermitian: ClassVar[bool] = True
    _stored = holds("classes_", means_=Matrices("C"))
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> MinimumDistanceToMean:
        """Compute the mean of every class.

        Parameters
        ----------
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices in the means, all equal if not given.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, weights = labelled_weights(labels, self.classes_, sample_weight)
        X, labels = X[rows], labels[rows]
        divergence = get_divergence(self.metric)
        members = [np.flatnonzero(labels == c) for c in range(len(self.classes_))]
        self.means_: FloatArray = np.stack(
            [
                mean_of_checked(X[of], divergence, part_of(weights, of))
                for of in watched(members, "class means")
            ]
        )
        return self

    def _scores(self, X: FloatArray) -> Floats:
        """−d(X_i, C_c)."""
        divergence = over(get_divergence(self.metric), np.result_type(X, self.means_))
        queries = divergence.prepare(as_double(X))
        means = divergence.prepare(as_double(self.means_))
        return -divergence.pairwise(queries, means, n_jobs=self.n_jobs)

    def _cut(self, known: Mask) -> Self:
        # The training matrices are not kept: the means are cut, each of which is its own mean.
        return self._fitted_anew(cut(self.means_, known), self.classes_)

    def _answers_to_nothing(self) -> dict[str, Array]:
        return prior_answers(self.classes_, np.arange(len(self.classes_)), None)
