"""Squared Euclidean distances of vectors that stand for matrices: all pairs, means and gradients."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from spdatoms._utils.products import row_products
from spdatoms._utils.threads import block_slices, effective_n_jobs, run_blocks
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.divergences._products import (
    overflow_is_checked,
    rounded,
    rows_at_once,
    shared_rows,
    too_small,
)
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.geometry.hermitian import real_type
from spdatoms.geometry.spectral import LARGEST_IN_LANES, as_stack
from spdatoms.native.elementwise import mirror, settle_squares

#: Bytes of a block of the result that is computed apart from it.
_BLOCK_BYTES = 8 << 20
#: Bytes of matrices, some copies of which a cache of the second level holds.
_CACHED_BYTES = 256 << 10
#: Matrices whose half-vectors are found at a time, in bytes of input.
_PREPARE_BYTES = 4 << 20
#: The same where threads share them, in units of n³.
_SHARED_WORK = 4_000_000


@dataclass
class VectorSet(PreparedSet):
    """Vectors of real numbers that stand for the matrices."""

    vectors: Floats

    @cached_property
    def centred(self) -> tuple[Floats, Floats, Floats]:
        """Their mean, and the vectors minus it as columns (k, N) with their squared norms (N,)."""
        with overflow_is_checked():
            origin = self.vectors.mean(axis=0)
            others = self.vectors - origin
            squares = np.einsum("ij,ij->i", others, others)
        return origin, np.ascontiguousarray(others.T), squares


class SquaredDistance(Divergence):
    """A squared Euclidean distance of the vectors that `prepare` makes of matrices."""

    closed_form: ClassVar[bool] = True

    @abstractmethod
    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> VectorSet:
        """Return the vectors of matrices."""

    def joined(self, X: VectorSet, rows: Indices, Y: VectorSet) -> VectorSet:
        """Return the sets as one, with the vectors that they have."""
        matrices = np.concatenate([X.matrices[rows], Y.matrices])
        return VectorSet(matrices, np.concatenate([X.vectors[rows], Y.vectors]))

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return True: it is a Gaussian kernel."""
        return beta > 0

    def pairwise(
        self, X: VectorSet, Y: VectorSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the squared distances of all pairs."""
        return squared_distances(X, Y, real_type(X.matrices.dtype), n_jobs)

    def paired(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return the squared distances of pairs."""
        differences = self.prepare(X).vectors - self.prepare(Y).vectors
        return squared_norms(differences, real_type(X.dtype))

    @abstractmethod
    def from_vector(self, vector: Floats, current: Array, definite: bool = True) -> Array:
        """Return the matrix of a vector.

        Parameters
        ----------
        vector : ndarray of shape (k,)
            A mean of vectors that `prepare` makes.
        current : ndarray of shape (n, n)
            Any matrix, complex if the result is to be.
        definite : bool, default=True
            Whether it is known to lie in the cone; otherwise it is projected onto it.

        Returns
        -------
        ndarray of shape (n, n)
        """

    def centre(self, Z: VectorSet, weights: Floats, current: Array) -> Array:
        """Return the matrix of the mean Σ w_i v_i / Σ w_i of vectors, the stationary point."""
        mean = self.centre_term(Z, weights, current) / weights.sum()
        return self.from_vector(mean, current, definite=not (weights < 0).any())

    def distances_and_centre(
        self, Z: VectorSet, weights: Floats, current: Array, least: float
    ) -> tuple[Floats, Array]:
        """Return ‖v_i − u‖, where u is the vector of C, and the matrix of the mean with the weights w/distance."""
        differences = Z.vectors - self.prepare(current[None]).vectors
        distances = np.sqrt(squared_norms(differences, differences.dtype))
        return distances, self.centre(Z, weights / np.maximum(distances, least), current)

    def centre_term(self, Z: VectorSet, weights: Floats, current: Array) -> Floats:
        """Return Σ w_i v_i over a part of the data."""
        return np.asarray(weights @ Z.vectors)

    def centre_from_terms(self, terms: Floats, total: float, current: Array) -> Array:
        """Return the matrix of Σ w_i v_i / Σ w_i."""
        return self.from_vector(terms / total, current)

    @abstractmethod
    def pulled_back(self, X: FloatArray, slopes: Floats) -> Floats:
        """Return the gradients in X_i (m, n, n) of slopes_i · v_i, v_i being the vector of X_i."""

    def gradient(self, X: FloatArray, Y: FloatArray) -> Floats:
        """Return ∂d(X_i, Y_i)/∂X_i, what 2 (v_i − u_i) is pulled back to, for the vectors v and u of X and Y."""
        X = as_stack(X)
        slopes = 2.0 * (self.prepare(X).vectors - self.prepare(Y).vectors)
        return self.pulled_back(np.broadcast_to(X, Y.shape), slopes)

    def _first_sums(
        self, X: VectorSet, Y: VectorSet, weights: Floats, n_jobs: int | None
    ) -> Floats:
        return self._summed_slopes(X, Y, weights, Y.vectors.mean(axis=0))

    def _second_sums(
        self, X: VectorSet, Y: VectorSet, weights: Floats, n_jobs: int | None
    ) -> Floats:
        return self._summed_slopes(Y, X, weights.T, Y.vectors.mean(axis=0))

    def _summed_slopes(self, X: VectorSet, Y: VectorSet, weights: Floats, origin: Floats) -> Floats:
        """Return 2 Σ_j w_ij (v_i − u_j) pulled back, for the vectors v and u of X and Y, less an origin near them."""
        v, u = X.vectors - origin, Y.vectors - origin
        slopes = 2.0 * (weights.sum(axis=1)[:, None] * v - weights @ u)
        matrices = X.matrices
        out = np.empty(matrices.shape, np.result_type(matrices, np.float64))
        # As many matrices at a time as the cache holds with what is computed of them.
        for part in block_slices(len(X), max(1, _CACHED_BYTES // max(1, matrices[:1].nbytes))):
            out[part] = self.pulled_back(matrices[part], slopes[part])
        return out


class HalfVectorDistance(SquaredDistance):
    """A squared distance ‖f(X) − f(Y)‖²_F of functions of matrices."""

    def prepare(self, X: FloatArray, n_jobs: int | None = None) -> VectorSet:
        """Return the half-vectors of f(X_i), in double precision."""
        n = X.shape[-1]
        half = np.empty((len(X), n * (n + 1) // 2))

        def write(part: slice) -> None:
            self.write_half_vectors(X[part], half[part], part.start)

        shared = effective_n_jobs(n_jobs) > 1
        block = _SHARED_WORK // n**3 if shared else _PREPARE_BYTES // (8 * n * n)
        run_blocks(write, len(X), block, n_jobs, uses_blas=n > LARGEST_IN_LANES)
        return VectorSet(X, half)

    @abstractmethod
    def write_half_vectors(self, X: FloatArray, out: Floats, first: int) -> None:
        """Write the half-vectors of f(X_i) to ``out``; errors count the matrices from ``first``."""


def squared_norms(differences: Floats, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return ‖x_i‖² of differences x_i in this precision; one that it cannot hold is an error."""
    with overflow_is_checked():
        squares = np.einsum("ij,ij->i", differences, differences)
    if differences[squares == 0.0].any():
        raise too_small(dtype)
    return rounded(squares, dtype)


def squared_distances(
    X: VectorSet, Y: VectorSet | None, dtype: np.dtype[np.floating], n_jobs: int | None
) -> FloatArray:
    """Return ‖x_i − y_j‖² for all pairs of vectors (all pairs of those of X without Y) in this precision.

    They are centred first: where all lie far from the origin, as logarithms of tiny matrices
    do, ‖x‖² + ‖y‖² − 2x·y would cancel what it is asked for. Where it still does, vectors are subtracted.
    """
    other = X if Y is None else Y
    A, B = X.vectors, other.vectors
    origin, columns, squares_y = other.centred
    with overflow_is_checked():
        centred = A - origin
        squares = np.einsum("ij,ij->i", centred, centred)
    out = np.empty((len(A), len(B)))

    def compute(rows: slice) -> None:
        with overflow_is_checked():
            row_products(centred[rows], columns, out[rows])
        settle_squares(out[rows], squares[rows], squares_y, A[rows], B)

    def compute_half(rows: slice) -> None:
        right = slice(rows.start, None)
        with overflow_is_checked():
            block = centred[rows] @ centred[right].T
        settle_squares(block, squares[rows], squares[right], A[rows], A[right])
        out[rows, right] = block
        mirror(out, rows.start, rows.stop)

    if Y is None:
        at_once = min(rows_at_once(A.size), max(1, _BLOCK_BYTES // (8 * len(A))))
        run_blocks(compute_half, len(A), at_once, n_jobs)
    else:
        run_blocks(compute, len(A), shared_rows(len(A), B.size, n_jobs), n_jobs)
    return rounded(out, dtype)
