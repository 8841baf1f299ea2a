"""The duality gap of many codes, from what the solver reports of each."""

from __future__ import annotations

import math

from numba import types

from spdatoms._compiled.report import LINEAR, NORM, PEAK, QUADRATIC, VIOLATION
from spdatoms._compiled.translate import translated


def _dual(multiple, left, distance):
    """‖x‖² − ‖x − u‖² of the multiple u of the residual."""
    return multiple * (2.0 * left - multiple * distance)


@translated(types.void)
def duality_gaps(report, alpha, squared_norm, scale, by_ridge, objective, gap, terms):
    """Write P(y), P(y) − D(u) and the size of the terms that they are differences of; see `certify`.

    ``scale`` is what yᵀk, yᵀKy and ‖y‖₁ of the report are multiplied by, and ``by_ridge`` is N/ρ, or 0.
    """
    for i in range(report.shape[0]):
        violation, unit, x = report[i, VIOLATION], scale[i], squared_norm[i]
        linear, quadratic = report[i, LINEAR] * unit, report[i, QUADRATIC] * unit
        peak = report[i, PEAK]
        left = x - linear
        distance = left - linear + quadratic
        objective[i] = distance + alpha[i] * report[i, NORM] * unit
        feasible = alpha[i] / (2.0 * peak) if 2.0 * peak > alpha[i] else math.inf
        best = left / distance if distance > 0.0 else 1.0
        # Where the residual is rounding error, so is the best multiple: one near 1 is as good.
        dual = max(
            _dual(min(max(best, 0.0), feasible), left, distance),
            _dual(min(feasible, 1.0), left, distance),
        )
        gap[i] = max(objective[i] - dual, 0.0)
        if by_ridge > 0.0:
            gap[i] = min(gap[i], by_ridge * violation * violation * unit)
        terms[i] = x + abs(linear) + abs(quadratic)
