"""L Lᵀ = K_AA: the Cholesky factor of the active block of a Gram matrix, as atoms come and go.

L is held by rows. Its diagonal is kept apart, as reciprocals, and every row has zeros from the
diagonal up to the next multiple of LANES, so that no inner loop has a scalar remainder.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

REASSOCIATE = {"contract", "reassoc", "nsz"}  # keeps NaN and infinity honest, unlike fastmath=True

LANES = 16
PANEL = 4  # rows appended together: each row of L that is loaded serves four of them


class ActiveSet(NamedTuple):
    """The active atoms, what is known of each (entry i belongs to `atoms[i]`) and their factor."""

    atoms: np.ndarray
    code: np.ndarray
    sign: np.ndarray  # θ: the sign that the code has or is about to take
    slack: np.ndarray  # r = h − τθ: zero at the optimum of the active block
    half_step: np.ndarray  # z = L⁻¹ r
    step: np.ndarray  # K_AA⁻¹ r = L⁻ᵀ z
    factor: np.ndarray
    reciprocal_pivot: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray
    crossing: np.ndarray  # step length at which a code changes sign
    crossing_order: np.ndarray


@njit(cache=True, nogil=True)
def _padded(length):
    return (length + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True)
def new_active_set(capacity):
    """Return an empty active set with room for `capacity` atoms."""
    rows = capacity + PANEL
    width = _padded(rows) + LANES
    return ActiveSet(
        np.zeros(width, np.int64),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros((rows, width + 8)),  # + 8: rows must not all fall on the same sets of the cache
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width, np.int64),
    )


@njit(cache=True, nogil=True)
def with_room(active, size, wanted):
    """Return the active set itself, or a copy with twice the room wanted."""
    if wanted + PANEL <= active.factor.shape[0]:
        return active
    larger = new_active_set(2 * wanted)
    for i in range(size):
        larger.atoms[i] = active.atoms[i]
        larger.code[i] = active.code[i]
        larger.sign[i] = active.sign[i]
        larger.slack[i] = active.slack[i]
        larger.half_step[i] = active.half_step[i]
        larger.reciprocal_pivot[i] = active.reciprocal_pivot[i]
        larger.factor[i, :i] = active.factor[i, :i]
    return larger


@njit(cache=True, nogil=True)
def append(gram, active, size, new_atoms, n_new, pivot_floor, indefinite_below):
    """Append atoms to the active set, code zero; return the new size, or −1 if K_AA is indefinite.

    A squared pivot under `pivot_floor` says that the atom is a combination of the active ones, up
    to rounding. It is left out, unless it is the first of `new_atoms`: the caller has to make
    progress with that one, so its pivot is raised to the floor.
    """
    for start in range(0, n_new, PANEL):
        count = min(PANEL, n_new - start)
        first = size
        for p in range(PANEL):
            _load_gram_row(gram, active, first, new_atoms, start + p, p < count, first + p)
        _solve_panel(active.factor, active.reciprocal_pivot, first)
        for p in range(count):
            j = new_atoms[start + p]
            row = active.factor[first + p]
            for i in range(first, size):  # panel mates that were taken
                row[i] = gram[j, active.atoms[i]]
            pivot = _finish_row(active, first, size, row, gram[j, j])
            if pivot < indefinite_below:
                return -1
            if pivot < pivot_floor:
                if start + p > 0:
                    continue
                pivot = pivot_floor
            _take_row(active, size, row, j, pivot)
            size += 1
    return size


@njit(cache=True, nogil=True)
def _load_gram_row(gram, active, size, new_atoms, p, exists, target):
    row = active.factor[target]
    row[: _padded(size + PANEL)] = 0.0
    if exists:
        gram_row = gram[new_atoms[p]]
        for i in range(size):
            row[i] = gram_row[active.atoms[i]]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _solve_panel(factor, reciprocal_pivot, size):
    """Solve L x = k for the four rows that follow row `size` − 1, two entries of each at a time."""
    x0, x1, x2, x3 = factor[size], factor[size + 1], factor[size + 2], factor[size + 3]
    for i in range(0, size - 1, 2):
        upper, lower = factor[i], factor[i + 1]
        u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
        l0, l1, l2, l3 = 0.0, 0.0, 0.0, 0.0
        length = _padded(i)
        for q in range(length):
            u, v = upper[q], lower[q]
            u0 += u * x0[q]
            l0 += v * x0[q]
            u1 += u * x1[q]
            l1 += v * x1[q]
            u2 += u * x2[q]
            l2 += v * x2[q]
            u3 += u * x3[q]
            l3 += v * x3[q]
        # The padding of the loop has multiplied lower[i] by the entry i that was not solved yet.
        early = lower[i] if length > i else 0.0
        p, q = reciprocal_pivot[i], reciprocal_pivot[i + 1]
        _solve_pair(x0, i, u0, l0, lower[i], early, p, q)
        _solve_pair(x1, i, u1, l1, lower[i], early, p, q)
        _solve_pair(x2, i, u2, l2, lower[i], early, p, q)
        _solve_pair(x3, i, u3, l3, lower[i], early, p, q)
    if size % 2 == 1:
        _solve_entry(factor, reciprocal_pivot, size - 1, x0)
        _solve_entry(factor, reciprocal_pivot, size - 1, x1)
        _solve_entry(factor, reciprocal_pivot, size - 1, x2)
        _solve_entry(factor, reciprocal_pivot, size - 1, x3)


@njit(cache=True, nogil=True, fastmath=REASSOCIATE, inline="always")
def _solve_pair(x, i, upper_dot, lower_dot, subdiagonal, early, reciprocal0, reciprocal1):
    given = x[i]
    solved = (given - upper_dot) * reciprocal0
    x[i] = solved
    x[i + 1] = (x[i + 1] - lower_dot + early * given - subdiagonal * solved) * reciprocal1


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _solve_entry(factor, reciprocal_pivot, i, x):
    row, total = factor[i], 0.0
    for q in range(_padded(i)):
        total += row[q] * x[q]
    x[i] = (x[i] - total) * reciprocal_pivot[i]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _finish_row(active, first, size, row, diagonal):
    """Solve for the entries `first` to `size`, return the squared pivot."""
    for i in range(first, size):
        _solve_entry(active.factor, active.reciprocal_pivot, i, row)
    pivot = diagonal
    for q in range(size):
        pivot -= row[q] * row[q]
    return pivot


@njit(cache=True, nogil=True)
def _take_row(active, size, row, atom, pivot):
    target = active.factor[size]
    for q in range(size):
        target[q] = row[q]
    target[size : _padded(size)] = 0.0
    active.reciprocal_pivot[size] = 1.0 / math.sqrt(pivot)
    active.atoms[size] = atom
    active.code[size] = 0.0


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def remove(active, size, leaving):
    """Remove entry `leaving` from the set, its factor and z, by Givens rotations; return the size.

    Row i + 1 becomes row i. Rotation k clears what then stands right of the diagonal in row k, and
    acts on columns k and k + 1 of the rows below it, and of z.
    """
    factor, reciprocal = active.factor, active.reciprocal_pivot
    cosine, sine, z = active.cosine, active.sine, active.half_step
    z_carried = z[leaving]
    for i in range(leaving, size - 1):
        source, target = factor[i + 1], factor[i]
        for k in range(leaving):
            target[k] = source[k]
        carried = source[leaving]
        for k in range(leaving, i):
            following = source[k + 1]
            target[k] = cosine[k] * carried + sine[k] * following
            carried = cosine[k] * following - sine[k] * carried
        target[i : _padded(i)] = 0.0
        pivot = 1.0 / reciprocal[i + 1]
        reciprocal[i] = 1.0 / math.sqrt(carried * carried + pivot * pivot)
        cosine[i], sine[i] = carried * reciprocal[i], pivot * reciprocal[i]
        following = z[i + 1]
        z[i] = cosine[i] * z_carried + sine[i] * following
        z_carried = cosine[i] * following - sine[i] * z_carried
        active.atoms[i] = active.atoms[i + 1]
        active.code[i] = active.code[i + 1]
        active.sign[i] = active.sign[i + 1]
        active.slack[i] = active.slack[i + 1]
    return size - 1


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def solve_lower(active, first, size):
    """z = L⁻¹ r, where the entries before `first` are right already."""
    factor, z = active.factor, active.half_step
    z[first : _padded(size)] = 0.0
    for i in range(first, size):
        row, total = factor[i], 0.0
        for q in range(_padded(i)):
            total += row[q] * z[q]
        z[i] = (active.slack[i] - total) * active.reciprocal_pivot[i]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def solve_upper(active, size):
    """Step = L⁻ᵀ z, two rows at a time."""
    factor, reciprocal, x = active.factor, active.reciprocal_pivot, active.step
    for i in range(size):
        x[i] = active.half_step[i]
    x[size : _padded(size)] = 0.0
    last = size - 1
    if size % 2 == 1:
        row, value = factor[last], x[last] * reciprocal[last]
        for q in range(_padded(last)):
            x[q] -= value * row[q]
        x[last] = value
        last -= 1
    for i in range(last, 0, -2):
        lower, upper = factor[i], factor[i - 1]
        value1 = x[i] * reciprocal[i]
        value0 = (x[i - 1] - value1 * lower[i - 1]) * reciprocal[i - 1]
        for q in range(_padded(i)):
            x[q] -= value1 * lower[q] + value0 * upper[q]
        x[i], x[i - 1] = value1, value0
