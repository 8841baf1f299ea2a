"""The functions that the modules for torch and JAX have in common, over three that each defines for its own arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spdatoms.divergences import Divergence

_Function = Callable[..., Any]


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
