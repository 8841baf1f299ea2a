"""min_y ‖Σ_j y_j B_j‖² + α‖y‖₁ over Σ_j y_j = 1, through the kernel Lasso.

With Q = (⟨B_i, B_j⟩) and any ρ > 0 the solution is that of the Lasso with the Gram matrix Q + ρ11ᵀ and
the cross values ρs·1 for the right s: its optimality conditions are those of the constrained problem with
the multiplier 2ρ(1 − s). The method of multipliers finds s in a few rounds, each from the code before.
"""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.lasso.units import atom_scales
from spdatoms.native import kernel
from spdatoms.paper.baselines.atoms import penalties

_solve_affine = kernel("solve_affine", "DDDDDqqdddD")

#: ρ, as a multiple of the largest squared norm: each round divides the error of Σ y by about this.
_RHO = 100.0
#: The α from which on codes stay the same, as a multiple of the largest squared norm.
_LARGEST_ALPHA = 2.0


def affine_codes(
    B: Floats, alpha: float, tol: float, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return codes over the rows of every B (m, N, p), their objectives and their relative KKT residuals.

    The residual is the largest violation of 2(Qy)_j + α sign(y_j) = ν, or |2(Qy)_j − ν| ≤ α where
    y_j = 0, over the larger of max_j Q_jj and α, or over 2 max_j Q_jj if α is larger than that. With weights w of
    the atoms, α is α/√w_j for each of them. The residual is NaN if the code is not finite.

    From α = 2 max_j Q_jj on the code does not depend on α: then it has no negative entry, and |(Qy)_j| ≤ max_j Q_jj
    for such y. So a larger α, next to which Q would be lost, is replaced by this one, unless there are weights. It
    stays in the objective.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the residual tells
        y, residual = _solved(B, alpha, tol, weights)
    combined = y[:, None, :] @ B
    alphas = penalties(alpha, weights)
    objective = (combined[:, 0] ** 2).sum(axis=1) + (alphas * np.abs(y)).sum(axis=1)
    return y, objective, residual


def _solved(B: Floats, alpha: float, tol: float, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return codes and residuals, for an α of any size if there are no weights."""
    squares = np.einsum("mjp,mjp->mj", B, B)
    largest = squares.max(axis=1)
    beyond = alpha > _LARGEST_ALPHA * largest
    if weights is not None or not beyond.any():
        return _codes(B, squares, alpha, tol, weights)
    y, residual = np.empty(squares.shape), np.empty(len(B))
    within = ~beyond
    if within.any():
        y[within], residual[within] = _codes(B[within], squares[within], alpha, tol, None)
    # In units of the longest row all of these have the same α.
    units = np.where(largest > 0, largest, 1.0)[beyond, None]
    B = B[beyond] / np.sqrt(units)[..., None]
    y[beyond], residual[beyond] = _codes(B, squares[beyond] / units, _LARGEST_ALPHA, tol, None)
    return y, residual


def _codes(
    B: Floats, squares: Floats, alpha: float, tol: float, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return codes and residuals, which are exact if α is not large against the squares Q_jj."""
    least = max(alpha, float(np.finfo(np.float64).tiny))
    largest = squares.max(axis=1)
    scale = np.maximum(largest, least)
    rho = _RHO * scale
    lengths = np.ones(B.shape[1]) if weights is None else np.sqrt(weights)
    gram = _gram_with(rho, B, lengths)
    inverse_scale = 1.0 / np.sqrt(((squares + rho[:, None]) * lengths**2).max(axis=1))
    allowed = 0.01 * tol * scale * inverse_scale
    limits = atom_scales(np.ones(1), surely_definite=True).limits
    y = np.zeros(squares.shape)
    _solve_affine(gram, lengths, rho, allowed, inverse_scale, *y.shape, 0.5 * alpha, *limits, y)
    y *= lengths
    y /= y.sum(axis=1, keepdims=True)
    combined = y[:, None, :] @ B
    gradient = 2.0 * (combined @ B.swapaxes(1, 2))[:, 0]
    violation = _violation(gradient, y, penalties(alpha, weights))
    if weights is not None:  # α may be large, and what is lost in its rounding error is not known
        violation = np.maximum(violation, np.finfo(np.float64).eps * alpha)
    own = np.where(largest > 0, _LARGEST_ALPHA * largest, np.inf)
    return y, violation / np.minimum(scale, own)


def _gram_with(rho: Floats, B: Floats, lengths: Floats) -> Floats:
    """Return ℓ_i (Q_ij + ρ) ℓ_j, as products of the rows of B with one more column."""
    longer = np.empty((*B.shape[:2], B.shape[2] + 1))
    longer[:, :, :-1] = B
    longer[:, :, -1] = np.sqrt(rho)[:, None]
    longer *= lengths[:, None]
    return np.asarray(longer @ longer.swapaxes(1, 2))


def _violation(gradient: Floats, y: Floats, alpha: float | Floats) -> Floats:
    """Return the least over ν of the largest violation: half the gap between the bounds of ν."""
    lower = np.where(y > 0, gradient + alpha, gradient - alpha)
    upper = np.where(y < 0, gradient - alpha, gradient + alpha)
    return np.asarray(np.maximum(0.0, 0.5 * (lower.max(axis=1) - upper.min(axis=1))))
