"""min_y yᵀQy + α‖y‖₁ over Σ_j ℓ_j y_j = 1, for many Gram matrices Q.

It is the method of multipliers of `baselines/tangent/_affine_lasso.py`, each round a feature-sign search.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from spdatoms._compiled.active_factor import ActiveSet, AtomScales, new_active_set
from spdatoms._compiled.feature_sign import code_query, new_scratch
from spdatoms._compiled.report import REPORT
from spdatoms._compiled.translate import translated

_ROUNDS, _SEARCH_ROUNDS = 60, 500
_NOBODY = -1


@translated(types.void)
def _affine_rows(
    grams, lengths, rho, tau, tolerance, inverse_scale, dependent, indefinite, codes, cross, inverse, report,
    active_atoms, entries, factor, starts, panel, squares, corner, places, h, explained, integers,
):  # fmt: skip
    active = ActiveSet(active_atoms, entries, factor, starts, panel, squares, corner, places)
    scratch = h, explained, integers[0], integers[1], integers[2]
    for query in range(codes.shape[0]):
        gram, code = grams[query], codes[query]
        for j in range(inverse.shape[0]):
            inverse[j] = inverse_scale[query]
        scales = AtomScales(inverse, True, (dependent, indefinite))
        target, before = 1.0, math.inf
        for _ in range(_ROUNDS):
            for j in range(cross.shape[0]):
                cross[j] = rho[query] * target * lengths[j]
            size = code_query(
                gram, cross, tau, tolerance[query], False, _SEARCH_ROUNDS, scales, _NOBODY, True, active, scratch,
                code, report,
            )  # fmt: skip
            if size < 0:
                break
            total, norm = 0.0, 0.0
            for j in range(cross.shape[0]):
                total += lengths[j] * code[j]
                norm += lengths[j] * abs(code[j])
            error = 1.0 - total
            # An error that does not shrink any more is one of rounding.
            if abs(error) <= 1e-14 * norm or abs(error) > 0.5 * before:
                break
            target, before = target + error, abs(error)


def solve_affine(
    grams: np.ndarray,
    lengths: np.ndarray,
    rho: np.ndarray,
    tau: float,
    tolerance: np.ndarray,
    inverse_scale: np.ndarray,
    limits: tuple[float, float],
    codes: np.ndarray,
) -> None:
    """Overwrite the codes, from which it starts, by solutions.

    Parameters
    ----------
    grams : (m, N, N)
        ℓ_i (Q_ij + ρ) ℓ_j of each query.
    lengths : (N,)
        The ℓ_j.
    rho, tolerance, inverse_scale : (m,)
        ρ, the error allowed in h_j/√K_jj (see `feature_sign`), and 1/√K_jj of the longest atom.
    tau : float
        α/2.
    limits : (float, float)
        Those of `AtomScales`.
    codes : (m, N)
        The y.
    """
    n_atoms = len(lengths)
    _affine_rows(
        grams, lengths, rho, tau, tolerance, inverse_scale, *limits, codes, np.empty(n_atoms), np.empty(n_atoms),
        np.empty(REPORT), *new_active_set(n_atoms), *new_scratch(n_atoms),
    )  # fmt: skip
