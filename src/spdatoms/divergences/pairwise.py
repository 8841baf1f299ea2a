"""`pairwise_divergence`: all pairs of one or two sets of SPD matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import METRIC, get_divergence
from spdatoms.geometry.hermitian import real_type
from spdatoms.geometry.spectral import as_matrices
from spdatoms.geometry.validation import check_semidefinite, check_spd, is_spd


@same_kind
@allow.checks(metric=METRIC, n_jobs=allow.N_JOBS, on_error=allow.choice("raise", "nan"))
def pairwise_divergence(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    metric: str | Divergence = "stein",
    n_jobs: int | None = None,
    *,
    on_error: str = "raise",
) -> FloatArray:
    """Return the divergences of all pairs of matrices.

    They are d(X_i, Y_j) for all i and j.

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices, or complex Hermitian positive definite ones. ``"euclid"`` and ``"poweuclid"`` take
        semidefinite ones, too.
    Y : array-like of shape (N, n, n), default=None
        SPD matrices. Without it the pairs are those within X; for a symmetric divergence only half
        of them are then computed.
    metric : str or Divergence, default="stein"
        ``"stein"``, ``"jeffrey"``, ``"burg"`` (which is not symmetric), or the *squared* distances
        ``"riemann"`` (affine-invariant), ``"logeuclid"``, ``"euclid"``, ``"logchol"`` (log-Cholesky), ``"chol"``
        (of Cholesky factors), ``"wasserstein"`` (Bures), ``"harmonic"`` (of inverses), ``"poweuclid"`` (of
        square roots; ``PowerEuclidean(p)`` of other powers) and ``"thompson"``. pyRiemann's ``"logdet"``
        means stein, ``"kullback_sym"`` jeffrey and ``"kullback"`` burg, but the values are the
        divergences, where pyRiemann gives √S, J and B/2 and distances that are not squared.
    n_jobs : int, default=None
        The number of threads, one if not given, all processors for -1. It does not change the
        result.
    on_error : {"raise", "nan"}, default="raise"
        Refuse matrices that are not SPD, or give their pairs the value NaN, so that a plot over a grid
        can mask them.

    Returns
    -------
    ndarray of shape (m, N)
        In single precision if both sets are, else in double.

    Notes
    -----
    Beside the result it needs one packed copy of the matrices and a few megabytes.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import pairwise_divergence
    >>> X = np.array([[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    >>> pairwise_divergence(X, metric="stein").round(4)
    array([[0.    , 0.2231],
           [0.2231, 0.    ]])
    """
    if on_error == "nan":
        return _with_nan(X, Y, metric, n_jobs)
    divergence, first, second = prepared_sets(X, Y, metric, n_jobs)
    return divergence.pairwise(first, second, n_jobs=n_jobs)


def prepared_sets(
    X: ArrayLike, Y: ArrayLike | None, metric: str | Divergence, n_jobs: int | None = None
) -> tuple[Divergence, PreparedSet, PreparedSet | None]:
    """Check the matrices, and return the divergence between them and both sets, prepared for it."""
    divergence = get_divergence(metric)
    check = check_semidefinite if divergence.semidefinite else check_spd
    X = check(X, name="X")
    if Y is None:
        divergence = over(divergence, X)
        return divergence, divergence.prepare(X, n_jobs), None
    Y = check(Y, name="Y")
    if X.shape[-1] != Y.shape[-1]:
        raise ValueError(
            f"X and Y must hold matrices of one size, got {X.shape[-1]}×{X.shape[-1]} and "
            f"{Y.shape[-1]}×{Y.shape[-1]}."
        )
    dtype = np.result_type(X, Y)
    divergence = over(divergence, dtype)
    first, second = (divergence.prepare(Z.astype(dtype, copy=False), n_jobs) for Z in (X, Y))
    return divergence, first, second


def _with_nan(
    X: ArrayLike, Y: ArrayLike | None, metric: str | Divergence, n_jobs: int | None
) -> FloatArray:
    """Return the divergences of the pairs of SPD matrices, and NaN for all others."""
    first = as_matrices(X, "X")
    second = first if Y is None else as_matrices(Y, "Y")
    rows, columns = is_spd(first), is_spd(second)
    out = np.full((len(first), len(second)), np.nan, real_type(first, second))
    if rows.any() and columns.any():
        other = None if Y is None else second[columns]
        out[np.ix_(rows, columns)] = pairwise_divergence(first[rows], other, metric, n_jobs)
    return out
