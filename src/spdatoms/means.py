"""`mean`: the centre of SPD matrices under any divergence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms.divergences import Divergence, Jeffrey, get_divergence
from spdatoms.geometry import geodesic
from spdatoms.validation import FloatArray, check_spd


def mean(
    X: ArrayLike,
    metric: str | Divergence = "stein",
    sample_weight: ArrayLike | None = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> FloatArray:
    """Return the C that minimises Σ_i w_i d(X_i, C).

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices.
    metric : str or Divergence
        As in `pairwise_divergence`. Of Burg's divergence it is the right-sided mean, which is the
        arithmetic one; ``Burg(side="left")`` gives the harmonic mean.
    sample_weight : array-like of shape (m,), optional
        The weights w, not negative and not all zero. They need not sum to 1.
    tol : float
        An iterative mean (stein, riemann) is found when a step changes it by less than this
        relative to itself, as ‖C^-½ ΔC C^-½‖_F / √n. Scale does not matter.
    max_iter : int
        The most steps; if they do not suffice there is a `ConvergenceWarning`.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import mean
    >>> X = np.array([[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    >>> mean(X, metric="jeffrey").round(6)
    array([[2., 0.],
           [0., 1.]])
    """
    divergence = get_divergence(metric)
    X = check_spd(X)
    weights = check_weights(sample_weight, len(X))
    used = weights > 0
    Z = X[used].astype(np.float64)
    C, last_change = stationary_point(divergence, Z, weights[used], tol, max_iter)
    if last_change > tol:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"The {divergence.name} mean did not converge in {max_iter} steps: the last one changed "
            f"it by {last_change:.1e}, tol is {tol:.1e}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return C.astype(X.dtype)


def check_weights(sample_weight: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """Return weights that sum to 1."""
    if sample_weight is None:
        return np.full(count, 1.0 / count)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have the shape ({count},), got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere.")
    # By the greatest first: the sum of huge weights overflows.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def stationary_point(
    divergence: Divergence,
    Z: NDArray[np.float64],
    weights: NDArray[np.float64],
    tol: float,
    max_iter: int,
    start: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Return the weighted centre of Z (weights sum to 1) and the size of the last step to it."""
    if len(Z) == 1:
        return Z[0], 0.0
    if start is None:
        jeffrey = Jeffrey()
        start = jeffrey.centre(jeffrey.prepare(Z), weights, Z[0])
    if divergence.closed_form:
        return divergence.centre(divergence.prepare(Z), weights, start), 0.0
    return _iterate(divergence, divergence.prepare(Z), weights, start, tol, max_iter)


def _iterate(
    divergence: Divergence,
    Z: Any,
    weights: NDArray[np.float64],
    C: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> tuple[NDArray[np.float64], float]:
    """Repeat `centre` until it stands still, with shorter steps where it overshoots."""
    step, previous = 1.0, np.inf
    change = np.inf
    for _ in range(max_iter):
        proposal = divergence.centre(Z, weights, C)
        change = relative_change(C, proposal)
        if change <= tol:
            return proposal, change
        if change > 0.9 * previous:
            if change < 1e-6 and change > 0.99 * previous:
                return C, 0.0  # as still as rounding lets it be
            step *= 0.5
        C = proposal if step == 1.0 else np.asarray(geodesic(C, proposal, step))
        previous = change
    return C, change


def relative_change(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return ‖L⁻¹ (new − old) L⁻ᵀ‖_F / √n with old = L Lᵀ, which congruence does not change."""
    L = np.linalg.cholesky(old)
    half = np.linalg.solve(L, new - old)
    return float(np.linalg.norm(np.linalg.solve(L, half.T)) / np.sqrt(len(old)))
