"""The end of a panel: the Cholesky factor of what its atoms leave of each other, and the way into the rows of L.

The functions here say what is computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

import math

from llvmlite import ir

from spdatoms._compiled.panel import PANEL, address, eight_lanes
from spdatoms._compiled.syntax import INT
from spdatoms._compiled.translate import emitted_by

_LANE = ir.IntType(32)


def _shuffled(v, left, right, lanes):
    chosen = ir.Constant(ir.VectorType(_LANE, len(lanes)), lanes)
    return v.b.shuffle_vector(left, right, chosen)


def _emit_corner(t, squares, floors, count, pivots, roots, right):
    v, b, base, least = eight_lanes(t), t.b, address(t, squares), address(t, floors)
    rows = [v.variable(v.load(base + p * (8 * PANEL))) for p in range(PANEL)]
    # One more column: what is left of it at each pivot, and in all lanes.
    left, found = v.variable(v.load(address(t, right))), v.variable(v.constant(1.0))
    solved = v.variable(v.constant(0.0))

    def keep(slot, vector, lane):
        number = b.extract_element(vector, _LANE(lane))
        v.set(slot, b.insert_element(v.get(slot), number, _LANE(lane)))

    for p in range(PANEL):
        with b.if_then(b.icmp_signed(">", t.value(count), INT(p))):
            row, column = v.get(rows[p]), v.get(left)
            pivot = _shuffled(v, row, row, [p] * PANEL)
            keep(found, row, p)
            keep(solved, column, p)
            left_out = b.fcmp_ordered("<", pivot, v.broadcast(least + p * 8))
            factors = v.div(row, v.select(left_out, v.constant(math.inf), pivot))
            for q in range(p + 1, PANEL):
                factor = _shuffled(v, factors, factors, [q] * PANEL)
                v.set(rows[q], v.fnma(factor, row, v.get(rows[q])))
            v.set(left, v.fnma(factors, _shuffled(v, column, column, [p] * PANEL), column))
            v.store(row, base + p * (8 * PANEL))
    inverse_roots = v.reciprocal(v.sqrt(v.get(found)))
    v.store(v.get(found), address(t, pivots))
    v.store(inverse_roots, address(t, roots))
    v.store(v.mul(v.get(solved), inverse_roots), address(t, right))


@emitted_by(_emit_corner)
def factorise_corner(squares, floors, count, pivots, roots, right):
    """Take off each row of the squares what the rows before it explain; write its pivot, and 1/√pivot.

    The same is done with one more column, on the right, which is then divided by √pivot: the factor's equations
    are solved for it. A row whose pivot is under its floor explains nothing of the others.
    """
    for p in range(count):
        pivots[p] = squares[p, p]
        roots[p] = 1.0 / math.sqrt(pivots[p]) if pivots[p] > 0.0 else math.nan
        if not pivots[p] < floors[p]:
            for q in range(p + 1, PANEL):
                factor = squares[p, q] / pivots[p]
                right[q] -= factor * right[p]
                for lane in range(PANEL):
                    squares[q, lane] -= factor * squares[p, lane]
        right[p] *= roots[p]


def _emit_scaled(t, source, factor, target):
    v = eight_lanes(t)
    v.store(v.mul(v.load(address(t, source)), v.fill(t.value(factor))), address(t, target))


@emitted_by(_emit_scaled)
def scale_row(source, factor, target):
    """Write the multiple of a row of a panel."""
    for lane in range(PANEL):
        target[lane] = source[lane] * factor


def _emit_transposed(t, panel, targets, begin):
    v, base = eight_lanes(t), address(t, panel)
    rows = v.transposed(v.load(base + q * (8 * PANEL)) for q in range(PANEL))
    for target, row in zip(targets, rows, strict=True):
        v.store(row, address(t, target) + v.integer(t.value(begin)) * 8)


@emitted_by(_emit_transposed)
def transpose(panel, targets, begin):
    """Write eight rows of a panel as columns: lane p to target[p][begin], target[p][begin + 1], …"""
    for p in range(PANEL):
        for q in range(PANEL):
            targets[p][begin + q] = panel[q * PANEL + p]
