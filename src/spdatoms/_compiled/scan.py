"""Passes over many numbers, eight at a time: the greatest, which are above a level, and what is left of some.

For all, a number x counts as max(x, fold·x): |x| with the fold −1, max(x, 0) with 0. The functions here say what is
computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

import math

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


#: The last bits of a number, which hold its position while the largest of many is looked for.
_POSITION = (1 << 24) - 1


class _Largest:
    """The largest number so far in each lane, in its last bits where it stands: so one maximum finds both."""

    def __init__(self, v, fold):
        self.v, self.b = v, v.b
        self.numbers = ir.VectorType(_WORD, LANES)
        self.fold, self.best = v.fill(fold), v.variable(v.constant(0.0))

    def positions(self, first):
        """Return the positions in the lanes of a vector that begins at this one."""
        return self.b.add(_every(self.v, first), ir.Constant(self.numbers, list(range(LANES))))

    def consider(self, x, positions):
        size = self.v.greatest(x, self.v.mul(self.fold, x))
        others = ir.Constant(self.numbers, [~_POSITION] * LANES)
        bits = self.b.or_(self.b.and_(self.b.bitcast(size, self.numbers), others), positions)
        size = self.b.bitcast(bits, self.v.vector)
        self.v.set(self.best, self.v.greatest(size, self.v.get(self.best)))

    def two_positions(self):
        """Return where the largest is, and where the largest of the other lanes is."""
        lanes = self.v.get(self.best)
        best = self._over_lanes(lanes)
        others = self.v.select(self.b.fcmp_ordered("==", lanes, best), self.v.constant(0.0), lanes)
        return self._position(best), self._position(self._over_lanes(others))

    def _over_lanes(self, best):
        for width in (4, 2, 1):
            lanes = [lane ^ width for lane in range(LANES)]
            swapped = ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes)
            best = self.v.greatest(best, self.b.shuffle_vector(best, best, swapped))
        return best

    def _position(self, best):
        bits = self.b.extract_element(self.b.bitcast(best, self.numbers), ir.IntType(32)(0))
        return self.b.and_(bits, _WORD(_POSITION))


def _every(v, integer):
    """Return a vector with this integer in every lane."""
    undefined = ir.Constant(ir.VectorType(_WORD, LANES), ir.Undefined)
    one = v.b.insert_element(undefined, integer, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return v.b.shuffle_vector(one, undefined, zeros)


def _vectors(v, count):
    """Iterate over as many vectors as hold this many numbers."""
    return v.steps(v.integer(v.b.udiv(v.b.add(count, _WORD(LANES - 1)), _WORD(LANES))))


def _emit_largest(t, values, fold, count):
    v, begin = eight_lanes(t), address(t, values)
    found = _Largest(v, t.value(fold))
    for step in _vectors(v, t.value(count)):
        x = v.load(begin + step * (8 * LANES))
        found.consider(x, found.positions((step * LANES).emitted))
    return found.two_positions()


@emitted_by(_emit_largest)
def two_largest(values, fold, count):
    """Return which value is the greatest, up to seven digits, and which may be the next.

    NaNs are none. Behind the values there are NaNs up to a multiple of eight.
    """
    sizes = [max(x, fold * x) for x in values[:count]]
    order = sorted((q for q in range(count) if sizes[q] > 0.0), key=lambda q: -sizes[q])
    best, following, *_ = *order, 0, 0
    return best, following


def _emit_take_off(t, row, step, fold, indices, values, count, taken):
    v, b, begin = eight_lanes(t), t.b, address(t, values)
    found, steps, taken = (
        _Largest(v, t.value(fold)),
        v.fill(t.value(step)),
        _every(v, t.value(taken)),
    )
    for step in _vectors(v, t.value(count)):
        entries = ir.Constant(v.vector, ir.Undefined)
        for lane in range(LANES):  # quicker than the instruction that gathers
            place = b.gep(indices.pointer, [(step * LANES + lane).emitted], inbounds=True)
            entry = b.load(b.gep(row.pointer, [b.load(place)], inbounds=True))
            entries = b.insert_element(entries, entry, ir.IntType(32)(lane))
        left = v.fnma(steps, entries, v.load(begin + step * (8 * LANES)))
        positions = found.positions((step * LANES).emitted)
        left = v.select(b.icmp_signed("==", positions, taken), v.constant(math.nan), left)
        v.store(left, begin + step * (8 * LANES))
        found.consider(left, positions)
    return found.two_positions()


@emitted_by(_emit_take_off)
def take_off(row, step, fold, indices, values, count, taken):
    """values[q] −= step·row[indices[q]], NaN where it is taken; return the `two_largest` then."""
    for q in range(count):
        values[q] -= step * row[indices[q]]
    values[taken] = math.nan
    return two_largest(values, fold, count)
