"""exp of many numbers at once: NumPy has no vector code for it on processors without AVX-512.

x = k·log 2 + r with an integer k and |r| ≤ log(2)/2, so that exp x = 2^k·exp r, and exp r is its Taylor
polynomial of degree 13, whose remainder is below 1e-17.
"""

from math import factorial

import numpy as np
from llvmlite import ir
from numba import types

from spdatoms._compiled.lanes import emitted, lane_count, size_tag
from spdatoms._compiled.translate import address, translated

#: Below this the exponential is no normal number. Computing with such numbers is slow: they become zero.
_LEAST = -708.396
_GREATEST = 709.78
#: log 2 in two parts, the first of which has so few digits that k times it is exact.
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_DEGREE = 13
#: Registers that a round fills, so that its dependent operations overlap with each other.
_REGISTERS = 4


@emitted
def _exp_rounds(v, size, rounds, values, scale):
    """Replace as many numbers as fill `rounds` rounds by exp(scale·number)."""
    wide = v.wide(_REGISTERS)
    factor = wide.broadcast(scale)
    for number in v.steps(rounds):
        place = values + number * wide.bytes
        wide.store(_exp(wide, wide.mul(wide.load(place), factor)), place)


def _exp(v, x):
    """Return exp x; zero below the least normal number, infinity above the greatest, NaN for NaN."""
    integers = ir.VectorType(ir.IntType(64), v.lanes)
    # The sum with 1.5·2^52 has k in its last bits, rounded to nearest.
    magic = v.constant(1.5 * 2.0**52)
    shifted = v.fma(x, v.constant(1.4426950408889634), magic)
    k = v.sub(shifted, magic)
    r = v.fnma(k, v.constant(_LOG2_LOW), v.fnma(k, v.constant(_LOG2_HIGH), x))
    p = v.constant(1.0 / factorial(_DEGREE))
    for degree in range(_DEGREE - 1, -1, -1):
        p = v.fma(p, r, v.constant(1.0 / factorial(degree)))
    exponent = v.b.shl(v.b.bitcast(shifted, integers), ir.Constant(integers, [52] * v.lanes))
    result = v.b.bitcast(v.b.add(v.b.bitcast(p, integers), exponent), v.vector)
    result = v.select(v.greater(v.constant(_LEAST), x), v.constant(0.0), result)
    result = v.select(v.greater(x, v.constant(_GREATEST)), v.constant(np.inf), result)
    return v.select(v.b.fcmp_unordered("uno", x, x), x, result)


@translated(types.void)
def _scaled_exp(tag, scalar, values, last, scale):
    """Replace the values by exp(scale·value); what does not fill a round is computed in `last`."""
    length = last.shape[0]
    rounds = values.shape[0] // length
    _exp_rounds(tag, scalar, rounds, address(values), address(scale))
    done = rounds * length
    for i in range(done, values.shape[0]):
        last[i - done] = values[i]
    _exp_rounds(tag, scalar, 1, address(last), address(scale))
    for i in range(done, values.shape[0]):
        values[i] = last[i - done]


def scaled_exp(values: np.ndarray, scale: float) -> None:
    """Replace numbers, an array in double precision without gaps, by exp(scale·number)."""
    last = np.zeros(_REGISTERS * lane_count(np.float64))
    _scaled_exp(size_tag(1), 0.0, values.ravel(order="K"), last, np.array([scale], np.float64))
