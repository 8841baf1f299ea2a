"""min_y ‖Σ_j y_j B_j‖² + α‖y‖₁ over Σ_j y_j = 1, through the kernel Lasso.

With Q = (⟨B_i, B_j⟩) and any ρ > 0 the solution is that of the Lasso with the Gram matrix Q + ρ11ᵀ and
the cross values ρs·1 for the right s: its optimality conditions are those of the constrained problem with
the multiplier 2ρ(1 − s). The method of multipliers finds s in a few rounds, each from the code before.
"""

from __future__ import annotations

import numpy as np

from spdatoms._compiled.feature_sign import REPORT, SOLVED, code_block
from spdatoms._utils.typing import Floats
from spdatoms.baselines.scores import penalties
from spdatoms.coding import AtomLengths
from spdatoms.lasso.units import atom_scales

#: ρ, as a multiple of the largest squared norm: each round divides the error of Σ y by about this.
_RHO = 100.0
_ROUNDS = 60


def affine_code(
    B: Floats, alpha: float, tol: float, weights: Floats | None = None
) -> tuple[Floats, float, float]:
    """Return the code over the rows of B (N, p), its objective and its relative KKT residual.

    The residual is the largest violation of 2(Qy)_j + α sign(y_j) = ν, or |2(Qy)_j − ν| ≤ α where
    y_j = 0, over the larger of max_j Q_jj and α. With weights w of the atoms, α is α/√w_j for each of them.
    """
    Q = B @ B.T
    scale = max(float(Q.diagonal().max()), alpha, np.finfo(np.float64).tiny)
    rho = _RHO * scale
    atoms = AtomLengths(weights)
    gram = atoms.lengthened_gram(Q + rho)
    scales = atom_scales(np.full(len(B), float(gram.diagonal().max())), surely_definite=True)
    codes, report = np.zeros((1, len(B))), np.zeros((1, REPORT))
    nobody, half = np.full(1, -1), np.full(1, 0.5 * alpha)
    allowed = np.full(1, 0.01 * tol * scale * scales.inverse[0])
    target, before = 1.0, np.inf
    for _ in range(_ROUNDS):
        cross = atoms.lengthened(np.full((1, len(B)), rho * target))
        if (
            code_block(gram, cross, half, allowed, False, 500, scales, nobody, True, codes, report)
            != SOLVED
        ):
            break
        y = atoms.lengthened(codes)[0]
        error = 1.0 - y.sum()
        # An error that does not shrink any more is one of rounding.
        if abs(error) <= 1e-14 * np.abs(y).sum() or abs(error) > 0.5 * before:
            break
        target, before = target + error, abs(error)
    y = atoms.lengthened(codes)[0]
    y = y / y.sum()
    gradient = 2.0 * (Q @ y)
    alphas = penalties(alpha, weights)
    objective = float(y @ Q @ y + (alphas * np.abs(y)).sum())
    return y, objective, _violation(gradient, y, alphas) / scale


def _violation(gradient: Floats, y: Floats, alpha: float | Floats) -> float:
    """Return the least over ν of the largest violation: half the gap between the bounds of ν."""
    lower = np.where(y > 0, gradient + alpha, gradient - alpha)
    upper = np.where(y < 0, gradient - alpha, gradient + alpha)
    return max(0.0, 0.5 * float(lower.max() - upper.min()))
