"""Baselines made of the library's own parts: k-means dictionaries, log-Euclidean codes [1]_, nearest neighbour.

.. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance matrices,
   2013.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.base import checked_fit
from spdatoms.classification.neighbors import SPDKNeighborsClassifier
from spdatoms.classification.scores import RULES
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.clustering.kmeans import SPDKMeans
from spdatoms.coding import SPDSparseCoder
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC, SYMMETRIC_METRIC
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.log_cosine import WithLogCosineKernel


@allow.with_parameters
class KMeansSparseCoder(SPDSparseCoder):
    """Sparse codes as in `SPDSparseCoder`, over the centres of k-means as atoms.

    With ``cluster_metric="riemann"`` it is the intrinsic k-means dictionary that the paper compares
    learned dictionaries with.

    Parameters
    ----------
    n_atoms : int, default=64
        The number N of atoms, which are the centres of clusters.
    cluster_metric : str or Divergence, default="riemann"
        The divergence of the clusters, as in `SPDKMeans`.
    beta : float or "auto", default="auto"
        The β of the kernel, as in `SPDSparseCoder`.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in `SPDSparseCoder`.
    max_iter : int, default=300
        The greatest number of iterations of k-means.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness for the first centres.

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The centres.
    n_iter_ : int
        The number of iterations of k-means.
    kernel_, alpha_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import KMeansSparseCoder
    >>> X = np.array([1.0, 1.1, 1.2, 9.0, 10.0])[:, None, None] * np.eye(2)
    >>> KMeansSparseCoder(n_atoms=2, random_state=0).fit_transform(X).shape
    (5, 2)
    """

    n_atoms: int = allow.parameter(allow.integer(1), default=64)
    cluster_metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    _: KW_ONLY
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    positive: bool = allow.parameter(allow.BOOLEAN, default=False)
    correction: str = allow.parameter(CORRECTION, default="clip")
    max_iter: int = allow.parameter(allow.integer(1), default=300)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> KMeansSparseCoder:
        """Cluster the matrices; the centres are the atoms."""
        X = self.check_training_matrices(X)
        kmeans: Any = SPDKMeans(
            self.n_atoms,
            self.cluster_metric,
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.atoms_ = kmeans.fit(X).cluster_centers_
        self.n_iter_ = kmeans.n_iter_
        self._use_atoms(X)
        return self


@allow.with_parameters
class LogEuclideanSparseClassifier(WithLogCosineKernel, SPDSparseClassifier):
    """Classification by sparse codes of logarithms.

    The class c with the least ‖v − Σ_{j∈c} y_j d_j‖, for y as in `LogEuclideanSparseCoder`.

    The training matrices are the atoms.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁. ``"auto"`` is 0.01.
    rescale : bool, default=True
        As in `LogEuclideanSparseCoder`.
    rule : {"residual", "sum", "max"}, default="residual"
        Judge a class as in `SPDSparseClassifier`; the formula above is that of ``"residual"``.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n)
        The labelled atoms.
    atom_labels_, atom_weights_
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_, n_features_in_

    See Also
    --------
    kernel_log_euclidean_classifier : The same with a Gaussian kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import LogEuclideanSparseClassifier
    >>> G = np.random.default_rng(0).standard_normal((40, 3, 20))
    >>> G[20:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat(["round", "long"], 20)
    >>> LogEuclideanSparseClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.95
    """

    metric = "logeuclid"  # finds the nearest atom where a code is zero
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    rescale: bool = allow.parameter(allow.BOOLEAN, default=True)
    _: KW_ONLY
    rule: str = allow.parameter(allow.choice(*RULES), default="residual")


def kernel_log_euclidean_classifier(**parameters: Any) -> SPDSparseClassifier:
    """Return a sparse classifier with the Gaussian kernel of logarithms.

    It is ``SPDSparseClassifier(metric="logeuclid")``, with the kernel exp(−β‖log X − log Y‖²_F).

    This is the log-Euclidean sparse coding of the paper's tables.

    Parameters
    ----------
    **parameters
        Those of `SPDSparseClassifier`, except ``metric``.

    Returns
    -------
    SPDSparseClassifier
        The classifier, not fitted.
    """
    return SPDSparseClassifier(metric="logeuclid", **parameters)


def riemannian_nearest_neighbour(n_jobs: int | None = None) -> SPDKNeighborsClassifier:
    """Return a nearest-neighbour classifier under the affine-invariant distance.

    It is ``SPDKNeighborsClassifier(1, "riemann")``: the label of the nearest matrix under AIRM.

    Parameters
    ----------
    n_jobs : int, default=None
        The number of threads.

    Returns
    -------
    SPDKNeighborsClassifier
        The classifier, not fitted.
    """
    return SPDKNeighborsClassifier(1, "riemann", n_jobs=n_jobs)
