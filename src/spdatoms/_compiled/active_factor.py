"""L Lᵀ = K_AA: the Cholesky factor of the active block of a Gram matrix, as atoms come and go.

L is held by rows, one after the other. Its diagonal is kept apart, as reciprocals, and every row has zeros from the
diagonal up to the next multiple of LANES, so that no inner loop has a scalar remainder.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from spdatoms._compiled.corner import factorise_corner, scale_row, transpose
from spdatoms._compiled.panel import PANEL, eliminate, fill, subtract_products
from spdatoms._compiled.translate import apart, reordered

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

# What is kept of each atom of a panel: rows of ActiveSet.corner.
FLOOR = 0  # the least squared pivot of an atom that depends on no others
PIVOT = 1  # squared
ROOT = 2  # 1/√pivot
RIGHT = 3  # r, then z
CARRY = 4  # what rotations carry to the next column of four rows
N_CORNER = 5

#: Fewer atoms than this are copied from the panel one by one.
LEAST_TRANSPOSED = 3


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
    corner: np.ndarray
    places: np.ndarray


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
        corner=np.zeros((N_CORNER, PANEL)),
        places=np.zeros(PANEL, np.int64),
    )


@cache
def _row_starts(rows):
    lengths = [0, *(_padded(i + PANEL) for i in range(rows))]
    return np.cumsum(lengths)


def _row(active, i):
    """Return the row of L."""
    return active.factor[active.starts[i] :]


def append(gram, active, size, new_atoms, n_new, scales, h, tau):
    """Append atoms to the active set, code zero; return the new size, or −1 if K_AA is indefinite.

    Their θ, r and z come from h, and are right if r of the others is zero.

    A squared pivot under the first of the limits, a multiple of K_jj, says that the atom is a
    combination of the active ones, up to rounding. It is left out, unless it is the first of
    `new_atoms`: the caller has to make progress with that one, so its pivot is raised to the limit.
    """
    dependent, indefinite = scales.limits
    first, squares, floors = size, active.squares, active.corner[FLOOR]
    right, z = active.corner[RIGHT], active.entries[HALF_STEP]
    for start in range(0, n_new, PANEL):
        count = min(PANEL, n_new - start)
        new = new_atoms[start:]
        _fill_panel(gram, active, size, new, count)
        _solve_panel(active, size)
        _subtract_squares(active, size)
        for p in range(count):
            j = new[p]
            if start == 0 or not scales.uniform:
                floors[p] = dependent / (scales.inverse[j] * scales.inverse[j])
            right[p] = h[j] - math.copysign(tau, h[j])
        subtract_products((z,), 1, active.panel, first, size, (right,))
        if start == 0 and squares[0, 0] < floors[0]:
            if squares[0, 0] < indefinite / dependent * floors[0]:
                return -1
            squares[0, 0] = floors[0]
        factorise_corner(squares, floors, count, active.corner[PIVOT], active.corner[ROOT], right)
        size = _append_corner(active, size, new, count, indefinite / dependent, h, tau)
        if size < 0:
            break
    return size


def _append_corner(active, size, new_atoms, count, indefinite, h, tau):
    """Append the atoms of a panel, of which the corner is factorised; return the new size, or −1.

    A pivot under this multiple of its floor is negative.
    """
    first, entries, places = size, active.entries, active.places
    floor, pivot, root = active.corner[FLOOR], active.corner[PIVOT], active.corner[ROOT]
    for p in range(count):
        if not pivot[p] >= indefinite * floor[p]:  # or it is a NaN
            return -1
        places[p] = -1
        if pivot[p] < floor[p]:
            continue
        places[p], j = size, new_atoms[p]
        active.atoms[size] = j
        entries[CODE, size] = 0.0
        entries[SIGN, size] = math.copysign(1.0, h[j])
        entries[SLACK, size] = h[j] - math.copysign(tau, h[j])
        entries[HALF_STEP, size] = active.corner[RIGHT, p]
        entries[RECIPROCAL, size] = root[p]
        scale_row(active.squares[p], root[p], active.panel[size * PANEL :])
        size += 1
    _extend_rows(active, first, size, count)
    return size


def _extend_rows(active, first, size, count):
    """Copy what the panel holds of the atoms that were accepted to the rows of L."""
    panel, places, copied = active.panel, active.places, 0
    if count >= LEAST_TRANSPOSED:
        for p in range(PANEL):  # what is not wanted goes where the next atom will overwrite it
            places[p] = size if p >= count or places[p] < 0 else places[p]
        targets = (
            _row(active, places[0]), _row(active, places[1]), _row(active, places[2]),
            _row(active, places[3]), _row(active, places[4]), _row(active, places[5]),
            _row(active, places[6]), _row(active, places[7]),
        )  # fmt: skip
        copied = first - first % PANEL
        for q in range(0, copied, PANEL):
            transpose(panel[q * PANEL :], targets, q)
    for p in range(count):
        i = places[p]
        if i < 0 or i == size:
            continue
        target, column = _row(active, i), panel[p:]
        for q in range(copied, i):
            target[q] = column[q * PANEL]
        for q in range(i, _padded(i)):
            target[q] = 0.0


def _fill_panel(gram, active, size, new_atoms, count):
    """Write K_A,new to the panel and K_new,new to the squares; fewer atoms than lanes are made up by copies."""
    last = count - 1
    rows = (
        gram[new_atoms[0]], gram[new_atoms[min(1, last)]],
        gram[new_atoms[min(2, last)]], gram[new_atoms[min(3, last)]],
        gram[new_atoms[min(4, last)]], gram[new_atoms[min(5, last)]],
        gram[new_atoms[min(6, last)]], gram[new_atoms[min(7, last)]],
    )  # fmt: skip
    fill(rows, active.atoms, size, active.panel)
    fill(rows, new_atoms, count, active.squares)


@apart
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


@apart
def remove(active, size, leaving):
    """Remove an atom from the set, its factor and z, by Givens rotations; return the size.

    Row i + 1 becomes row i. Rotation k clears what then stands right of the diagonal in row k, and
    acts on columns k and k + 1 of the rows below it, and of z.
    """
    reciprocal, carry = active.entries[RECIPROCAL], active.corner[CARRY]
    cosine, sine, z = active.entries[COSINE], active.entries[SINE], active.entries[HALF_STEP]
    z_carried, rotated, ready = z[leaving], leaving, leaving
    for i in range(leaving, size - 1):
        source, target = _row(active, i + 1), _row(active, i)
        if i >= ready and i >= leaving + LANES and i + 4 < size:
            _rotate_four_rows(active, i, leaving)
            rotated, ready = i, i + 4
        if i < ready:
            carried = carry[i - rotated]
        else:
            for k in range(leaving):
                target[k] = source[k]
            carried, rotated = source[leaving], leaving
        for k in range(rotated, i):
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


def _rotate_four_rows(active, i, leaving):
    """Apply the rotations before i to four rows from i + 1 on: in one row, each waits for the one before it."""
    cosine, sine, carry = active.entries[COSINE], active.entries[SINE], active.corner[CARRY]
    row0, row1, row2 = _row(active, i), _row(active, i + 1), _row(active, i + 2)
    row3, row4 = _row(active, i + 3), _row(active, i + 4)
    for k in range(leaving):
        row0[k], row1[k], row2[k], row3[k] = row1[k], row2[k], row3[k], row4[k]
    x0, x1, x2, x3 = row1[leaving], row2[leaving], row3[leaving], row4[leaving]
    for k in range(leaving, i):
        c, s = cosine[k], sine[k]
        y0, y1, y2, y3 = row1[k + 1], row2[k + 1], row3[k + 1], row4[k + 1]
        row0[k], x0 = c * x0 + s * y0, c * y0 - s * x0
        row1[k], x1 = c * x1 + s * y1, c * y1 - s * x1
        row2[k], x2 = c * x2 + s * y2, c * y2 - s * x2
        row3[k], x3 = c * x3 + s * y3, c * y3 - s * x3
    carry[0], carry[1], carry[2], carry[3] = x0, x1, x2, x3


@apart
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


def solve_upper_end(active, first, size):
    """L⁻ᵀ z, its entries from `first` on; return the first one that is known.

    Entries between the last multiple of LANES and that one hold what is left of z.
    """
    known = first - first % 4
    begin = known - known % LANES
    z, x = active.entries[HALF_STEP], active.entries[STEP]
    for i in range(begin, _padded(size + 3)):
        x[i] = z[i] if i < size else 0.0
    _solve_rows(active, known, size, begin)
    return known


def solve_upper_rest(active, known, size):
    """K_AA⁻¹ r = L⁻ᵀ z, of which the entries from `known` on are there already."""
    begin = known - known % LANES
    z, x = active.entries[HALF_STEP], active.entries[STEP]
    for i in range(begin):
        x[i] = z[i]
    for i in range(known, size, 4):
        _take_rows_off(active, i, 0, begin)
    _solve_rows(active, 0, known, 0)


def _solve_rows(active, first, size, begin):
    """Solve Lᵀx = z for the entries from `first` to `size`, four at a time, and take them off those from `begin`."""
    reciprocal, x = active.entries[RECIPROCAL], active.entries[STEP]
    for k in range(size + 3 - (size + 3) % 4 - 4, first - 1, -4):  # rounded up by zeros
        row1, row2, row3 = _row(active, k + 1), _row(active, k + 2), _row(active, k + 3)
        x3 = x[k + 3] * reciprocal[k + 3]
        x2 = (x[k + 2] - x3 * row3[k + 2]) * reciprocal[k + 2]
        x1 = (x[k + 1] - x3 * row3[k + 1] - x2 * row2[k + 1]) * reciprocal[k + 1]
        x0 = (x[k] - x3 * row3[k] - x2 * row2[k] - x1 * row1[k]) * reciprocal[k]
        x[k], x[k + 1], x[k + 2], x[k + 3] = x0, x1, x2, x3
        _take_rows_off(active, k, begin, k)


@reordered
def _take_rows_off(active, k, begin, end):
    """x_q −= Σ x_i L_iq for four rows i from k on and begin ≤ q < end."""
    x = active.entries[STEP]
    row0, row1 = _row(active, k), _row(active, k + 1)
    row2, row3 = _row(active, k + 2), _row(active, k + 3)
    x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
    for q in range(begin, end):
        x[q] -= x0 * row0[q] + x1 * row1[q] + x2 * row2[q] + x3 * row3[q]
