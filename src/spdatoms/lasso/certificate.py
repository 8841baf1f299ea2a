"""How far each code can be from the optimum: optimality residual, duality gap, and a warning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils.typing import Floats
from spdatoms._utils.warning import warn_user
from spdatoms.lasso.units import Exponents, common_exponents, in_units, unit_exponents
from spdatoms.native import kernel
from spdatoms.native.feature_sign import EXCESS, NONZEROS, ROUNDS, VIOLATION

_duality_gaps = kernel("duality_gaps", "DqDDDdDDD")

#: A duality gap within this share of the objective, or of this many of the terms that it is the difference
#: of, does not contradict convergence.
_CLOSE, _GAP_ROUNDING = 0.01, 1e-12


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
        Rounds of feature-sign search, each with one product with K or with some of its columns, or
        solutions of (K + ρI)y = k where alpha is 0.
    converged : ndarray of bool
        Whether the violations are within the tolerance, that of each atom in its own scale √K_jj, and
        the duality gap, where it says something, is within 1 % of the objective.
    """

    kkt_residual: Floats
    duality_gap: Floats
    objective: Floats
    n_nonzero: NDArray[np.int64]
    rounds: NDArray[np.int64]
    converged: NDArray[np.bool_]


def certify(
    report: Floats,
    alpha: Floats,
    query_norm: Floats,
    allowed: Floats,
    *,
    ridge: float,
    n_atoms: int,
    units: tuple[Exponents | int, int],
) -> Certificate:
    """P(y) − D(u), with P = ‖x − Σ y_j φ_j‖² + α‖y‖₁ and D = ‖x‖² − ‖x − u‖² over |2⟨u, φ_j⟩| ≤ α.

    x and φ_j are the query and the atoms in the feature space of the kernel, with a coordinate √ρ of
    its own for each atom if there is a ridge; u is the best feasible multiple s of the residual
    x − Σ y_j φ_j. The dual of the elastic net gives another bound, ‖v‖²/ρ with the violations v of
    h_j = α sign(y_j)/2. The smaller of the two counts.

    Parameters
    ----------
    report : (m, REPORT)
        What the solver says of each query.
    alpha, query_norm, allowed : (m,)
        α, ‖x‖² and the violation that is allowed in the scale of each atom.
    ridge, n_atoms : float, int
        ρ and the number of atoms.
    units : (m,) and int
        Exponents of the units of k and K, in which all this but ‖x‖² is given; see `units`.
    """
    # Values are in a unit in which ‖x‖² and yᵀKy are both finite.
    value_unit = 2 * units[0] - units[1]
    unit = common_exponents(np.maximum(value_unit, unit_exponents(query_norm)))
    scale = in_units(np.ones(len(report)), unit - value_unit)
    objective, gap, terms = np.empty((3, len(report)))
    _duality_gaps(
        report, len(report), alpha, in_units(query_norm, unit), scale,
        n_atoms / ridge if ridge > 0 else 0.0, objective, gap, terms,
    )  # fmt: skip
    close = _CLOSE * np.abs(objective) + _GAP_ROUNDING * terms
    silent = (alpha == 0) & (ridge == 0)
    return Certificate(
        kkt_residual=in_units(2 * report[:, VIOLATION], -units[0]),
        duality_gap=in_units(gap, -unit),
        objective=in_units(objective, -unit),
        n_nonzero=report[:, NONZEROS].astype(np.int64),
        rounds=report[:, ROUNDS].astype(np.int64),
        converged=(2 * report[:, EXCESS] <= allowed) & ((gap <= close) | silent),
    )


@dataclass(frozen=True)
class _Shortfall:
    """How many codes of a block are not optimal to the tolerance, and which is the farthest from it."""

    count: int
    query: int
    residual: float
    gap: float
    max_rounds: int


class ShortCodes:
    """Codes that are not optimal to the tolerance, counted over blocks of queries."""

    def __init__(self) -> None:
        self._totals: list[int] = []
        self._short: list[_Shortfall] = []

    def add(self, certificate: Certificate, max_rounds: int, first: int = 0) -> None:
        """Count those of a block, the queries from ``first`` on; several threads may do so."""
        self._totals.append(len(certificate.converged))
        short = np.flatnonzero(~certificate.converged)
        if len(short):
            worst = int(short[certificate.kkt_residual[short].argmax()])
            residual, gap = certificate.kkt_residual[worst], certificate.duality_gap[worst]
            self._short.append(
                _Shortfall(len(short), first + worst, float(residual), float(gap), max_rounds)
            )

    def warn(self) -> None:
        """Warn how many they are, and how far the worst is."""
        if not self._short:
            return
        # Of equals the first, in whatever order threads came.
        worst = max(self._short, key=lambda s: (np.nan_to_num(s.residual, nan=np.inf), -s.query))
        warn_user(
            f"{sum(s.count for s in self._short)} of {sum(self._totals)} codes violate the optimality conditions by "
            f"more than the tolerance, query {worst.query} the most: by {worst.residual:.3g}, with a duality gap of "
            f"{worst.gap:.3g}. Either max_rounds={worst.max_rounds} is too small, or the problem is too "
            "ill-conditioned for this tolerance, or it has no minimum because cross is not in the range of gram.",
            ConvergenceWarning,
        )


def note_short(
    certificate: Certificate, max_rounds: int, first: int = 0, short: ShortCodes | None = None
) -> None:
    """Warn of codes that are not optimal to the tolerance, or add them to those of other blocks, if that is given."""
    counted = ShortCodes() if short is None else short
    counted.add(certificate, max_rounds, first)
    if short is None:
        counted.warn()
