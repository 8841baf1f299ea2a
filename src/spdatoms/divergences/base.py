"""What every divergence offers: values for all pairs, gradients, and the centre of weighted matrices.

`pairwise` and `centre` are all that a new divergence must define. Everything else that k-means,
dictionary learning, streams and files want to know has a default here, which is safe and general. A
class overrides it if it knows better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.divergences.gradients import difference_gradient, summed_gradients
from spdatoms.geometry.functions import exp_map, log_map
from spdatoms.geometry.geodesics import whiten
from spdatoms.geometry.spectral import compose, symmetric_part

#: All pairs of so few are cheap where only those that belong together are wanted.
_PAIRS_AT_ONCE = 8
#: By what share of itself the variance of a centre shrinks at most in one step.
_LEAST_CHANGE = -0.99


@dataclass
class PreparedSet:
    """Matrices and, in subclasses, what a divergence has computed from them.

    Attributes
    ----------
    matrices : ndarray of shape (m, n, n)
        The matrices as they were given.
    """

    matrices: FloatArray

    @property
    def n(self) -> int:
        """The size n of the matrices."""
        return int(self.matrices.shape[-1])

    def __len__(self) -> int:
        return len(self.matrices)


class Divergence(AtomSums, ABC):
    """A measure d(X, Y) ≥ 0 of how far two SPD matrices are apart, zero only where they are equal.

    The methods trust their input, which `spdatoms.check_spd` has checked before. What a
    divergence needs to know about a set of matrices (inverses, logarithms, log-determinants) is
    computed once by `prepare`; `pairwise` and `centre` take the prepared sets.
    """

    #: The name in the registry.
    name: ClassVar[str]
    #: Whether d(X, Y) = d(Y, X).
    symmetric: ClassVar[bool] = True
    #: Whether d(AXAᵀ, AYAᵀ) = d(X, Y), so that the units of the variables do not matter.
    congruence_invariant: ClassVar[bool] = False
    #: Whether `centre` is the stationary point itself, rather than a step towards it.
    closed_form: ClassVar[bool] = False
    #: The distance to the stationary point, in steps of `centre`, if the matrices lie close together.
    relaxation: ClassVar[float] = 1.0
    #: Whether d is defined for semidefinite matrices, too.
    semidefinite: ClassVar[bool] = False
    #: What d is multiplied by if complex matrices are replaced by their real forms, see `Hermitian`.
    real_form_factor: ClassVar[float] = 2.0
    #: The number of the kernel of `checked_pairs` for pairs, if it has one.
    pair_kernel: ClassVar[int | None] = None
    #: From this size on `paired` takes complex matrices as they are; smaller ones are sooner done as real forms.
    complex_pairs_from: ClassVar[float] = np.inf
    #: Whether the methods take complex matrices as they are. It may be so only if `centre` has a closed form.
    native_complex: ClassVar[bool] = False

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> PreparedSet:
        """Return what the other methods need to know about matrices.

        An override takes ``n_jobs``, too, even if it does not use it.

        Parameters
        ----------
        X : ndarray of shape (m, n, n)
            The matrices.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        PreparedSet
            By default the matrices alone.
        """
        return PreparedSet(X)

    def joined(self, X: Any, rows: Indices, Y: Any) -> PreparedSet:
        """Return some matrices of one prepared set and all of another as one set.

        Parameters
        ----------
        X : PreparedSet
            A set.
        rows : ndarray of int of shape (k,)
            Which of its matrices.
        Y : PreparedSet
            Another set, of matrices of the same type.

        Returns
        -------
        PreparedSet
            By default they are prepared anew.
        """
        return self.prepare(np.concatenate([X.matrices[rows], Y.matrices]))

    def prepare_for_centre(self, X: FloatArray) -> PreparedSet:
        """Return what `centre` alone needs to know about matrices X (m, n, n); by default that of `prepare`."""
        return self.prepare(X)

    @abstractmethod
    def pairwise(self, X: Any, Y: Any | None = None, *, n_jobs: int | None = None) -> FloatArray:
        """Return d(X_i, Y_j) for all pairs of two prepared sets.

        Parameters
        ----------
        X : PreparedSet
            m matrices.
        Y : PreparedSet, default=None
            N matrices. Without them the pairs are those within X. Then, for a symmetric divergence,
            only half of them need be computed, and the diagonal is exactly zero.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        ndarray of shape (m, N)
        """

    @abstractmethod
    def centre(self, Z: Any, weights: Floats, current: Floats) -> Floats:
        """Return the C that makes Σ_i w_i d(Z_i, C) stationary, or a step from ``current`` to it.

        Parameters
        ----------
        Z : PreparedSet
            m matrices.
        weights : ndarray of shape (m,)
            The weights w, which sum to a positive number. Some of them may be negative: then the
            result is projected onto the cone.
        current : ndarray of shape (n, n)
            Where a step begins.

        Returns
        -------
        ndarray of shape (n, n)
        """

    def between(self, A: Floats, B: Floats, t: float) -> Floats | None:
        """Return the C that minimises (1 − t)·d(A, C) + t·d(B, C) if there is a formula for it, else None.

        Parameters
        ----------
        A, B : ndarray of shape (n, n)
            Two matrices.
        t : float
            The weight of B, from 0 to 1.

        Returns
        -------
        ndarray of shape (n, n) or None
            By default None.
        """
        return None

    def tangent(self, Z: Any, weights: Floats, current: Floats, L: Floats) -> Floats:
        """Return the V with which `centre` is L exp(V) Lᵀ, where L Lᵀ is ``current``.

        Parameters
        ----------
        Z, weights, current
            As in `centre`.
        L : ndarray of shape (n, n)
            The Cholesky factor of ``current``.

        Returns
        -------
        ndarray of shape (n, n)
        """
        change = whiten(L, self.centre(Z, weights, current) - current)
        eigenvalues, U = np.linalg.eigh(symmetric_part(change))
        return compose(U, np.log1p(np.maximum(eigenvalues, _LEAST_CHANGE)))

    def distances_and_centre(
        self, Z: Any, weights: Floats, current: Floats, least: float
    ) -> tuple[Floats, Floats]:
        """Return √d(Z_i, C) and `centre` of the weights w_i/√d(Z_i, C), a step towards the median.

        Parameters
        ----------
        Z : PreparedSet
            m matrices, from `prepare_for_centre`.
        weights : ndarray of shape (m,)
            The weights w, not negative.
        current : ndarray of shape (n, n)
            The point C.
        least : float
            What shorter distances count as in the weights.

        Returns
        -------
        tuple of ndarray of shape (m,) and ndarray of shape (n, n)
        """
        values = self.paired(Z.matrices, np.broadcast_to(current, Z.matrices.shape))
        distances = np.sqrt(np.maximum(np.asarray(values, np.float64), 0.0))
        shares = weights / np.maximum(distances, least)
        return distances, self.centre(Z, shares / shares.sum(), current)

    def centres(self, Z: Any, weights: scipy.sparse.csc_array, current: Floats) -> Floats:
        """Return `centre` for every column of weights.

        Parameters
        ----------
        Z : PreparedSet
            m matrices.
        weights : csc_array of shape (m, k)
            The weights, one column per centre.
        current : ndarray of shape (k, n, n)
            Where the steps begin.

        Returns
        -------
        ndarray of shape (k, n, n)
        """
        found = np.empty_like(current)
        for r, begin in enumerate(current):
            column = slice(weights.indptr[r], weights.indptr[r + 1])
            own = np.zeros(len(Z))
            own[weights.indices[column]] = weights.data[column]
            found[r] = self.centre(Z, own, begin)
        return found

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂X_i.

        By default it is found by central differences of `pairwise`, exact to some ten digits.

        Parameters
        ----------
        X : ndarray of shape (m, n, n) or (n, n)
            As many matrices as in Y, or one for all of them.
        Y : ndarray of shape (m, n, n)
            The other matrices.

        Returns
        -------
        ndarray of shape (m, n, n)
        """

        def pairwise(A: FloatArray, B: FloatArray) -> FloatArray:
            return self.pairwise(self.prepare(A), self.prepare(B))

        return difference_gradient(pairwise, X, Y)

    def vjp(
        self, X: Any, Y: Any, weights: Floats, *, both: bool = True, n_jobs: int | None = None
    ) -> tuple[Floats, Floats | None]:
        """Return Σ_j w_ij ∂d(X_i, Y_j)/∂X_i and Σ_i w_ij ∂d(X_i, Y_j)/∂Y_j: the vector–Jacobian product of `pairwise`.

        A gradient is the symmetric (or Hermitian) G with dd = Re tr(G dX). By default it is a sum of `gradient` over
        all pairs. Where d has a kink (Thompson's, if several eigenvalues are the greatest) it is the gradient of one
        of the smooth functions whose maximum d is.

        Parameters
        ----------
        X, Y : PreparedSet
            m and N matrices.
        weights : ndarray of shape (m, N)
            The weights w, of any sign.
        both : bool, default=True
            Whether the second sum is wanted.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        tuple of ndarray of shape (m, n, n) and ndarray of shape (N, n, n) or None
            In double precision.
        """
        first = self._first_sums(X, Y, weights, n_jobs)
        return first, self._second_sums(X, Y, weights, n_jobs) if both else None

    def _first_sums(self, X: Any, Y: Any, weights: Floats, n_jobs: int | None) -> Floats:
        """Return Σ_j w_ij ∂d(X_i, Y_j)/∂X_i."""
        return summed_gradients(self.gradient, X.matrices, Y.matrices, weights, n_jobs)

    def _second_sums(self, X: Any, Y: Any, weights: Floats, n_jobs: int | None) -> Floats:
        """Return Σ_i w_ij ∂d(X_i, Y_j)/∂Y_j."""
        if self.symmetric:
            return self._first_sums(Y, X, weights.T, n_jobs)
        return summed_gradients(self._second_gradient, Y.matrices, X.matrices, weights.T, n_jobs)

    def gradients(self, X: FloatArray, Y: FloatArray) -> tuple[Floats, Floats]:
        """Return ∂d(X_i, Y_i)/∂X_i and ∂d(X_i, Y_i)/∂Y_i.

        Parameters
        ----------
        X, Y : ndarray of shape (m, n, n)
            The matrices.

        Returns
        -------
        tuple of ndarray of shape (m, n, n)
        """
        second = self.gradient if self.symmetric else self._second_gradient
        return self.gradient(X, Y), second(Y, X)

    def _second_gradient(self, Y: FloatArray, X: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂Y_i, where one matrix Y may serve all X."""

        def pairwise(B: FloatArray, A: FloatArray) -> FloatArray:
            return self.pairwise(self.prepare(A), self.prepare(B)).T

        return difference_gradient(pairwise, Y, X)

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return d(X_i, Y_i) of matrices that belong together.

        By default these are diagonals of `pairwise`, for a few pairs at a time.

        Parameters
        ----------
        X, Y : ndarray of shape (m, n, n)
            The matrices, of the same type.

        Returns
        -------
        ndarray of shape (m,)
        """
        values = [
            np.diagonal(self.pairwise(self.prepare(X[part]), self.prepare(Y[part])))
            for part in block_slices(len(X), _PAIRS_AT_ONCE)
        ]
        return np.concatenate(values)

    def nearest(
        self, X: Any, Y: Any, k: int, *, n_jobs: int | None = None
    ) -> tuple[FloatArray, Indices]:
        """Return the k least of d(X_i, Y_j) for every i, and their j, the least first.

        Parameters
        ----------
        X, Y : PreparedSet
            What `prepare` returned for the matrices.
        k : int
            How many.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        tuple of ndarray of shape (m, k)
        """
        every = self.pairwise(X, Y, n_jobs=n_jobs)
        indices = np.argsort(every, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(every, indices, axis=1), indices

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return whether exp(−β·d) is positive definite on *every* set of n×n matrices.

        Parameters
        ----------
        beta : float
            The β of the kernel.
        n : int
            The size of the matrices.

        Returns
        -------
        bool
            By default False: nothing is promised that is not known.
        """
        return False

    def to_centres(self, X: Any, centres: Floats, n_jobs: int | None = None) -> FloatArray:
        """Return d(X_i, C_j) at [j, i].

        If d is not symmetric, the centre is the argument over which `centre` minimises.

        Parameters
        ----------
        X : PreparedSet
            m matrices.
        centres : ndarray of shape (k, n, n)
            The centres C.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        ndarray of shape (k, m)
        """
        if self.symmetric:
            return self.pairwise(self.prepare(centres), X, n_jobs=n_jobs)
        return np.ascontiguousarray(self.each_to_centres(X, centres, n_jobs).T)

    def each_to_centres(self, X: Any, centres: Floats, n_jobs: int | None = None) -> FloatArray:
        """Return d(X_i, C_j) at [i, j], each row to the last bit the same whatever the others are.

        Parameters
        ----------
        X, centres, n_jobs
            As in `to_centres`.

        Returns
        -------
        ndarray of shape (m, k)
        """
        return self.pairwise(X, self.prepare(centres), n_jobs=n_jobs)

    # --- the step of `centre` as a sum over parts of the data ------------------------------------------

    def centre_term(self, Z: Any, weights: Floats, current: Floats) -> Floats:
        """Return what a part of the data adds to the step of `centre`.

        By default it is the coordinates of the part's own step, times its weight.

        Parameters
        ----------
        Z : PreparedSet
            The part.
        weights : ndarray of shape (m,)
            The weights of its matrices, not negative.
        current : ndarray of shape (n, n)
            Where the step begins.

        Returns
        -------
        ndarray
            The terms of all parts are added.
        """
        total = float(weights.sum())
        if total == 0.0:
            return np.zeros_like(current)
        return total * self.coordinates(self.centre(Z, weights, current), current)

    def centre_from_terms(self, terms: Floats, total: float, current: Floats) -> Floats:
        """Return the step of `centre` over all parts.

        Parameters
        ----------
        terms : ndarray
            The sum of `centre_term` over the parts.
        total : float
            The sum of all weights.
        current : ndarray of shape (n, n)
            Where the step begins.

        Returns
        -------
        ndarray of shape (n, n)
        """
        return self.from_coordinates(terms / total, current)

    def coordinates(self, C: Floats, current: Floats) -> Floats:
        """Return coordinates in which the step over all data is the mean of the steps over its parts.

        By default they are tangent vectors of the affine-invariant metric. In these the mean is near
        the step over all data, if not equal to it.

        Parameters
        ----------
        C : ndarray of shape (n, n)
            An SPD matrix.
        current : ndarray of shape (n, n)
            Where the steps begin.

        Returns
        -------
        ndarray of shape (n, n)
        """
        return np.asarray(log_map(C, current))

    def from_coordinates(self, V: Floats, current: Floats) -> Floats:
        """Return the matrix that has these coordinates.

        Parameters
        ----------
        V : ndarray of shape (n, n)
            The coordinates.
        current : ndarray of shape (n, n)
            Where the steps begin.

        Returns
        -------
        ndarray of shape (n, n)
        """
        return np.asarray(exp_map(V, current))
