"""Passes over many numbers, eight at a time: the greatest, and which are above a level.

For both, a number x counts as max(x, fold·x): |x| with the fold −1, max(x, 0) with 0. The functions here say what is
computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

from llvmlite import ir

from spdatoms._compiled.panel import address, eight_lanes
from spdatoms._compiled.translate import emitted_by

LANES = 8
_WORD = ir.IntType(64)


def _emit_greatest(t, values, fold):
    v, begin = eight_lanes(t), address(t, values)
    folds, best = v.fill(t.value(fold)), v.variable(v.constant(0.0))
    for step in v.steps(v.integer(t.b.udiv(t.value(values.shape[0]), _WORD(LANES)))):
        x = v.load(begin + step * (8 * LANES))
        x = v.greatest(x, v.mul(folds, x))
        v.set(best, v.greatest(x, v.get(best)))
    found = v.get(best)
    lanes = (t.b.extract_element(found, ir.IntType(32)(lane)) for lane in range(LANES))
    return t.extreme(">", list(lanes))


@emitted_by(_emit_greatest)
def greatest(values, fold):
    """Return the greatest of as many values as are a multiple of eight, at least 0."""
    best = 0.0
    for i in range(len(values) // LANES * LANES):
        best = max(best, values[i], fold * values[i])
    return best


def _emit_indices_above(t, values, fold, level, indices):
    v, begin, b = eight_lanes(t), address(t, values), t.b
    folds, levels = v.fill(t.value(fold)), v.fill(t.value(level))
    count = v.variable(_WORD(0))
    for step in v.steps(v.integer(b.udiv(t.value(values.shape[0]), _WORD(LANES)))):
        x = v.load(begin + step * (8 * LANES))
        above = v.greater(v.greatest(x, v.mul(folds, x)), levels)
        left = v.variable(b.zext(b.bitcast(above, ir.IntType(LANES)), _WORD))
        for _ in v.whilst(lambda left=left: b.icmp_unsigned("!=", v.get(left), _WORD(0))):
            bits = v.get(left)
            index = b.add((step * LANES).emitted, b.cttz(bits, ir.IntType(1)(1)))
            place = b.gep(indices.pointer, [v.get(count)], inbounds=True)
            b.store(index, place, align=8)
            v.set(count, b.add(v.get(count), _WORD(1)))
            v.set(left, b.and_(bits, b.sub(bits, _WORD(1))))
    return v.get(count)


@emitted_by(_emit_indices_above)
def indices_above(values, fold, level, indices):
    """Write which of the values are above a level, of as many as are a multiple of eight; return how many."""
    count = 0
    for i in range(len(values) // LANES * LANES):
        if max(values[i], fold * values[i]) > level:
            indices[count] = i
            count += 1
    return count
