"""What coding needs of a kernel on SPD matrices: values among atoms, and between queries and atoms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import StackEstimator, checked_fit, estimator_call
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import check_spd
from spdatoms.layout import holds


class Kernel(StackEstimator, ABC):
    """The base class of kernels over a dictionary.

    k(X, D_j) for the atoms D_j of a dictionary, and the Gram matrix k(D_i, D_j).

    Attributes
    ----------
    gram_ : ndarray of shape (N, N)
        k(D_i, D_j): symmetric and positive semidefinite.
    corrected_ : bool
        Whether ``gram_`` had to be made so.
    n_features_in_
    """

    gram_: FloatArray
    corrected_: bool
    n_features_in_: int
    _stored = holds("n_features_in_ corrected_")

    @checked_fit
    def fit(self, D: ArrayLike, y: object = None) -> Self:
        """Compute the Gram matrix of a dictionary.

        Parameters
        ----------
        D : array-like of shape (N, n, n)
            The atoms.
        """
        return self.fit_checked(check_spd(D, name="D"))

    @abstractmethod
    def fit_checked(self, D: FloatArray) -> Self:
        """Return the kernel, fitted to matrices D that `check_spd` has checked."""

    @estimator_call
    def cross(self, X: ArrayLike) -> FloatArray:
        """Return k(X_i, D_j), consistent with the Gram matrix.

        Returns
        -------
        ndarray of shape (m, N)
        """
        check_is_fitted(self)
        return self.cross_checked(check_size(check_spd(X), self.n_features_in_))

    @abstractmethod
    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return `cross` of matrices X that `check_spd` has checked."""

    def vjp(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Return Σ_j w_ij ∂k(X_i, D_j)/∂X_i: the vector–Jacobian product of `cross`.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            SPD matrices.
        weights : ndarray of shape (m, N)
            The weights w.

        Returns
        -------
        ndarray of shape (m, n, n)
            Symmetric (or Hermitian) matrices G with dk = Re tr(G dX).
        """
        raise TypeError(f"{type(self).__name__} has no gradients.")

    def cross_and_norms(self, X: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return `cross_checked` of X, and k(X_i, X_i): one by default."""
        return self.cross_checked(X), 1.0
