"""The kernel exp(−β·divergence) on SPD matrices: β, the Gram matrix, and values for new matrices."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spdatoms.correction import CorrectedGram, correct_gram
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.validation import FloatArray, check_spd

#: β is taken from so many matrices at most: the median of their 125,000 divergences is exact enough.
_SUBSAMPLE = 500


def stein_kernel_is_guaranteed(beta: float, n: int) -> bool:
    """Say whether exp(−β·S) is positive definite on *every* set of n×n SPD matrices.

    It is if and only if β is one of ½, 1, 3/2, …, (n−1)/2, or at least (n−1)/2 [1]_. At another β
    the Gram matrix of a particular set may well be positive definite, too: `DivergenceKernel` looks.

    Parameters
    ----------
    beta : float
        The β of the kernel.
    n : int
        The size of the matrices.

    Returns
    -------
    bool

    References
    ----------
    .. [1] S. Sra, Positive definite matrices and the S-divergence, 2016.

    Examples
    --------
    >>> from spdatoms.kernel import stein_kernel_is_guaranteed
    >>> [stein_kernel_is_guaranteed(beta, n=4) for beta in (0.1, 0.5, 1.2, 1.5, 7.3)]
    [False, True, False, True, True]
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    return beta > 0 and (2 * beta >= n - 1 or float(2 * beta).is_integer())


def automatic_beta(divergences: FloatArray) -> float:
    """Return 1 / median of the positive off-diagonal entries of a matrix of divergences.

    At this β a typical pair has the kernel value 1/e. Exact duplicates, whose divergence is zero,
    say nothing about the scale; where there is nothing else, β is 1.
    """
    off_diagonal = divergences[~np.eye(len(divergences), dtype=bool)]
    positive = off_diagonal[off_diagonal > 0]
    return float(1.0 / np.median(positive)) if len(positive) else 1.0


def kernel_values(divergences: FloatArray, beta: float) -> FloatArray:
    """Return exp(−β·d), with zero in place of numbers too small to compute with quickly."""
    values = np.exp(divergences * divergences.dtype.type(-beta))
    values[values < np.finfo(values.dtype).tiny] = 0
    return np.asarray(values)


def evenly_spaced(count: int, limit: int) -> slice:
    """Return a slice that takes at most ``limit`` of ``count`` things, evenly, the same every time."""
    return slice(None, None, -(-count // limit))


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


def symmetric_divergence(metric: str | Divergence) -> Divergence:
    """Return the divergence, or say why it has no kernel."""
    divergence = get_divergence(metric)
    if not divergence.symmetric:
        raise ValueError(
            f"The {divergence.name} divergence is not symmetric and gives no kernel; jeffrey is its "
            "symmetric form."
        )
    return divergence


def check_beta(beta: float | str) -> None:
    """Refuse a β that is neither "auto" nor a positive number."""
    if isinstance(beta, str):
        if beta != "auto":
            raise ValueError(f"beta must be 'auto' or a positive number, got {beta!r}.")
    elif not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta must be 'auto' or a positive number, got {beta!r}.")


def choose_beta(beta: float | str, divergences: FloatArray) -> float:
    """Return the β that was given, or the automatic one for these divergences."""
    if not isinstance(beta, str):
        return float(beta)
    part = evenly_spaced(len(divergences), _SUBSAMPLE)
    return automatic_beta(divergences[part, part])


def check_size(X: FloatArray, n: int, name: str = "X") -> FloatArray:
    """Refuse matrices of another size than those seen in fit."""
    if X.shape[-1] != n:
        raise ValueError(
            f"{name} holds {X.shape[-1]}×{X.shape[-1]} matrices, but those seen in fit are {n}×{n}."
        )
    return X


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
