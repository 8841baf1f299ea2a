"""Products with the Gram matrix: rows taken off the correlations, several at a time.

The functions here say what is computed; `emit` writes the vector code for it.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils

from spdatoms._compiled.panel import PANEL, address, eight_lanes
from spdatoms._compiled.translate import INT, emitted_by

LANES = PANEL


def _emit_rows(t, source, rows, weights, target):
    v, begins = eight_lanes(t), [address(t, row) for row in rows]
    weights = [v.fill(t.value(weight)) for weight in weights]
    origin, goal = address(t, source), address(t, target)
    for step in v.steps(v.integer(t.b.udiv(t.value(target.shape[0]), INT(LANES)))):
        offset = step * (8 * LANES)
        left = v.load(origin + offset)
        for row, weight in zip(begins, weights, strict=True):
            left = v.fnma(weight, v.load(row + offset), left)
        v.store(left, goal + offset)


@emitted_by(_emit_rows)
def take_rows_off(source, rows, weights, target):
    """Write source − Σ weight·row to the target, of as many entries as are a multiple of eight."""
    for j in range(len(target) // LANES * LANES):
        target[j] = source[j]
        for row, weight in zip(rows, weights, strict=True):
            target[j] -= weight * row[j]


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
