"""`SPDKMeans`: k-means of SPD matrices under any divergence."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.notebook import PicturedAtoms
from spdatoms._utils.sampling import evenly_spaced, random_source
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms._utils.weights import check_weights, given_weights
from spdatoms.base import SPDEstimator, check_streamable, checked_fit, estimator_call, per_matrix
from spdatoms.clustering._assignment import ClusteredSample
from spdatoms.clustering._lloyd import Lloyd
from spdatoms.clustering._streamed import ClusteredStream
from spdatoms.divergences import Divergence, PreparedSet, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import METRIC
from spdatoms.divergences.seeds import SEEDS, Sample
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import as_double, real_type
from spdatoms.geometry.validation import check_spd
from spdatoms.layout import Matrices, holds

#: Seeds are drawn from this many evenly spaced matrices per cluster, but from the second number at least.
_SEED_SAMPLES, _SEED_LEAST = 100, 20_000
#: Starts for ``n_init="auto"`` with ``init="random"``.
_RANDOM_STARTS = 10


@allow.with_parameters
class SPDKMeans(
    Threaded,
    PicturedAtoms,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    SPDEstimator,
):
    """Clusters of SPD matrices under any divergence.

    min_C Σ_i w_i min_j d(X_i, C_j): k clusters of SPD matrices and their centres.

    Lloyd's algorithm, with exchanges by Hartigan's rule where it stops. With the squared
    affine-invariant distance, ``metric="riemann"``, it is the intrinsic k-means on the manifold. The
    inertia never increases: a step of a centre that would raise it is shortened or not taken.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    metric : str or Divergence, default="riemann"
        The divergence d, or squared distance: ``"riemann"``, ``"stein"``, ``"jeffrey"``,
        ``"logeuclid"``, ``"euclid"`` or ``"burg"``, see `pairwise_divergence`.
    init : {"k-means++", "random"} or array-like of shape (n_clusters, n, n), default="k-means++"
        The first centres: matrices drawn far apart (greedy k-means++, with divergences in place of
        squared distances), matrices drawn at random, or given ones. They are drawn from 20,000 evenly
        spaced matrices, or from 100 per cluster if that is more.
    n_init : int or "auto", default="auto"
        The number of starts, of which the one with the least inertia is kept. ``"auto"`` is 10 for
        ``init="random"`` and 1 otherwise. With given centres there is one start.
    max_iter : int, default=300
        The greatest number of iterations of a start; if they do not suffice there is a `ConvergenceWarning`.
    tol : float, default=1e-4
        It has converged when no matrix changes its cluster and no centre moves by more than this,
        relative to itself, as ‖C^-½ ΔC C^-½‖_F / √n. The scale of the data does not matter.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness of the first centres. An int gives the same result every time.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n, n)
        The centres, in the precision of the training matrices.
    labels_ : ndarray of shape (m,)
        The index of the cluster of each training matrix.
    inertia_ : float
        Σ_i w_i d(X_i, C) over the training matrices and their centres. Divergences are squared
        distances, so this is a sum of squares.
    inertia_history_ : ndarray of shape (n_iter_ + 1,)
        The inertia at the start and after every iteration. It never increases.
    n_iter_ : int
        The number of iterations of the best start.
    n_features_in_

    Notes
    -----
    Where the centre of a cluster has no closed form (stein, riemann), an iteration takes one step
    towards it, and only divergences to centres that moved are computed again. A cluster that becomes
    empty gets the worst represented matrix as its centre. When nothing moves any more, matrices for
    which another cluster would be better once its centre has followed them are moved there together;
    the move is undone unless it lowers the inertia [1]_.

    References
    ----------
    .. [1] M. Telgarsky and A. Vattani, Hartigan's method: k-means clustering without Voronoi, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.clustering import SPDKMeans
    >>> scales = np.array([1.0, 1.1, 1.2, 9.0, 10.0])
    >>> X = scales[:, None, None] * np.eye(2)
    >>> kmeans = SPDKMeans(n_clusters=2, random_state=0).fit(X)
    >>> kmeans.labels_ == kmeans.labels_[0]
    array([ True,  True,  True, False, False])
    >>> kmeans.predict([[[8.0, 0.0], [0.0, 12.0]]]) == kmeans.labels_[-1]
    array([ True])
    """

    n_clusters: int = allow.parameter(allow.integer(1), default=8)
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    _: KW_ONLY
    init: str | ArrayLike = allow.parameter(
        allow.choice(*SEEDS) | allow.MATRICES, default="k-means++"
    )
    n_init: int | str = allow.parameter(allow.AUTO | allow.integer(1), default="auto")
    max_iter: int = allow.parameter(allow.integer(1), default=300)
    tol: float = allow.parameter(allow.TOLERANCE, default=1e-4)
    random_state: int | np.random.RandomState | np.random.Generator | None = allow.parameter(
        allow.RANDOM_STATE, default=None
    )

    hermitian: ClassVar[bool] = True
    _stored = holds(cluster_centers_=Matrices("N"))

    fit_predict = same_kind(ClusterMixin.fit_predict)

    @checked_fit
    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> SPDKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, at least as many as clusters. It may be a Dask array, see `spdatoms.scale`.
        sample_weight : array-like of shape (m,), default=None
            The weights w, not negative; None is a weight of one for every matrix. A matrix of weight
            zero gets a label, but does not influence the centres.
        """
        matrices: Any = check_streamable(X, self.n_jobs)
        divergence = over(get_divergence(self.metric), matrices)
        self.n_features_in_ = matrices.shape[-1]
        # Normalised weights keep sums in range; the inertia is that of the weights as given.
        weights = check_weights(sample_weight, len(matrices))
        total = float(given_weights(sample_weight, len(matrices)).sum())
        used = np.flatnonzero(weights > 0)
        self._check_number_of_samples(len(used), len(matrices))
        data = self._data(divergence, matrices, weights, used)
        starts = self._starts(divergence, matrices, weights, used, data)
        best = min((self._run(data, centres) for centres in starts), key=lambda run: run.inertia)
        self.cluster_centers_ = best.centres.astype(matrices.dtype)
        self.n_iter_ = len(best.history) - 1
        self.inertia_history_ = total * np.array(best.history)
        if isinstance(data, ClusteredSample):
            every = len(used) == len(matrices)
            divergences = self._divergences(matrices, data.sample.prepared if every else None)
            self.labels_ = divergences.argmin(axis=1)
            inertia = float(weights @ divergences.min(axis=1))
        else:
            self.labels_, inertia = data.nearest(as_double(self.cluster_centers_))
        self.inertia_ = total * inertia
        self._warn(best.converged)
        return self

    @per_matrix
    def predict(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Indices:
        """Return the index of the nearest centre for each matrix.

        Returns
        -------
        ndarray of shape (m,)
            The indices.
        """
        labels: Indices = self._divergences(self.check_queries(X)).argmin(axis=1)
        return labels

    @per_matrix
    def transform(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Return d(X_i, C_j), the divergences to the centres.

        Returns
        -------
        ndarray of shape (m, n_clusters)
            The divergences.
        """
        X = self.check_queries(X)
        dtype = real_type(X, self.cluster_centers_)
        return self._divergences(X).astype(dtype, copy=False)

    @estimator_call
    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return −Σ_i w_i min_j d(X_i, C_j), so that greater is better.

        Parameters
        ----------
        sample_weight : array-like of shape (m,), default=None
            The weights w, not negative; None is a weight of one for every matrix.

        Returns
        -------
        float
            The score.
        """
        nearest = self._losses(X)
        return -float(nearest @ given_weights(sample_weight, len(nearest)))

    @per_matrix
    def _losses(self, X: ArrayLike) -> Floats:
        """Return min_j d(X_i, C_j)."""
        return np.asarray(self._divergences(self.check_queries(X)).min(axis=1))

    def _cut(self, known: Mask) -> SPDKMeans:
        model = copy(self)
        model.n_features_in_ = int(known.sum())
        model.cluster_centers_ = cut(self.cluster_centers_, known)
        return model

    def _check_number_of_samples(self, count: int, of: int) -> None:
        if count < self.n_clusters:
            which = "matrices" if count == of else "matrices with a positive weight"
            raise ValueError(
                f"X holds {count} {which} (n_samples={count}), fewer than n_clusters={self.n_clusters}: ask for at "
                "most as many clusters as there are matrices."
            )

    def _data(self, divergence: Divergence, X: Any, weights: Floats, used: Indices) -> Any:
        """Return the matrices with positive weight, in memory or as a stream."""
        if isinstance(X, np.ndarray):
            return ClusteredSample(self._sample(divergence, X, weights, used))
        return ClusteredStream(X, divergence, weights, self.n_clusters)

    def _sample(self, divergence: Divergence, X: Any, weights: Floats, chosen: Indices) -> Sample:
        """Prepare some of the matrices, in double precision."""
        matrices = X[:] if len(chosen) == len(X) else X[chosen]
        return Sample(divergence, as_double(matrices), weights[chosen], self.n_jobs)

    def _starts(
        self, divergence: Divergence, X: Any, weights: Floats, used: Indices, data: Any
    ) -> Iterator[Floats]:
        """Yield the first centres of every start."""
        if not isinstance(self.init, str):
            yield self._given_centres()
            return
        rng = random_source(self.random_state)
        starts: Any = self.n_init
        if starts == "auto":
            starts = _RANDOM_STARTS if self.init == "random" else 1
        limit = max(_SEED_LEAST, _SEED_SAMPLES * self.n_clusters)
        if isinstance(data, ClusteredSample) and len(used) <= limit:
            sample = data.sample
        else:
            sample = self._sample(divergence, X, weights, used[evenly_spaced(len(used), limit)])
        for _ in range(starts):
            yield sample.matrices[SEEDS[self.init](sample, self.n_clusters, rng)]

    def _given_centres(self) -> Floats:
        centres = check_size(check_spd(self.init, name="init"), self.n_features_in_, name="init")
        if len(centres) != self.n_clusters:
            raise ValueError(
                f"init holds {len(centres)} matrices, but n_clusters is {self.n_clusters}."
            )
        return as_double(centres)

    def _run(self, data: Any, centres: Floats) -> Lloyd:
        def run() -> Lloyd:
            return Lloyd(data, centres, self.tol).run(self.max_iter)

        return run() if isinstance(data, ClusteredSample) else data.attempt(run)

    def _divergences(self, X: FloatArray, prepared: PreparedSet | None = None) -> Floats:
        """d(X_i, C_j) at [i, j], in double precision whatever that of X is, which may be prepared."""
        centres = as_double(self.cluster_centers_)
        divergence = over(get_divergence(self.metric), np.result_type(X, centres))
        known = divergence.prepare(as_double(X)) if prepared is None else prepared
        return divergence.each_to_centres(known, centres, self.n_jobs)

    def _warn(self, converged: bool) -> None:
        found = len(np.unique(self.labels_))
        if not converged:
            message = (
                f"k-means did not converge in {self.max_iter} iterations: raise max_iter or tol."
            )
        elif found < self.n_clusters:
            message = (
                f"Only {found} of the {self.n_clusters} clusters have members: X has no more "
                "matrices that differ."
            )
        else:
            return
        warn_user(message, ConvergenceWarning)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
