"""Kernels exp(−β·divergence) on SPD matrices: the Gram matrix, and values for new matrices."""

from __future__ import annotations

from typing import Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms.divergences import Divergence, PreparedSet, get_divergence
from spdatoms.divergences.hermitian import beside, over
from spdatoms.divergences.registry import (
    SYMMETRIC_METRIC,
    same_divergence,
    symmetric_divergence,
)
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.kernels.bandwidth import choose_beta, kernel_in_place, kernel_values
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.correction import CORRECTION, CorrectedGram, correct_gram, definite_gram
from spdatoms.layout import Part, PreparedFrom, holds, part

#: The divergences between the atoms of kernels that `DivergenceKernel.fit_changed` has made. They are no attributes:
#: clones, copies and files have none.
_DIVERGENCES: WeakKeyDictionary[DivergenceKernel, Floats] = WeakKeyDictionary()


class ExponentialKernel(Kernel):
    """k(X, Y) = exp(−β·d(X, Y)): what kernels of a divergence share.

    Attributes
    ----------
    beta_
    """

    metric: str | Divergence
    n_jobs: int | None
    beta_: float
    _atoms: PreparedSet
    _dictionary: FloatArray
    _stored = holds("_dictionary beta_ gram_", _atoms=PreparedFrom("_dictionary", PreparedSet))

    def _keep(self, atoms: PreparedSet) -> None:
        """Keep the dictionary."""
        self._atoms, self._dictionary = atoms, atoms.matrices
        self.n_features_in_ = atoms.matrices.shape[-1]

    def _divergences_within(self, D: FloatArray) -> FloatArray:
        """Keep the dictionary, and return d(D_i, D_j)."""
        divergence = over(symmetric_divergence(self.metric), D)
        # In single precision the Gram matrix of a definite kernel might be indefinite.
        self._keep(divergence.prepare(as_double(D)))
        return divergence.pairwise(self._atoms, n_jobs=self.n_jobs)

    def _beside(self, X: FloatArray) -> tuple[Divergence, PreparedSet, PreparedSet]:
        """Return the divergence, and the matrices X and the atoms, prepared for it."""
        divergence, atoms = get_divergence(self.metric), self._atoms
        D = as_double(self._dictionary)
        if D is not self._dictionary:  # saved before kernels were in double precision
            atoms = over(divergence, D).prepare(D)
        return beside(divergence, X, atoms)

    def _divergences_to(self, X: FloatArray) -> FloatArray:
        """Return d(X_i, D_j)."""
        divergence, queries, atoms = self._beside(X)
        return np.asarray(divergence.pairwise(queries, atoms, n_jobs=self.n_jobs), np.float64)

    def vjp(self, X: FloatArray, weights: Floats) -> Floats:
        """Return Σ_j w_ij ∂k(X_i, D_j)/∂X_i; see `Kernel.vjp`."""
        divergence, queries, atoms = self._beside(X)
        d = np.asarray(divergence.pairwise(queries, atoms, n_jobs=self.n_jobs), np.float64)
        slopes = self._slopes(d, weights)
        G, _ = divergence.vjp(queries, atoms, slopes, both=False, n_jobs=self.n_jobs)
        return G if is_complex(X) else np.asarray(G.real)

    def _slopes(self, divergences: Floats, weights: Floats) -> Floats:
        """Return the gradient of Σ_j w_ij k(X_i, D_j) in the divergences d(X_i, D_j)."""
        return np.asarray(-self.beta_ * kernel_values(divergences, self.beta_) * weights)

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return k(X_i, D_j) of matrices X that `check_spd` has checked."""
        return kernel_in_place(self._divergences_to(X), self.beta_)


@allow.with_parameters
class DivergenceKernel(ExponentialKernel):
    """The kernel of a divergence over a dictionary, with a Gram matrix that is positive semidefinite.

    k(X, Y) = exp(−β·d(X, Y)) over a dictionary D of SPD matrices.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is the reciprocal of the median divergence between two matrices of the
        dictionary. A number that is given is respected.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `correct_gram`.

    Attributes
    ----------
    beta_
    gram_ : ndarray of shape (N, N)
        k(D_i, D_j), corrected if need be.
    min_eigenvalue_, max_eigenvalue_ : float
        The extreme eigenvalues of the Gram matrix before any correction.
    corrected_ : bool
        Whether the Gram matrix was indefinite and has been corrected.
    n_features_in_

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

    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    correction: str = allow.parameter(CORRECTION, default="clip")
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)

    _stored = holds(_correction=Part(CorrectedGram))

    def fit_checked(self, D: FloatArray) -> Self:
        """Return the kernel, fitted to matrices D that `check_spd` has checked."""
        return self._fit_divergences(self._divergences_within(D))

    def fit_changed(self, other: Kernel, kept: Indices, D: FloatArray) -> Self:
        """Return the kernel, fitted to D, which begins with some atoms of another kernel.

        If that has the same divergence, only the values of the other matrices are computed, in O(N) for one. All
        are kept for the next time.

        Parameters
        ----------
        other : Kernel
            The other kernel, fitted.
        kept : ndarray of int of shape (k,)
            Which of its atoms D_1 … D_k are.
        D : ndarray of shape (N, n, n)
            Matrices that `check_spd` has checked.

        Returns
        -------
        DivergenceKernel
            It is what `fit` makes of it: to the last bit for Stein's divergence, whose values do not depend on the
            other matrices of a set, and up to rounding for others.
        """
        divergence = symmetric_divergence(self.metric)
        if not isinstance(other, DivergenceKernel) or not same_divergence(
            divergence, get_divergence(other.metric)
        ):
            return self.fit_checked(D)
        known = _DIVERGENCES.get(other)
        if known is None:
            known = clone(other)._divergences_within(other._dictionary)
        k, D = len(kept), as_double(D)
        divergence = over(divergence, D)
        new = divergence.prepare(D[k:])
        same = other._dictionary.dtype == D.dtype
        self._keep(divergence.joined(other._atoms, kept, new) if same else divergence.prepare(D))
        among = grown(divergence, known[np.ix_(kept, kept)], new, self._atoms, self.n_jobs)
        _DIVERGENCES[self] = among
        return self._fit_divergences(among.copy())

    def _fit_divergences(self, divergences: FloatArray) -> Self:
        """Find β and the Gram matrix, in the place of the divergences between the atoms."""
        self.beta_ = choose_beta(self.beta, divergences)
        gram = kernel_in_place(divergences, self.beta_)
        correction = definite_gram(gram) or correct_gram(gram, self.correction)
        if correction.indefinite:
            warn_user(
                f"The {get_divergence(self.metric).name} kernel at beta={self.beta_:.3g} is indefinite on these "
                f"matrices (least eigenvalue {correction.min_eigenvalue:.3g}, greatest "
                f"{correction.max_eigenvalue:.3g}): its Gram matrix was corrected by {self.correction!r}.",
                IndefiniteKernelWarning,
            )
        self._correction = correction
        self.gram_ = correction.gram
        self.corrected_ = correction.indefinite
        return self

    @property
    def min_eigenvalue_(self) -> float:
        """The least eigenvalue of the Gram matrix before any correction."""
        return self._correction.eigenvalues()[0]

    @property
    def max_eigenvalue_(self) -> float:
        """The greatest one."""
        return self._correction.eigenvalues()[1]

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return `cross` of matrices X that `check_spd` has checked."""
        return self._correction.transform(super().cross_checked(X))

    def _slopes(self, divergences: Floats, weights: Floats) -> Floats:
        return super()._slopes(divergences, self._correction.transform(weights))  # its own adjoint


@allow.with_parameters
class RidgeKernel(ExponentialKernel):
    """k(X, Y) = exp(−β·d(X, Y)) over a dictionary, with K + μI instead of its Gram matrix.

    Parameters
    ----------
    beta : float, default=1.0
        The β of the kernel.
    ridge : float, default=0.0
        The μ that was fixed for learning; zero changes nothing.
    """

    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float = allow.parameter(allow.real(above=0), default=1.0)
    ridge: float = allow.parameter(allow.real(0), default=0.0)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)

    _stored = part()

    def fit_checked(self, D: FloatArray) -> Self:
        """Compute K + μI for matrices that `check_spd` has checked."""
        self.beta_ = float(self.beta)
        self.gram_ = kernel_in_place(self._divergences_within(D), self.beta_)
        np.fill_diagonal(self.gram_, 1.0 + self.ridge)
        self.corrected_ = self.ridge > 0
        return self


def grown(
    divergence: Divergence,
    known: FloatArray,
    new: PreparedSet,
    every: PreparedSet,
    n_jobs: int | None = None,
) -> Floats:
    """Return the divergences (N, N) of a set, of which those of the first matrices are known, and the rest is new."""
    k, count = len(known), len(every)
    among = np.empty((count, count))
    among[:k, :k] = known
    if k < count:
        among[k:] = divergence.pairwise(new, every, n_jobs=n_jobs)
        among[:k, k:] = among[k:, :k].T
        among[k:, k:] = divergence.pairwise(new)  # with zeros on its diagonal
    return among
