"""What the modules for torch and JAX share: values and vector–Jacobian products on NumPy arrays, and the functions.

The functions are defined over three that each module has for its own arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.paired import divergence
from spdatoms.divergences.pairwise import prepared_sets
from spdatoms.lasso import sparse_code
from spdatoms.lasso.gradients import code_vjp, gram_vjp

_Function = Callable[..., Any]
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


def functions(
    module: str, all_pairs: _Function, paired: _Function, coded: _Function, exp: _Function
) -> tuple[_Function, _Function, _Function, _Function]:
    """Return `pairwise_divergence`, `divergence`, `kernel` and `sparse_code` of a module.

    They take arrays of its library. Their gradients are those of ``all_pairs(X, Y, metric, n_jobs)``,
    ``paired(A, B, metric)``, ``coded(gram, cross, alpha, ridge, options)`` and ``exp``.
    """

    def pairwise_divergence(
        X: Any, Y: Any = None, metric: str | Divergence = "stein", n_jobs: int | None = None
    ) -> Any:
        """Return d(X_i, Y_j) of all pairs of matrices, with gradients in both.

        Parameters
        ----------
        X : array of shape (m, n, n)
            SPD matrices, or complex Hermitian positive definite ones.
        Y : array of shape (N, n, n), default=None
            SPD matrices. Without it the pairs are those within X.
        metric : str or Divergence, default="stein"
            As in `spdatoms.pairwise_divergence`.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        array of shape (m, N)
            In single precision if both sets are, else in double.
        """
        return all_pairs(X, Y, metric, n_jobs)

    def divergence(A: Any, B: Any, metric: str | Divergence = "stein") -> Any:
        """Return d(A, B) of matrices that belong together, with gradients in both; leading dimensions are broadcast.

        Parameters
        ----------
        A, B : array of shape (..., n, n)
            SPD matrices, or complex Hermitian positive definite ones.
        metric : str or Divergence, default="stein"
            As in `spdatoms.divergence`.

        Returns
        -------
        array of shape (...)
        """
        return paired(A, B, metric)

    def kernel(
        X: Any,
        Y: Any = None,
        beta: Any = 1.0,
        metric: str | Divergence = "stein",
        n_jobs: int | None = None,
    ) -> Any:
        """Return exp(−β·d(X_i, Y_j)) of all pairs of matrices, with gradients in both and in β.

        Parameters
        ----------
        X : array of shape (m, n, n)
            SPD matrices.
        Y : array of shape (N, n, n), default=None
            SPD matrices. Without it the pairs are those within X.
        beta : float or array, default=1.0
            The β of the kernel.
        metric : str or Divergence, default="stein"
            As in `pairwise_divergence`.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        array of shape (m, N)
        """
        return exp(-beta * pairwise_divergence(X, Y, metric, n_jobs))

    def sparse_code(
        gram: Any,
        cross: Any,
        alpha: Any,
        *,
        ridge: float = 0.0,
        positive: bool = False,
        tol: float = 1e-8,
        max_rounds: int = 500,
        check_gram: bool = True,
        n_jobs: int | None = None,
    ) -> Any:
        """Return the sparse codes of queries, with gradients in the kernel values and in α.

        min_y k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖². Gradients are those of the active set, the entries that are
        not zero and meet their optimality condition. At a kink, where this set is about to change, what is zero
        stays zero.

        Parameters
        ----------
        gram : array of shape (n_atoms, n_atoms)
            K, the kernel between the atoms.
        cross : array of shape (n_queries, n_atoms)
            k, the kernel between each query and the atoms.
        alpha : float or array of shape () or (n_queries,)
            The penalty of ‖y‖₁, for all queries or for each.
        ridge : float, default=0.0
            The penalty ρ of ‖y‖².
        positive : bool, default=False
            Ask for y ≥ 0.
        tol, max_rounds, check_gram, n_jobs
            As in `spdatoms.sparse_code`.

        Returns
        -------
        array of shape (n_queries, n_atoms)
        """
        options = (
            ("positive", positive),
            ("tol", tol),
            ("max_rounds", max_rounds),
            ("check_gram", check_gram),
            ("n_jobs", n_jobs),
        )
        return coded(gram, cross, alpha, ridge, options)

    found = pairwise_divergence, divergence, kernel, sparse_code
    for function in found:  # as if they were written in the module, so that they can be pickled
        function.__module__, function.__qualname__ = module, function.__name__
    return found
