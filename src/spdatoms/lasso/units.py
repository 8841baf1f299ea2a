"""The units in which a problem is solved, and the scale of each atom.

Units are powers of two, so that no square over- or underflows and no digit changes. With K = 2^a K′ and
k = 2^b k′ the code is y = 2^(b−a) y′, the penalties are α = 2^b α′ and ρ = 2^a ρ′, and the objective has the
unit 2^(2b−a). In these units the length √K_jj of an atom is the scale in which its pivots and its
optimality conditions are judged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Floats
from spdatoms.native.feature_sign import AtomScales

Exponents = NDArray[np.int64]

#: Numbers between 2^−FREE and 2^FREE stay in their own unit: their squares, and quotients of them, are
#: far from the limits.
FREE = 200
#: A penalty that no correlation reaches in these units.
_NEVER_REACHED = 2.0**500

#: Squared pivots, as multiples of K_jj. Below _DEPENDENT rounding errors an atom depends on the others, below
#: −_INDEFINITE the block is indefinite. (Errors of a small pivot are magnified in those after it, so that
#: limit is wide.)
_DEPENDENT, _INDEFINITE = 40, 0.01
#: The violation that the solver aims at, as a share of a penalty that is small against the tolerance, but not
#: below this share of the largest correlation, which is rounding error; and as such a share for a ridge alone.
OF_PENALTY, LEAST_ERROR, _WITH_RIDGE = 0.002, 1e-14, 1e-12
#: Up to this ratio of their squared lengths all atoms have the scale of the longest.
_ALIKE = 4.0


def unit_exponents(sizes: Floats) -> Exponents:
    """Return the exponents of units in which the sizes are about 1, or 0 where none is needed."""
    if sizes.size and sizes.min() >= 2.0**-FREE and sizes.max() < 2.0**FREE:
        return np.zeros(sizes.shape, np.int64)
    exponents = np.frexp(sizes)[1].astype(np.int64)
    return np.where(np.abs(exponents) > FREE, exponents, 0)


def unit_exponent(size: float) -> int:
    """Return the exponent of a unit in which one size is about 1, or 0 if none is needed."""
    exponent = math.frexp(size)[1]
    return exponent if abs(exponent) > FREE else 0


def common_exponents(exponents: Exponents) -> Exponents | int:
    """Return 0 if all the exponents are, which is the rule and saves time."""
    return exponents if exponents.any() else 0


def in_units(values: Floats, exponents: Exponents | int) -> Floats:
    """Return values / 2^exponents, one exponent for all or per row; the values themselves for 0."""
    if (isinstance(exponents, int) and exponents == 0) or not np.any(exponents):
        return values
    shifts = -np.asarray(exponents)
    with np.errstate(over="ignore"):
        return np.asarray(
            np.ldexp(values, shifts[:, None] if values.ndim > shifts.ndim > 0 else shifts)
        )


def penalty_in_units(alphas: Floats, exponents: Exponents | int) -> Floats:
    """Return α′, finite even where the cross values are so small that α is never reached."""
    return np.minimum(in_units(alphas, exponents), _NEVER_REACHED)


def atom_scales(
    squares: Floats,
    rounding: float = float(np.finfo(np.float64).eps),
    surely_definite: bool = False,
) -> AtomScales:
    """Return the scales of atoms with the squared lengths K_jj.

    ``rounding`` is the relative error of the entries of K. What is shorter than the rounding error of the
    longest atom has no length that is known.
    """
    largest, least = float(squares.max()), float(squares.min())
    uniform = largest <= _ALIKE * max(least, rounding * largest)
    if uniform:
        inverse = np.full(len(squares), 1.0 / math.sqrt(largest))
    else:
        inverse = 1.0 / np.sqrt(np.maximum(squares, rounding * largest))
    limits = (_DEPENDENT * rounding, -np.inf if surely_definite else -_INDEFINITE)
    return AtomScales(inverse, uniform, limits)


def largest_correlations(cross: Floats, sizes: Floats, scales: AtomScales) -> Floats:
    """Return max |k_j|/√K_jj of every query, of which max |k_j| is known."""
    if scales.uniform:
        return np.asarray(sizes * scales.inverse[0])
    return np.asarray((np.abs(cross) * scales.inverse).max(axis=1))


def within_penalty(
    allowed: Floats, alphas: Floats, ridge: float, largest: Floats, scales: AtomScales
) -> Floats:
    """Return violations to aim at: allowed, and small against the penalties, or the gap would be large."""
    of_penalty = OF_PENALTY * float(scales.inverse.min()) * alphas
    aim = np.minimum(allowed, np.maximum(of_penalty, LEAST_ERROR * largest))
    if alphas.all():
        return aim
    without = np.minimum(allowed, _WITH_RIDGE * largest) if ridge > 0 else allowed
    return np.where(alphas > 0, aim, without)
