"""L Lᵀ = K_AA: the Cholesky factor of the active block of a Gram matrix, as atoms come and go.

L is held by rows, one after the other. Its diagonal is kept apart, as reciprocals, and every row has zeros from the
diagonal up to the next multiple of LANES, so that no inner loop has a scalar remainder.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from spdatoms._compiled.translate import reordered

LANES = 16
PANEL = 4  # rows appended together: each row of L that is loaded serves four of them

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

    Row i of the factor begins at `factor[starts[i]]`.
    """

    atoms: np.ndarray
    entries: np.ndarray
    factor: np.ndarray
    starts: np.ndarray


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
    reciprocal, (dependent, indefinite) = active.entries[RECIPROCAL], scales.limits
    for start in range(0, n_new, PANEL):
        count = min(PANEL, n_new - start)
        first = size
        _solve_panel(gram, active, size, new_atoms[start:], count)
        for p in range(count):
            j = new_atoms[start + p]
            row = _row(active, first + p)
            solved = first - first % 2
            for i in range(solved, size):
                row[i] = gram[j, active.atoms[i]]
            pivot = _finish_row(active, solved, size, row, gram[j, j])
            square = 1.0 / (scales.inverse[j] * scales.inverse[j])
            if not pivot >= indefinite * square:  # or it is a NaN
                return -1
            if pivot < dependent * square:
                if start + p > 0:
                    continue
                pivot = dependent * square
            target = _row(active, size)
            for q in range(_padded(size)):
                target[q] = row[q] if q < size else 0.0
            reciprocal[size] = 1.0 / math.sqrt(pivot)
            active.atoms[size] = j
            active.entries[CODE, size] = 0.0
            size += 1
    return size


@reordered
def _solve_panel(gram, active, size, new_atoms, count):
    """Solve L x = K_A,new for four new rows of the factor, two entries of each at a time.

    Fewer new atoms than four are made up by copies. An odd size leaves its last entry unsolved.
    """
    reciprocal, atoms = active.entries[RECIPROCAL], active.atoms
    x0, x1 = _row(active, size), _row(active, size + 1)
    x2, x3 = _row(active, size + 2), _row(active, size + 3)
    last = count - 1
    k0, k1 = gram[new_atoms[0]], gram[new_atoms[min(1, last)]]
    k2, k3 = gram[new_atoms[min(2, last)]], gram[new_atoms[last]]
    for q in range(_padded(size + PANEL)):
        x0[q], x1[q], x2[q], x3[q] = 0.0, 0.0, 0.0, 0.0
    for i in range(0, size - 1, 2):
        upper, lower = _row(active, i), _row(active, i + 1)
        u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
        l0, l1, l2, l3 = 0.0, 0.0, 0.0, 0.0
        for q in range(_padded(i)):
            u, v = upper[q], lower[q]
            u0 += u * x0[q]
            l0 += v * x0[q]
            u1 += u * x1[q]
            l1 += v * x1[q]
            u2 += u * x2[q]
            l2 += v * x2[q]
            u3 += u * x3[q]
            l3 += v * x3[q]
        below, above_pivot, pivot = lower[i], reciprocal[i], reciprocal[i + 1]
        m, n = atoms[i], atoms[i + 1]
        x0[i] = (k0[m] - u0) * above_pivot
        x1[i] = (k1[m] - u1) * above_pivot
        x2[i] = (k2[m] - u2) * above_pivot
        x3[i] = (k3[m] - u3) * above_pivot
        x0[i + 1] = (k0[n] - l0 - below * x0[i]) * pivot
        x1[i + 1] = (k1[n] - l1 - below * x1[i]) * pivot
        x2[i + 1] = (k2[n] - l2 - below * x2[i]) * pivot
        x3[i + 1] = (k3[n] - l3 - below * x3[i]) * pivot


@reordered
def _finish_row(active, first, size, row, diagonal):
    """Solve for the entries `first` to `size`, return the squared pivot."""
    reciprocal = active.entries[RECIPROCAL]
    for i in range(first, size):
        solved, total = _row(active, i), 0.0
        for q in range(_padded(i)):
            total += solved[q] * row[q]
        row[i] = (row[i] - total) * reciprocal[i]
    pivot = diagonal
    for q in range(size):
        pivot -= row[q] * row[q]
    return pivot


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
