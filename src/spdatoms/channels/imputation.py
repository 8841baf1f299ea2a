"""`SPDImputer`: channels that are missing, filled in from the training matrices that are most alike."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, checked_fit, per_matrix
from spdatoms.base.incomplete_queries import warn_of_no_channel
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import beside, over
from spdatoms.divergences.incomplete import completed, regression_mean
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.geometry.channels import (
    Mask,
    check_incomplete,
    cut,
    find_unfit_channels,
    patterns,
    regressed,
)
from spdatoms.geometry.functions import geometric_mean
from spdatoms.geometry.hermitian import as_double
from spdatoms.layout import Matrices, Numbers, holds


@allow.with_parameters
class SPDImputer(Threaded, OneToOneFeatureMixin, TransformerMixin, SPDEstimator):
    """Fill in channels that matrices lack, by local regression.

    X_mo = A X_oo and X_mm = A X_oo Aᵀ + R: what is missing (m) follows from what is known (o) by the regression
    A = S_mo S_oo⁻¹, R = S_mm − A S_om of a model S. That is the mean, by Jeffrey's divergence, of training matrices D_j
    with the weights (1 − γ)w_j, and of M with the weight γ.

    The D_j are the k training matrices that are nearest on the channels at hand, with weights w_j ∝ exp(−d/median).
    M is a mean of all training matrices. Training matrices may lack channels, too: they are filled in by regression
    on M first, and a second time as above. A missing channel is a row and a column of NaN. Known entries stay what they
    are, and the result is positive definite.

    Parameters
    ----------
    n_neighbors : int, default=10
        The number k of training matrices; no more than there are.
    metric : str or Divergence, default="stein"
        The divergence d by which they are near, which must be symmetric.
    global_share : float, default=0.1
        The share γ of the global mean. 1 is global imputation.

    Attributes
    ----------
    mean_ : ndarray of shape (n, n)
        M: the mean, by Jeffrey's divergence, of the training matrices filled in by regression on M.
    donors_ : ndarray of shape (N, n, n)
        The training matrices, filled in once.
    known_ : ndarray of bool, shape (N, n)
        The channels that they had.
    n_features_in_

    See Also
    --------
    SPDSparseClassifier : It takes queries that lack channels as they are, as many other estimators do.

    Notes
    -----
    A query equal to a training matrix that lacks the same channels is not filled in from that matrix itself, so that
    ``fit_transform(X)`` is ``fit(X).transform(X)``.

    If the training matrices are complete, give incomplete queries to the classifier: it compares the channels at
    hand, and nothing is made up. If training matrices lack channels, put this transformer before it, in a pipeline.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDImputer
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((30, 3, 50))
    >>> samples[:, 2] += samples[:, 1]
    >>> X = samples @ samples.swapaxes(1, 2) / 50
    >>> X[0, 2] = X[0, :, 2] = np.nan
    >>> SPDImputer().fit_transform(X)[0].round(1)
    array([[ 0.8, -0.1, -0.1],
           [-0.1,  1. ,  1.1],
           [-0.1,  1.1,  2.1]])
    """

    hermitian: ClassVar[bool] = True
    own_channels: ClassVar[bool] = True
    _stored = holds(
        donors_=Matrices("N", double=True),
        known_=Numbers("N n", "b"),
        mean_=Numbers("n n", "fc"),
    )
    n_neighbors: int = allow.parameter(allow.integer(1), default=10)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    global_share: float = allow.parameter(allow.real(above=0, most=1), default=0.1)

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> SPDImputer:
        """Fill in the training matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices; channels whose rows and columns are NaN are missing. Every channel must be known in one of
            them. A Dask array is collected in memory.
        """
        X, known = check_incomplete(X)
        X = self._of_its_type(X)
        self.n_features_in_ = X.shape[-1]
        some = known.any(axis=1)
        X, self.known_ = as_double(X[some]), known[some]
        self.mean_ = regression_mean(X, self.known_, np.full(len(X), 1.0 / len(X)))
        self.donors_ = completed(X, self.known_, self.mean_)
        self.donors_ = self._filled_in(X, self.known_)
        return self

    @per_matrix
    def transform(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Fill in what matrices lack.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            The matrices to complete. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n, n)
            The matrices, complete. One without channels is the mean, and there is a warning.
        """
        found = self._with_channels(X, channels)
        if found is None:
            return self.check_queries(X)
        own, known = found
        find_unfit_channels(own, known).raise_if_any("X", own.shape[:1])
        own = self._of_its_type(own)
        warn_of_no_channel(known, "they are the mean")
        filled = self._filled_in(as_double(own), known)
        return filled.astype(own.dtype, copy=False)

    def _filled_in(self, X: Floats, known: Mask) -> Floats:
        """Return matrices in double precision, filled in from the donors."""
        found = np.array(X, np.result_type(X, self.donors_))
        for mask, rows in patterns(known):
            if not mask.any():
                found[rows] = self.mean_
            elif not mask.all():
                own = cut(X[rows], mask)
                found[rows] = regressed(X[rows], mask, self._models(own, mask))
        return found

    def _models(self, X: Floats, mask: Mask) -> Floats:
        """Return S for matrices that have the channels of a mask."""
        donors = cut(self.donors_, mask)
        divergence = over(symmetric_divergence(self.metric), donors)
        between, queries, references = beside(divergence, X, divergence.prepare(donors))
        d = np.asarray(between.pairwise(queries, references, n_jobs=self.n_jobs), np.float64)
        d[self._same(X, donors, mask)] = np.inf
        k = min(self.n_neighbors, len(donors))
        near = np.argsort(d, axis=1, kind="stable")[:, :k]
        d = np.take_along_axis(d, near, axis=1)
        scale = d[:, (k - 1) // 2, None]  # the median, or infinity if there is no other donor
        w = np.exp(-d / np.where((scale > 0) & (scale < np.inf), scale, 1.0))
        w *= (1.0 - self.global_share) / np.maximum(
            w.sum(axis=1, keepdims=True), np.finfo(float).tiny
        )
        rest = (1.0 - w.sum(axis=1))[:, None, None]
        P, Q = rest * np.linalg.inv(self.mean_[None]), rest * self.mean_
        for one in range(k):  # one neighbour of all at a time, so that few matrices are held
            share, its = w[:, one, None, None], self.donors_[near[:, one]]
            P, Q = P + share * np.linalg.inv(its), Q + share * its
        return np.asarray(geometric_mean(Q, np.linalg.inv(P)))

    def _same(self, X: Floats, donors: Floats, mask: Mask) -> tuple[Indices, Indices]:
        """Return pairs of a matrix and the donor that it is itself: with these channels, and the same numbers."""
        own = np.flatnonzero((self.known_ == mask).all(axis=1))
        places: dict[bytes, list[int]] = {}
        for j in own:
            places.setdefault(donors[j].tobytes(), []).append(int(j))
        pairs = [(i, j) for i, one in enumerate(X) for j in places.get(one.tobytes(), ())]
        return tuple(np.array(pairs, np.intp).reshape(-1, 2).T)  # type: ignore[return-value]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
