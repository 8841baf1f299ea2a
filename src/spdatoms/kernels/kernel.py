"""The kernel exp(−β·divergence) on SPD matrices: β, the Gram matrix, and values for new matrices."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.checks import check_beta, check_size
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.bandwidth import choose_beta
from spdatoms.kernels.correction import CorrectedGram, correct_gram


def kernel_values(divergences: FloatArray, beta: float) -> FloatArray:
    """Return exp(−β·d), with zero in place of numbers too small to compute with quickly."""
    values = np.exp(divergences * divergences.dtype.type(-beta))
    values[values < np.finfo(values.dtype).tiny] = 0
    return np.asarray(values)


class DivergenceKernel(BaseEstimator):
    """k(X, Y) = exp(−β·d(X, Y)) over a dictionary D of SPD matrices.

    Parameters
    ----------
    metric : str or Divergence
        A symmetric divergence: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``, ``"riemann"``,
        ``"euclid"`` or one of their aliases.
    beta : float or "auto"
        ``"auto"`` is the reciprocal of the median divergence between two matrices of the dictionary.
        A number that is given is respected.
    correction : {"clip", "flip", "shift", "none"}
        What to do with an indefinite Gram matrix, see `correct_gram`.
    n_jobs : int, optional
        The number of threads.

    Attributes
    ----------
    beta_ : float
        The β in use.
    gram_ : ndarray of shape (N, N)
        k(D_i, D_j), corrected if need be.
    min_eigenvalue_, max_eigenvalue_ : float
        The extreme eigenvalues of the Gram matrix before any correction.
    corrected_ : bool
        Whether the Gram matrix was indefinite and has been corrected.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import DivergenceKernel
    >>> D = np.array([[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    >>> kernel = DivergenceKernel(metric="stein", beta=1.0).fit(D)
    >>> kernel.gram_.round(3)
    array([[1. , 0.8],
           [0.8, 1. ]])
    >>> kernel.cross(2.0 * D[:1]).round(3)
    array([[0.889, 0.889]])
    """

    def __init__(
        self,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        correction: str = "clip",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.beta = beta
        self.correction = correction
        self.n_jobs = n_jobs

    def fit(self, D: ArrayLike, y: object = None) -> DivergenceKernel:
        """Compute the Gram matrix of the dictionary D (N, n, n)."""
        return self.fit_checked(check_spd(D, name="D"))

    def fit_checked(self, D: FloatArray) -> DivergenceKernel:
        """Return `fit` of matrices D that `check_spd` has seen already."""
        divergence = symmetric_divergence(self.metric)
        check_beta(self.beta)
        self._atoms = divergence.prepare(D)
        self._dictionary = D
        divergences = divergence.pairwise(self._atoms, n_jobs=self.n_jobs)
        self.beta_ = choose_beta(self.beta, divergences)
        correction = correct_gram(kernel_values(divergences, self.beta_), self.correction)
        warn_if_corrected(correction, divergence, self.beta_, self.correction)
        self._correction = correction
        self.gram_ = correction.gram
        self.min_eigenvalue_ = correction.min_eigenvalue
        self.max_eigenvalue_ = correction.max_eigenvalue
        self.corrected_ = correction.indefinite
        self.n_features_in_ = D.shape[-1]
        return self

    def cross(self, X: ArrayLike) -> FloatArray:
        """Return k(X_i, D_j), shape (m, N), consistent with the corrected Gram matrix."""
        check_is_fitted(self, "gram_")
        return self.cross_checked(check_size(check_spd(X), self.n_features_in_))

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return `cross` of matrices X that `check_spd` has seen already."""
        divergence = get_divergence(self.metric)
        dtype, atoms = np.result_type(X, self._dictionary), self._atoms
        if dtype != self._dictionary.dtype:
            atoms = divergence.prepare(self._dictionary.astype(dtype))
        prepared = divergence.prepare(X.astype(dtype, copy=False))
        values = divergence.pairwise(prepared, atoms, n_jobs=self.n_jobs)
        return self._correction.transform(kernel_values(values, self.beta_))


def warn_if_corrected(
    corrected: CorrectedGram, divergence: Divergence, beta: float, correction: str
) -> None:
    """Say once, with the eigenvalue, that a correction was needed."""
    if corrected.indefinite:
        warnings.warn(
            f"The {divergence.name} kernel at beta={beta:.3g} is indefinite on these matrices (least "
            f"eigenvalue {corrected.min_eigenvalue:.3g}, greatest {corrected.max_eigenvalue:.3g}): its "
            f"Gram matrix was corrected by {correction!r}.",
            IndefiniteKernelWarning,
            stacklevel=4,
        )


def kernel_in_place(divergences: Floats, beta: float) -> Floats:
    """exp(−β·d) in the place of d: as `kernel_values`, but without the memory of a copy."""
    divergences *= -beta
    np.exp(divergences, out=divergences)
    tiny = np.finfo(np.float64).tiny
    if divergences.size and divergences.min() < tiny:
        divergences[divergences < tiny] = 0.0
    return divergences


class RidgeKernel(DivergenceKernel):
    """k(X, Y) = exp(−β·d(X, Y)) over a dictionary, with K + μI in the place of its Gram matrix.

    Parameters
    ----------
    metric : str or Divergence
        The divergence d.
    beta : float
        The β of the kernel.
    ridge : float
        The μ that was fixed for learning; zero changes nothing.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self,
        metric: str | Divergence = "stein",
        beta: float = 1.0,
        ridge: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(metric, beta, "shift", n_jobs)
        self.ridge = ridge

    def fit_checked(self, D: FloatArray) -> RidgeKernel:
        """Compute K + μI for matrices that `check_spd` has seen already."""
        with warnings.catch_warnings():
            # Of the ridge the learner has told.
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            super().fit_checked(D)
        # A shift of any size touches neither cross values nor what is off the diagonal.
        self.gram_ = self.gram_.copy()
        np.fill_diagonal(self.gram_, 1.0 + self.ridge)
        self.corrected_ = self.ridge > 0
        return self
