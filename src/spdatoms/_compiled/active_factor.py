"""L Lᵀ = K_AA: the Cholesky factor of the active block of a Gram matrix, as atoms come and go.

L is held by rows, one after the other. Its diagonal is kept apart, as reciprocals, and every row has zeros from the
diagonal up to the next multiple of LANES, so that no inner loop has a scalar remainder.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from spdatoms._compiled.panel import PANEL, eliminate, subtract_products
from spdatoms._compiled.translate import reordered

LANES = 16

# What is kept of each active atom: rows of ActiveSet.entries.
CODE = 0
SIGN = 1  # θ: the sign that the code has or is about to take
SLACK = 2  # r = h − τθ: zero at the optimum of the active block
HALF_STEP = 3  # z = L⁻¹ r
STEP = 4  # K_AA⁻¹ r = L⁻ᵀ z
CROSSING = 5  # step length at which the code changes sign
RECIPROCAL = 6  # of the diagonal of L
COSINE = 7
SINE = 8
N_ENTRIES = 9


class ActiveSet(NamedTuple):
    """The active atoms, the entries of each (column i belongs to `atoms[i]`) and the rows of the factor.

    Row i of the factor begins at `factor[starts[i]]`. The others are scratch of `append`.
    """

    atoms: np.ndarray
    entries: np.ndarray
    factor: np.ndarray
    starts: np.ndarray
    panel: np.ndarray
    squares: np.ndarray


class AtomScales(NamedTuple):
    """1/√K_jj of every atom; whether all are the same; and limits of squared pivots, as multiples of K_jj.

    A pivot under the first of the limits is rounding error, one under the second is negative.
    """

    inverse: np.ndarray
    uniform: bool
    limits: tuple[float, float]


def _padded(length):
    return (length + LANES - 1) // LANES * LANES


def new_active_set(capacity):
    """Return an empty active set with room for `capacity` atoms. (This is not compiled.)"""
    starts = _row_starts(capacity + PANEL)
    return ActiveSet(
        atoms=np.zeros(capacity + PANEL, np.int64),
        entries=np.zeros((N_ENTRIES, _padded(capacity + PANEL) + LANES)),
        factor=np.zeros(starts[-1]),
        starts=starts,
        panel=np.zeros((capacity + PANEL) * PANEL),
        squares=np.zeros((PANEL, PANEL)),
    )


@cache
def _row_starts(rows):
    lengths = [0, *(_padded(i + PANEL) for i in range(rows))]
    return np.cumsum(lengths)


def _row(active, i):
    """Return the row of L."""
    return active.factor[active.starts[i] :]


def append(gram, active, size, new_atoms, n_new, scales):
    """Append atoms to the active set, code zero; return the new size, or −1 if K_AA is indefinite.

    A squared pivot under the first of the limits, a multiple of K_jj, says that the atom is a
    combination of the active ones, up to rounding. It is left out, unless it is the first of
    `new_atoms`: the caller has to make progress with that one, so its pivot is raised to the limit.
    """
    reciprocal, panel = active.entries[RECIPROCAL], active.panel
    dependent, indefinite = scales.limits
    for start in range(0, n_new, PANEL):
        count = min(PANEL, n_new - start)
        first = size
        _fill_panel(gram, active, size, new_atoms[start:], count)
        _solve_panel(active, size)
        _subtract_squares(active, size)
        for p in range(count):
            j = new_atoms[start + p]
            row = panel[size * PANEL :]
            for lane in range(PANEL):
                row[lane] = active.squares[p, lane]
            column = panel[p:]
            subtract_products((column,), PANEL, panel, first, size, (row,))
            pivot = row[p]
            square = 1.0 / (scales.inverse[j] * scales.inverse[j])
            if not pivot >= indefinite * square:  # or it is a NaN
                return -1
            if pivot < dependent * square:
                if start + p > 0:
                    continue
                pivot = dependent * square
            reciprocal[size] = 1.0 / math.sqrt(pivot)
            for lane in range(PANEL):
                row[lane] *= reciprocal[size]
            target = _row(active, size)
            for q in range(size):
                target[q] = column[q * PANEL]
            for q in range(size, _padded(size)):
                target[q] = 0.0
            active.atoms[size] = j
            active.entries[CODE, size] = 0.0
            size += 1
    return size


def _fill_panel(gram, active, size, new_atoms, count):
    """Write K_A,new to the panel and K_new,new to the squares; fewer atoms than lanes are made up by copies."""
    for p in range(PANEL):
        k = gram[new_atoms[min(p, count - 1)]]
        for q in range(size):
            active.panel[q * PANEL + p] = k[active.atoms[q]]
        for r in range(PANEL):
            active.squares[r, p] = k[new_atoms[min(r, count - 1)]]


def _solve_panel(active, size):
    """Replace K_A,new in the panel by L⁻¹ K_A,new, four rows at a time."""
    panel, reciprocal = active.panel, active.entries[RECIPROCAL]
    whole = size - size % 4
    for i in range(0, whole, 4):
        rows = _row(active, i), _row(active, i + 1), _row(active, i + 2), _row(active, i + 3)
        eliminate(rows, panel, i, reciprocal)
    for i in range(whole, size):
        eliminate((_row(active, i),), panel, i, reciprocal)


def _subtract_squares(active, size):
    """Take XᵀX of the panel X off the squares."""
    panel, squares = active.panel, active.squares
    for p in range(0, PANEL, 4):
        columns = panel[p:], panel[p + 1 :], panel[p + 2 :], panel[p + 3 :]
        rows = squares[p], squares[p + 1], squares[p + 2], squares[p + 3]
        subtract_products(columns, PANEL, panel, 0, size, rows)


def remove(active, size, leaving):
    """Remove an atom from the set, its factor and z, by Givens rotations; return the size.

    Row i + 1 becomes row i. Rotation k clears what then stands right of the diagonal in row k, and
    acts on columns k and k + 1 of the rows below it, and of z.
    """
    reciprocal = active.entries[RECIPROCAL]
    cosine, sine, z = active.entries[COSINE], active.entries[SINE], active.entries[HALF_STEP]
    z_carried = z[leaving]
    for i in range(leaving, size - 1):
        source, target = _row(active, i + 1), _row(active, i)
        for k in range(leaving):
            target[k] = source[k]
        carried = source[leaving]
        for k in range(leaving, i):
            following = source[k + 1]
            target[k] = cosine[k] * carried + sine[k] * following
            carried = cosine[k] * following - sine[k] * carried
        for k in range(i, _padded(i)):
            target[k] = 0.0
        pivot = 1.0 / reciprocal[i + 1]
        reciprocal[i] = 1.0 / math.sqrt(carried * carried + pivot * pivot)
        cosine[i], sine[i] = carried * reciprocal[i], pivot * reciprocal[i]
        following = z[i + 1]
        z[i] = cosine[i] * z_carried + sine[i] * following
        z_carried = cosine[i] * following - sine[i] * z_carried
        active.atoms[i] = active.atoms[i + 1]
        for entry in range(SLACK + 1):
            active.entries[entry, i] = active.entries[entry, i + 1]
    return size - 1


@reordered
def solve_lower(active, first, size):
    """z = L⁻¹ r, where the entries before `first` are right already."""
    reciprocal = active.entries[RECIPROCAL]
    r, z = active.entries[SLACK], active.entries[HALF_STEP]
    for i in range(first, _padded(size)):
        z[i] = 0.0
    for i in range(first, size):
        row, total = _row(active, i), 0.0
        for q in range(_padded(i)):
            total += row[q] * z[q]
        z[i] = (r[i] - total) * reciprocal[i]


@reordered
def solve_upper(active, size):
    """K_AA⁻¹ r = L⁻ᵀ z, two rows at a time."""
    reciprocal = active.entries[RECIPROCAL]
    z, x = active.entries[HALF_STEP], active.entries[STEP]
    for i in range(_padded(size + 1)):
        x[i] = z[i] if i < size else 0.0
    for i in range(size - 1 + size % 2, 0, -2):  # an odd size is rounded up by a zero
        lower, upper = _row(active, i), _row(active, i - 1)
        value1 = x[i] * reciprocal[i]
        value0 = (x[i - 1] - value1 * lower[i - 1]) * reciprocal[i - 1]
        for q in range(_padded(i)):
            x[q] -= value1 * lower[q] + value0 * upper[q]
        x[i], x[i - 1] = value1, value0
