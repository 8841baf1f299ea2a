"""L x = K_A,new for eight new atoms side by side, one per lane of a vector.

A panel holds x of all eight: row q has their entries q. So an entry of L is loaded once for eight
products, and no sum runs across the lanes of a vector.

The functions here say what is computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types

from spdatoms._compiled.lanes import VECTOR_BYTES, Integer, Vectors
from spdatoms._compiled.translate import emitted_by

#: Atoms that are appended together.
PANEL = 8


def eight_lanes(t):
    """Return an emitter of vectors of eight numbers."""
    return Vectors(t.b, types.float64, registers=PANEL * 8 // VECTOR_BYTES)


def address(t, array):
    """Return where an array begins."""
    return Integer(t.b, t.b.ptrtoint(array.pointer, ir.IntType(64)))


def _integer(t, number):
    return Integer(t.b, number)


def _emit_differences(t, v, left, stride, panel, begin, end, targets):
    """Return target[r] − Σ_q left[r][q·stride]·panel[q] of every r, in registers."""
    # Sums that are subtracted at the end: a negative factor would be loaded, negated and then broadcast.
    sums = [v.variable(v.constant(0.0)) for _ in targets]
    count = _integer(t, end) - _integer(t, begin)
    for step in v.steps(count):
        q = step + _integer(t, begin)
        x = v.load(panel + q * (8 * PANEL))
        for row, total in zip(left, sums, strict=True):
            v.set(total, v.fma(v.broadcast(row + q * (8 * stride)), x, v.get(total)))
    return [
        v.sub(v.load(target), v.get(total)) for target, total in zip(targets, sums, strict=True)
    ]


def _emit_products(t, left, stride, panel, begin, end, targets):
    v = eight_lanes(t)
    targets = [address(t, target) for target in targets]
    rows = [address(t, row) for row in left]
    base = address(t, panel)
    totals = _emit_differences(t, v, rows, stride, base, begin, end, targets)
    for total, target in zip(totals, targets, strict=True):
        v.store(total, target)


@emitted_by(_emit_products)
def subtract_products(left, stride, panel, begin, end, targets):
    """target[r] −= Σ_q left[r][q·stride]·panel[q] for begin ≤ q < end."""
    for q in range(begin, end):
        for row, target in zip(left, targets, strict=True):
            for lane in range(PANEL):
                target[lane] -= row[q * stride] * panel[q * PANEL + lane]


def _emit_elimination(t, left, panel, first, reciprocal):
    v = eight_lanes(t)
    rows, base = [address(t, row) for row in left], address(t, panel)
    pivots = address(t, reciprocal) + _integer(t, first) * 8
    targets = [base + (_integer(t, first) + r) * (8 * PANEL) for r in range(len(rows))]
    totals = _emit_differences(t, v, rows, 1, base, 0, first, targets)
    solved = []
    for r, (row, total) in enumerate(zip(rows, totals, strict=True)):
        for s, x in enumerate(solved):
            total = v.fnma(v.broadcast(row + (_integer(t, first) + s) * 8), x, total)
        solved.append(v.mul(total, v.broadcast(pivots + r * 8)))
        v.store(solved[-1], targets[r])


@emitted_by(_emit_elimination)
def eliminate(left, panel, first, reciprocal):
    """Solve for the rows first, first + 1, … of the panel, given some rows of L and what is before them."""
    for r, row in enumerate(left):
        x = panel[(first + r) * PANEL : (first + r + 1) * PANEL]
        for q in range(first + r):
            x -= row[q] * panel[q * PANEL : (q + 1) * PANEL]
        x *= reciprocal[first + r]


def _emit_columns(t, rows, indices, count, panel):
    v, b, base = eight_lanes(t), t.b, address(t, panel)
    for q in v.steps(_integer(t, t.value(count))):
        index = b.load(b.gep(indices.pointer, [q.emitted], inbounds=True))
        entries = ir.Constant(v.vector, ir.Undefined)
        for lane, row in enumerate(rows):
            entry = b.load(b.gep(row.pointer, [index], inbounds=True))
            entries = b.insert_element(entries, entry, ir.IntType(32)(lane))
        v.store(entries, base + q * (8 * PANEL))


@emitted_by(_emit_columns)
def fill(rows, indices, count, panel):
    """panel[q][lane] = rows[lane][indices[q]]."""
    for q in range(count):
        for lane, row in enumerate(rows):
            panel[q * PANEL + lane] = row[indices[q]]
