"""Baselines made of the library's own parts: k-means dictionaries, nearest neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms.base import checked_fit
from spdatoms.classification.neighbors import SPDKNeighborsClassifier
from spdatoms.clustering.kmeans import SPDKMeans
from spdatoms.coding import SPDSparseCoder
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC, SYMMETRIC_METRIC
from spdatoms.kernels.correction import CORRECTION
from spdatoms.layout import BOOLEAN, PENALTY, Value, holds


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
    metric : str or Divergence, default="stein"
        The divergence of the kernel, as in `SPDSparseCoder`.
    beta : float or "auto", default="auto"
        The β of the kernel, as in `SPDSparseCoder`.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in `SPDSparseCoder`.
    positive : bool, default=False
        Ask for y ≥ 0.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`.
    max_iter : int, default=300
        The greatest number of iterations of k-means.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness for the first centres.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The centres.
    n_iter_ : int
        The number of iterations of k-means.
    kernel_ : DivergenceKernel
        The kernel over them, with ``beta_`` and ``gram_``.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import KMeansSparseCoder
    >>> X = np.array([1.0, 1.1, 1.2, 9.0, 10.0])[:, None, None] * np.eye(2)
    >>> KMeansSparseCoder(n_atoms=2, random_state=0).fit_transform(X).shape
    (5, 2)
    """

    _stored = holds(ridge=PENALTY, dictionary=Value(allow.NONE), normalise=BOOLEAN)
    _parameters = allow.declare(
        n_atoms=allow.integer(1),
        cluster_metric=METRIC,
        metric=SYMMETRIC_METRIC,
        beta=allow.BETA,
        alpha=allow.ALPHA,
        positive=allow.BOOLEAN,
        correction=CORRECTION,
        max_iter=allow.integer(1),
        random_state=allow.RANDOM_STATE,
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        n_atoms: int = 64,
        cluster_metric: str | Divergence = "riemann",
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        *,
        alpha: float | str = "auto",
        positive: bool = False,
        correction: str = "clip",
        max_iter: int = 300,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            None, metric, beta, alpha, positive=positive, correction=correction, n_jobs=n_jobs
        )
        self.n_atoms = n_atoms
        self.cluster_metric = cluster_metric
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> KMeansSparseCoder:
        """Cluster the matrices; the centres are the atoms.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The estimator itself.
        """
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
