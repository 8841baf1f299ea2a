"""How far each code can be from the optimum: optimality residual, duality gap, and a warning."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils.typing import Floats


@dataclass(frozen=True)
class Certificate:
    """How good each code is; every field has one entry per query.

    Attributes
    ----------
    kkt_residual : ndarray of float
        Largest violation of the optimality conditions, in the units of the gradient 2(Ky − k).
    duality_gap : ndarray of float
        Upper bound of the objective's distance from its minimum, from the feasible dual point along
        the residual. It needs a true ``query_norm``, and says nothing when alpha and ridge are 0.
    objective : ndarray of float
        k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖².
    n_nonzero : ndarray of int
        Size of the active set.
    rounds : ndarray of int
        Rounds of feature-sign search, each with one product with K, or solutions of
        (K + ρI)y = k where alpha is 0.
    converged : ndarray of bool
        Whether ``kkt_residual`` is within the tolerance.
    """

    kkt_residual: Floats
    duality_gap: Floats
    objective: Floats
    n_nonzero: NDArray[np.int64]
    rounds: NDArray[np.int64]
    converged: NDArray[np.bool_]


def certify(
    report: Floats,
    n_nonzero: NDArray[np.int64],
    alpha: Floats,
    query_norm: Floats,
    allowed: Floats,
    ridge: float = 0.0,
    n_atoms: int = 0,
) -> Certificate:
    """P(y) − D(u), with P = ‖x − Σ y_j φ_j‖² + α‖y‖₁ and D = ‖x‖² − ‖x − u‖² over |2⟨u, φ_j⟩| ≤ α.

    x and φ_j are the query and the atoms in the feature space of the kernel, with a coordinate √ρ of
    its own for each atom if there is a ridge; u is the best feasible multiple s of the residual
    x − Σ y_j φ_j. The dual of the elastic net gives another bound, ‖v‖²/ρ with the violations v of
    h_j = α sign(y_j)/2. The smaller of the two counts.

    Parameters
    ----------
    report : (m, 6)
        What the compiled solver says of each query.
    n_nonzero, alpha, query_norm, allowed : (m,)
        Support sizes, α, ‖x‖² and the violation that is allowed.
    ridge, n_atoms : float, int
        ρ and the number of atoms.
    """
    violation, linear, quadratic, norm, peak, rounds = report.T
    distance = query_norm - 2 * linear + quadratic
    objective = distance + alpha * norm
    feasible, best = np.full_like(alpha, np.inf), np.ones_like(alpha)
    np.divide(alpha, 2 * peak, out=feasible, where=2 * peak > alpha)
    np.divide(query_norm - linear, distance, out=best, where=distance > 0)
    s = np.clip(best, 0.0, feasible)
    to_dual = (1 - s) ** 2 * query_norm + 2 * s * (1 - s) * linear + s**2 * quadratic
    gap = np.maximum(objective - (query_norm - to_dual), 0.0)
    if ridge > 0:
        gap = np.minimum(gap, n_atoms * (violation / np.sqrt(ridge)) ** 2)
    return Certificate(
        kkt_residual=2 * violation,
        duality_gap=gap,
        objective=objective,
        n_nonzero=n_nonzero,
        rounds=rounds.astype(np.int64),
        converged=(2 * violation <= allowed) & np.isfinite(objective),
    )


def warn_if_short(
    certificate: Certificate, allowed: Floats, max_rounds: int, stacklevel: int
) -> None:
    """Warn how many codes are not optimal to the tolerance, and how far the worst is."""
    short = np.flatnonzero(~certificate.converged)
    if len(short) == 0:
        return
    worst = short[(certificate.kkt_residual[short] - allowed[short]).argmax()]
    warnings.warn(
        f"{len(short)} of {len(allowed)} codes violate the optimality conditions by more than the "
        f"tolerance, query {worst} the most: by {certificate.kkt_residual[worst]:.3g}, where "
        f"{allowed[worst]:.3g} is allowed. Either max_rounds={max_rounds} is too small, or the "
        "problem is too ill-conditioned for this tolerance, or it has no minimum because cross is "
        "not in the range of gram.",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
