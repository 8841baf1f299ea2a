"""Products with the Gram matrix: rows taken off the correlations, several at a time.

The functions here say what is computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils

from spdatoms._compiled.panel import PANEL, address, eight_lanes
from spdatoms._compiled.syntax import INT
from spdatoms._compiled.translate import emitted_by

LANES = PANEL
#: Rows of which some entries are taken off together.
ENTRIES = 4

_LANE = ir.IntType(32)


def _entry(t, array, place):
    return t.b.load(t.b.gep(array.pointer, [place], inbounds=True))


def _emit_rows(t, source, gram, atoms, weights, first, count, target):
    v, b = eight_lanes(t), t.b
    stride = v.integer(t.value(gram.shape[1])) * 8
    begins, factors = [], []
    for number in range(count):
        place = b.add(t.value(first), INT(number))
        atom = v.integer(_entry(t, atoms, place))
        begins.append(address(t, gram) + atom * stride)
        factors.append(v.fill(_entry(t, weights, place)))
    origin, goal = address(t, source), address(t, target)
    for step in v.steps(v.integer(b.udiv(t.value(target.shape[0]), INT(LANES)))):
        offset = step * (8 * LANES)
        left = v.load(origin + offset)
        for row, factor in zip(begins, factors, strict=True):
            left = v.fnma(factor, v.load(row + offset), left)
        v.store(left, goal + offset)


@emitted_by(_emit_rows)
def take_rows_off(source, gram, atoms, weights, first, count, target):
    """Write source − Σ weights[i]·gram[atoms[i]] to the target, of as many entries as are a multiple of eight.

    The sum is over `count` atoms from the first one on, a number that is known when the code is written.
    """
    whole = len(target) // LANES * LANES
    target[:whole] = source[:whole]
    for i in range(first, first + count):
        target[:whole] -= weights[i] * gram[atoms[i], :whole]


def _emit_entries(t, gram, atoms, weights, first, count, columns, n_columns, target):
    b = t.b
    for number in range(1, ENTRIES + 1):
        with b.if_then(b.icmp_signed("==", t.value(count), INT(number))):
            _emit_some_entries(t, gram, atoms, weights, first, number, columns, n_columns, target)


def _emit_some_entries(t, gram, atoms, weights, first, count, columns, n_columns, target):
    v, b = eight_lanes(t), t.b
    goal, begins, factors = address(t, target), [], []
    for number in range(count):
        place = b.add(t.value(first), INT(number))
        offset = b.mul(_entry(t, atoms, place), t.value(gram.shape[1]))
        begins.append(b.gep(gram.pointer, [offset], inbounds=True))
        factors.append(v.fill(_entry(t, weights, place)))
    vectors = b.udiv(b.add(t.value(n_columns), INT(LANES - 1)), INT(LANES))
    for step in v.steps(v.integer(vectors)):
        places = [_entry(t, columns, (step * LANES + lane).emitted) for lane in range(LANES)]
        left = v.load(goal + step * v.bytes)
        for row, factor in zip(begins, factors, strict=True):
            entries = ir.Constant(v.vector, ir.Undefined)
            for lane, place in enumerate(places):
                entry = b.load(b.gep(row, [place], inbounds=True))
                entries = b.insert_element(entries, entry, _LANE(lane))
            left = v.fnma(factor, entries, left)
        v.store(left, goal + step * v.bytes)


@emitted_by(_emit_entries)
def take_entries_off(gram, atoms, weights, first, count, columns, n_columns, target):
    """target[q] −= Σ weights[i]·gram[atoms[i], columns[q]] over `count` atoms, at most ENTRIES, from the first on.

    Columns and target are read, and the target is written, up to a multiple of eight.
    """
    for q in range(n_columns):
        for i in range(first, first + count):
            target[q] -= weights[i] * gram[atoms[i], columns[q]]


def _emit_fetch(t, row):
    v, begin, number = eight_lanes(t), address(t, row), ir.IntType(32)
    pointer = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    prefetch = cgutils.get_or_insert_function(t.b.module, kind, "llvm.prefetch.p0")
    lines = t.b.udiv(t.b.add(t.value(row.shape[0]), INT(LANES - 1)), INT(LANES))
    for step in v.steps(v.integer(lines)):
        place = t.b.inttoptr((begin + step * (8 * LANES)).emitted, pointer)
        # Data that will be read, for the second level of the cache.
        t.b.call(prefetch, [place, number(0), number(2), number(1)])


@emitted_by(_emit_fetch)
def fetch(row):
    """Ask the memory for a row that will soon be read; this changes nothing but the time it takes."""
