"""`RiemannianLPP`: locality preserving projections of SPD matrices, through a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, check_labels, checked_fit, per_matrix
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC
from spdatoms.kernels import Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.layout import Numbers, Part, holds

#: Eigenvalues of the Gram matrix below this fraction of the greatest are taken for zero.
_NEGLIGIBLE = 1e-10


@allow.with_parameters
class RiemannianLPP(Threaded, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """Riemannian locality preserving projections.

    min_a (½ Σ_ij W_ij (f_i − f_j)² + γ aᵀKa) / Σ_i δ_i f_i² with f = Ka: projections f(X) = k_Xᵀa.

    W joins matrices that should stay together, δ_i = Σ_j W_ij and K holds the kernel values
    exp(−β·d) between the training matrices. The projections are the least eigenvectors of
    K(Δ − W)K a + γKa = μ KΔK a, each with Σ_i δ_i f_i² = 1.

    Parameters
    ----------
    n_components : int, default=None
        The number of projections, at most the rank of the Gram matrix. None stands for the number of
        classes with a supervised graph, and for the size n of the matrices otherwise.
    graph : {"supervised", "neighbours"}, default="supervised"
        Join matrices of the same class, or each with its nearest neighbours.
    n_neighbors : int, default=5
        The number of nearest neighbours, for ``graph="neighbours"``.
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is the reciprocal of the median divergence between two training matrices.
    ridge : float, default=0.1
        γ as a fraction of the mean of δ. It prefers smooth projections among those that fit the graph
        equally well. With a supervised graph there are as many such projections as classes.

    Attributes
    ----------
    coefficients_ : ndarray of shape (m, n_components)
        The vectors a, one per column.
    eigenvalues_ : ndarray of shape (n_components,)
        The μ, increasing.
    kernel_ : DivergenceKernel
        The kernel over the training matrices.
    n_features_in_

    Notes
    -----
    Where i and j are joined, W_ij is 1 in a supervised graph and k(X_i, X_j) in one of neighbours. Every
    matrix is joined with itself: this does not change the numerator, but with it a matrix without
    neighbours counts in the denominator.

    References
    ----------
    .. [1] X. He, P. Niyogi, Locality preserving projections, 2003.
    .. [2] M. Harandi, C. Sanderson, A. Wiliem, B. Lovell, Kernel analysis over Riemannian manifolds
       for visual recognition of actions, pedestrians and textures, 2012.

    Examples
    --------
    Nearest neighbour after projection:

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from spdatoms.paper.baselines import RiemannianLPP
    >>> G = np.random.default_rng(0).standard_normal((40, 3, 20))
    >>> G[20:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat(["round", "long"], 20)
    >>> model = make_pipeline(RiemannianLPP(), KNeighborsClassifier(1))
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    _stored = holds("eigenvalues_", coefficients_=Numbers("N r"), kernel_=Part(Kernel))
    n_components: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    graph: str = allow.parameter(allow.choice("supervised", "neighbours"), default="supervised")
    n_neighbors: int = allow.parameter(allow.integer(1), default=5)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    _: KW_ONLY
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    ridge: float = allow.parameter(allow.real(0), default=0.1)
    correction: str = allow.parameter(CORRECTION, default="clip")

    @checked_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> RiemannianLPP:
        """Find the projections.

        Parameters
        ----------
        y : array-like of shape (m,), default=None
            Their labels, which a supervised graph needs.
        """
        X = self.check_training_matrices(X)
        kernel = DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)
        self.kernel_ = kernel.fit_checked(X)
        self._dtype = X.dtype
        K = self.kernel_.gram_
        W, count = self._graph(K, y)
        self.eigenvalues_, self.coefficients_ = locality_preserving(K, W, self.ridge, count)
        return self

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the projections of matrices.

        Returns
        -------
        ndarray of shape (m, n_components)
        """
        X = self.check_queries(X)
        cross = self.kernel_.cross_checked(X)
        dtype = getattr(self, "_dtype", np.float64)  # models saved before do not have it
        return np.asarray(row_products(cross, self.coefficients_), np.result_type(X, dtype))

    def _graph(self, K: Floats, y: ArrayLike | None) -> tuple[Floats, int]:
        """Return W and the number of projections."""
        if self.graph == "supervised":
            if y is None:
                raise ValueError(
                    "y is missing: graph='supervised' joins matrices with equal labels; without "
                    "labels there is graph='neighbours'."
                )
            classes, labels = check_labels(y, len(K))
            W, count = (labels[:, None] == labels[None, :]).astype(np.float64), len(classes)
        else:
            joined, count = _neighbours(K, self.n_neighbors), self.n_features_in_
            W = np.where(joined, np.maximum(K, 0.0), 0.0)
        return W, self.n_components or count

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def locality_preserving(K: Floats, W: Floats, ridge: float, count: int) -> tuple[Floats, Floats]:
    """Return the ``count`` least eigenvalues μ of K(Δ−W)K a + γKa = μ KΔK a, and their vectors a.

    With K = ZZᵀ and b = Zᵀa it is Zᵀ(Δ−W)Z b + γb = μ ZᵀΔZ b, a problem of the rank of K, whose
    right-hand side is positive definite even where K is singular.
    """
    eigenvalues, U = np.linalg.eigh(K)
    kept = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
    roots, U = np.sqrt(eigenvalues[kept]), U[:, kept]
    Z = U * roots
    degrees = W.sum(axis=1)
    numerator = Z.T @ (degrees[:, None] * Z - W @ Z)
    numerator.flat[:: len(roots) + 1] += ridge * degrees.mean()
    denominator = Z.T @ (degrees[:, None] * Z)
    last = min(count, len(roots)) - 1
    values, b = scipy.linalg.eigh(numerator, denominator, subset_by_index=(0, last))
    a = U @ (b / roots[:, None])
    # The sign of an eigenvector is arbitrary: make the projection positive where it is greatest.
    f = K @ a
    greatest = f[np.abs(f).argmax(axis=0), np.arange(f.shape[1])]
    return values, np.asarray(a * np.sign(greatest))


def _neighbours(K: Floats, count: int) -> NDArray[np.bool_]:
    """Return which matrices are joined: i = j, or one is among the nearest of the other."""
    if count >= len(K):
        raise ValueError(
            f"n_neighbors must be less than the number of matrices, {len(K)}, got {count}."
        )
    others = K.copy()
    np.fill_diagonal(others, np.inf)
    nearest = np.argsort(-others, axis=1, kind="stable")[:, : count + 1]
    joined = np.zeros(K.shape, dtype=bool)
    np.put_along_axis(joined, nearest, True, axis=1)
    return np.asarray(joined | joined.T)
