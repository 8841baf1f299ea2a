"""Log-Euclidean sparse coding: the Lasso on logarithms, linear [1]_ and with a Gaussian kernel.

.. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance matrices,
   2013.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.classification.scores import RULES
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.coding import SPDSparseCoder
from spdatoms.divergences import Divergence, LogEuclidean
from spdatoms.geometry.batched import log_determinant
from spdatoms.geometry.half_vectors import half_vectors
from spdatoms.kernels import Kernel

#: A logarithm smaller than this, relative to that of the scale, is taken for rounding error.
_ROUNDING = 1e-13


def log_vectors(X: FloatArray) -> Floats:
    """Return half-vectors v of the logarithms, (m, n(n+1)/2), with ⟨v(X), v(Y)⟩ = tr(log X log Y)."""
    return np.asarray(LogEuclidean().prepare(X).vectors)


def mean_log_scale(X: FloatArray, rescale: bool) -> float:
    """Return τ, the mean of log det X_i / n, or zero without ``rescale``: e^τ is the scale of X."""
    return float(log_determinant(X).mean() / X.shape[-1]) if rescale else 0.0


def rescaled_logs(X: FloatArray, log_scale: float) -> Floats:
    """Return the half-vectors of log(X / e^τ) = log X − τI."""
    identity = np.empty((1, X.shape[-1] * (X.shape[-1] + 1) // 2))
    half_vectors(np.eye(X.shape[-1])[None], identity)
    return np.asarray(log_vectors(X) - log_scale * identity)


class LogCosineKernel(Kernel):
    """k(X, Y) = tr(AB) / ‖A‖‖B‖ with A = log(X/c), B = log(Y/c): linear in the logarithms.

    Parameters
    ----------
    rescale : bool, default=True
        Whether c is the scale of the dictionary, see `mean_log_scale`; otherwise it is 1.
    n_jobs : int, default=None
        Ignored: the kernel is one matrix product.
    """

    _parameters = allow.declare(rescale=allow.BOOLEAN, n_jobs=allow.N_JOBS)

    def __init__(self, rescale: bool = True, n_jobs: int | None = None) -> None:
        self.rescale = rescale
        self.n_jobs = n_jobs

    def fit_checked(self, D: FloatArray) -> LogCosineKernel:
        """Compute the Gram matrix of matrices D (N, n, n), which were checked."""
        self._log_scale = mean_log_scale(D, self.rescale)
        self._vectors = self._directions(D)
        if not self._vectors.any():
            raise ValueError(
                "The matrices of the dictionary are all the same multiple of the identity, whose "
                "logarithm has no direction."
            )
        self.gram_ = self._vectors @ self._vectors.T
        self.corrected_ = False
        self.n_features_in_ = D.shape[-1]
        return self

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return k(X_i, D_j), shape (m, N), for matrices X (m, n, n), which were checked."""
        return np.asarray(row_products(self._directions(X), self._vectors.T))

    def _directions(self, X: FloatArray) -> Floats:
        """Return log(X/c) as unit vectors, or zero where it is only rounding error."""
        logs = rescaled_logs(X, self._log_scale)
        lengths = np.linalg.norm(logs, axis=1, keepdims=True)
        rounding = _ROUNDING * (1.0 + abs(self._log_scale))
        out = np.zeros_like(logs)
        np.divide(logs, lengths, out=out, where=lengths > rounding)
        return out


class _WithLogCosineKernel:
    """Estimators whose kernel is `LogCosineKernel`."""

    hermitian: ClassVar[bool] = False
    rescale: bool
    n_jobs: int | None

    def _kernel(self) -> Kernel:
        return LogCosineKernel(self.rescale, self.n_jobs)


class LogEuclideanSparseCoder(_WithLogCosineKernel, SPDSparseCoder):
    """Sparse codes of the logarithms of SPD matrices.

    min_y ‖v − Σ_j y_j d_j‖² + α‖y‖₁: the sparse code of X over atoms D_1 … D_N, on logarithms.

    v is the half-vector of log(X/c), scaled to length one, and d_j that of log(D_j/c); c is the scale
    of the atoms, the geometric mean of all their eigenvalues. The code is exact: see `sparse_code`.

    Parameters
    ----------
    dictionary : array-like of shape (N, n, n), default=None
        The atoms. Without them the matrices given to `fit` are the atoms.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in `SPDSparseCoder`, with d_iᵀd_j for the kernel.
    rescale : bool, default=True
        Divide by c, which makes codes independent of the unit of X. The published method [1]_ has
        c = 1, that is ``rescale=False``.
    positive : bool, default=False
        Ask for y ≥ 0.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The dictionary.
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    References
    ----------
    .. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance
       matrices, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.baselines import LogEuclideanSparseCoder
    >>> D = np.exp([[1.0, 0.0], [0.0, 1.0]])[:, :, None] * np.eye(2)
    >>> coder = LogEuclideanSparseCoder(dictionary=D, alpha=0.1, rescale=False).fit(D)
    >>> coder.transform(D**3).round(2)
    array([[0.95, 0.  ],
           [0.  , 0.95]])
    """

    _parameters = allow.declare(
        dictionary=allow.NONE | allow.MATRICES,
        alpha=allow.ALPHA,
        rescale=allow.BOOLEAN,
        positive=allow.BOOLEAN,
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        dictionary: ArrayLike | None = None,
        alpha: float | str = "auto",
        rescale: bool = True,
        *,
        positive: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.dictionary = dictionary
        self.alpha = alpha
        self.rescale = rescale
        self.positive = positive
        self.n_jobs = n_jobs
        self.verbose = verbose


class LogEuclideanSparseClassifier(_WithLogCosineKernel, SPDSparseClassifier):
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
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    atoms_ : ndarray of shape (N, n, n)
        The labelled atoms.
    atom_labels_ : ndarray of shape (N,)
        Their labels.
    atom_weights_ : ndarray of shape (N,) or None
        Their weights, relative to their mean. None if they are all the same.
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    See Also
    --------
    kernel_log_euclidean_classifier : The same with a Gaussian kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.baselines import LogEuclideanSparseClassifier
    >>> G = np.random.default_rng(0).standard_normal((40, 3, 20))
    >>> G[20:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat(["round", "long"], 20)
    >>> LogEuclideanSparseClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.95
    """

    _parameters = allow.declare(
        alpha=allow.ALPHA,
        rescale=allow.BOOLEAN,
        rule=allow.choice(*RULES),
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        alpha: float | str = "auto",
        rescale: bool = True,
        *,
        rule: str = "residual",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.rescale = rescale
        self.rule = rule
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _divergence(self) -> Divergence:
        return LogEuclidean()

    def _distance_scale(self) -> float:
        return 1.0

    def _landmarks(self) -> None:
        return None

    def _whitening(self) -> None:
        return None

    def _ridge(self) -> float:
        return 0.0

    def _labelled_atoms(self, X: Any, labels: Indices, **learning: Any) -> tuple[Any, Indices]:
        return X, labels


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
