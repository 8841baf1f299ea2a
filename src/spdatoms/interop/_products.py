"""Values and vector–Jacobian products on NumPy arrays: what the gradients of torch and JAX share."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.paired import divergence
from spdatoms.divergences.pairwise import prepared_sets
from spdatoms.lasso import sparse_code
from spdatoms.lasso.gram_coder import code_vjp, gram_vjp

#: Which of two gradients are wanted.
Wanted = tuple[bool, bool]


class AllPairs:
    """d(X_i, Y_j) for all pairs, and Σ w_ij d(X_i, Y_j) as a function of the matrices.

    Parameters
    ----------
    X, Y : ndarray of shape (m, n, n) and (N, n, n)
        The matrices; without Y the pairs are those within X.
    metric : str or Divergence
        The divergence.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(
        self, X: Array, Y: Array | None, metric: str | Divergence, n_jobs: int | None
    ) -> None:
        self.divergence, self.X, self.Y = prepared_sets(X, Y, metric)
        self.n_jobs = n_jobs

    def values(self) -> FloatArray:
        """Return the divergences."""
        return self.divergence.pairwise(self.X, self.Y, n_jobs=self.n_jobs)

    def vjp(self, weights: Floats, wanted: Wanted = (True, True)) -> tuple[Any, Any]:
        """Return the gradients in X and in Y of Σ w_ij d(X_i, Y_j), None for one that is not wanted."""
        weights = np.ascontiguousarray(weights, np.float64)
        divergence, symmetric = self.divergence, self.divergence.symmetric
        if self.Y is None:
            one = symmetric  # then d(X_i, X_j) and d(X_j, X_i) have the same gradient in X_i
            first, second = divergence.vjp(
                *(self.X, self.X, weights + weights.T if one else weights),
                both=not one,
                n_jobs=self.n_jobs,
            )
            return first if second is None else first + second, None
        if wanted == (False, True) and symmetric:
            second, _ = divergence.vjp(self.Y, self.X, weights.T, both=False, n_jobs=self.n_jobs)
            return None, second
        return divergence.vjp(self.X, self.Y, weights, both=wanted[1], n_jobs=self.n_jobs)


class Paired:
    """d(A, B) of matrices that belong together, broadcast, and Σ w d(A, B) as a function of the matrices.

    Parameters
    ----------
    A, B : ndarray of shape (..., n, n)
        The matrices.
    metric : str or Divergence
        The divergence.
    """

    def __init__(self, A: Array, B: Array, metric: str | Divergence) -> None:
        self.A, self.B, self.metric = A, B, metric

    def values(self) -> FloatArray:
        """Return the divergences."""
        return np.asarray(divergence(self.A, self.B, self.metric))

    def vjp(self, weights: Floats, _wanted: Wanted = (True, True)) -> tuple[Array, Array]:
        """Return the gradients in A and in B of Σ w d(A, B), for matrices whose divergences were values before.

        Both come at once, whatever is wanted.
        """
        dtype = np.result_type(self.A, self.B, np.float64)
        shape = np.broadcast_shapes(self.A.shape, self.B.shape)
        stacks = (
            np.broadcast_to(Z, shape).astype(dtype).reshape(-1, *shape[-2:])
            for Z in (self.A, self.B)
        )
        found = over(get_divergence(self.metric), dtype).gradients(*stacks)
        weights = np.reshape(weights, (-1, 1, 1))
        first, second = ((weights * G).reshape(shape) for G in found)
        return _summed(first, self.A.shape), _summed(second, self.B.shape)


def _summed(gradients: Array, shape: tuple[int, ...]) -> Array:
    """Return sums over the axes along which matrices of this shape were broadcast."""
    gradients = gradients.sum(axis=tuple(range(gradients.ndim - len(shape))))
    stretched = tuple(k for k in range(len(shape) - 2) if shape[k] == 1)
    return np.asarray(gradients.sum(axis=stretched, keepdims=True))


class Coded:
    """Sparse codes Y over a Gram matrix, and Σ w·y as a function of K, k and α.

    Parameters
    ----------
    gram, cross : ndarray of shape (N, N) and (m, N)
        K and k.
    alpha : float or ndarray of shape (m,)
        α.
    ridge : float
        ρ.
    options : tuple of (str, value)
        Other arguments of `sparse_code`.
    """

    def __init__(
        self,
        gram: Floats,
        cross: Floats,
        alpha: Any,
        ridge: float,
        options: tuple[tuple[str, Any], ...],
    ) -> None:
        self.gram, self.cross, self.alpha, self.ridge = gram, cross, alpha, ridge
        self.options = dict(options)

    def values(self) -> Floats:
        """Return the codes."""
        return np.asarray(
            sparse_code(self.gram, self.cross, self.alpha, ridge=self.ridge, **self.options)
        )

    def vjp(self, codes: Floats, weights: Floats, wanted: tuple[bool, bool, bool]) -> list[Any]:
        """Return the gradients in K, k and α, None for one that is not wanted."""
        gram, cross, codes, weights = (
            np.ascontiguousarray(Z, np.float64) for Z in (self.gram, self.cross, codes, weights)
        )
        u = code_vjp(gram, cross, codes, self.alpha, self.ridge, weights)
        slopes = -0.5 * np.einsum("ij,ij->i", np.sign(codes), u)
        in_alpha = slopes if np.ndim(self.alpha) else slopes.sum()
        found = (gram_vjp(codes, u) if wanted[0] else None, u, in_alpha)
        return [one if want else None for one, want in zip(found, wanted, strict=True)]
