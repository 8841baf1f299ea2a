"""min_y  yᵀKy − 2 yᵀk + α‖y‖₁  for many k on one K: feature-sign search on the active set.

With h = k − Ky (minus half the gradient) and τ = α/2, y is optimal when h_j = τ sign(y_j) where
y_j ≠ 0 and |h_j| ≤ τ elsewhere. One round

1. proposes several atoms with |h_j| > τ, each chosen after the correlation that the earlier ones
   explain has been (partly) taken off, so that few of them have to leave again;
2. appends them to the Cholesky factor of the active block of K;
3. takes feature-sign steps (Newton steps on the active block, cut by an exact search over the sign
   changes) to the optimum of the active block;
4. recomputes h over all atoms, which is the test of optimality, or first over those near their limit.

The violation |h_j| − τ of an atom is judged in the atom's own scale √K_jj, so that a short atom counts as
much as a long one. K, k and τ come in units in which no square overflows. No loop depends on a
comparison to end, because every comparison with a NaN is false: K may be no Gram matrix.

Everything here is serial and releases the GIL: threads work on blocks of queries.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from spdatoms._compiled.active_factor import (
    CODE,
    CROSSING,
    HALF_STEP,
    SIGN,
    SLACK,
    STEP,
    ActiveSet,
    AtomScales,
    append,
    new_active_set,
    remove,
    solve_lower,
    solve_upper_end,
    solve_upper_rest,
)
from spdatoms._compiled.correlations import (
    correlate,
    correlate_some,
    largest_violation,
    settle,
    watch,
)
from spdatoms._compiled.panel import PANEL
from spdatoms._compiled.report import (
    EXCESS,
    LINEAR,
    NONZEROS,
    NORM,
    PEAK,
    QUADRATIC,
    ROUNDS,
    VIOLATION,
)
from spdatoms._compiled.rows import fetch
from spdatoms._compiled.scan import LANES, indices_above, take_off, two_largest
from spdatoms._compiled.translate import apart, reordered, translated

SOLVED = -1  # what `code_block` returns when no query met an indefinite block
# Sizes of the active set that are none: K_AA is indefinite, or there is no room for so many atoms.
INDEFINITE, FULL = -1, -2

# A round proposes up to MORE_PROPOSALS + GROWTH · (active atoms) atoms, or LEAST_PROPOSALS. With DAMPING 1 a proposal
# takes off its whole one-atom step, which overshoots when atoms are correlated, and those of a
# kernel are; with 0 the proposals of a round are nearly copies of each other. CONTENDER leaves out
# atoms whose violation is too small against the worst one to be proposed in the same round. All
# of them were chosen by timing; the answer does not depend on them.
LEAST_PROPOSALS = 16
MORE_PROPOSALS = 8
GROWTH = 0.5
DAMPING = 0.3
CONTENDER = 0.12

FAR = 1024  # atoms from which on rows of K are far away in memory, and asked for ahead of time

FIRST_CAPACITY = 128  # active atoms that there is room for at first


@apart
@reordered
def _propose(
    gram,
    h,
    excess,
    tau,
    tolerance,
    fold,
    limit,
    inverse_scale,
    uniform,
    proposals,
    contenders,
    explained,
):
    """Write up to `limit` atoms with |h_j| > τ to `proposals`, worst first; return how many.

    Greedy coordinate descent that is never written to the code: after each choice its damped step
    is taken off the correlations of the other contenders.
    """
    level = max(tolerance, CONTENDER * excess)
    n_contenders, scanned = 0, 0
    if uniform:
        n_contenders = indices_above(h, fold, tau + level / inverse_scale[0], contenders)
        scanned = h.shape[0] - h.shape[0] % LANES
    for j in range(scanned, h.shape[0]):
        if (max(h[j], fold * h[j]) - tau) * inverse_scale[j] > level:
            contenders[n_contenders] = j
            n_contenders += 1
    for q in range(n_contenders):
        explained[q] = h[contenders[q]]
    for q in range(n_contenders, n_contenders + LANES - 1):
        explained[q] = math.nan
    far, expected, count = h.shape[0] >= FAR, -1, 0
    chosen, following = two_largest(explained, fold, n_contenders)
    for _ in range(min(limit, n_contenders)):
        value, j = explained[chosen], contenders[chosen]
        surplus = max(value, fold * value) - tau
        if not surplus > 0.0:
            break
        proposals[count] = j
        count += 1
        if far:
            if chosen != expected:
                fetch(gram[j])
            fetch(gram[contenders[following]])
            expected = following
        step = DAMPING * math.copysign(surplus, value) * inverse_scale[j] * inverse_scale[j]
        chosen, following = take_off(
            gram[j], step, fold, contenders, explained, n_contenders, chosen
        )
    return count


@apart
def _with_more(gram, active, size, atoms, count, scales, h, tau):
    """Return the size of the active set with these atoms, too, or why it has none."""
    if size + count > active.atoms.shape[0] - PANEL:
        return FULL
    slack, half_step = active.entries[SLACK], active.entries[HALF_STEP]
    for i in range(size):  # they are at their optimum
        slack[i] = 0.0
        half_step[i] = 0.0
    return append(gram, active, size, atoms, count, scales, h, tau)


@apart
def _descend(active, first, size, tau, positive):
    """Feature-sign steps to the optimum of the active block; return its size.

    Each step solves K_AA d = r. A new atom that would move against its sign leaves (one that moves
    with it always remains, since rᵀK_AA⁻¹r > 0), so d is a descent direction: half the objective
    has the slope −rᵀd = −‖z‖² along it. Every step ends at the optimum, drops an atom or lowers the
    objective at other signs, so the steps are finitely many; the bound is there for rounding.
    """
    for _ in range(2 * size + 10):
        first = min(first, size)
        before, known = size, solve_upper_end(active, first, size)
        size = _without_backward(active, known, size)
        if size < before:
            continue
        solve_upper_rest(active, known, size)
        size = _without_backward(active, 0, size)
        if size < before:
            continue
        length, kink = _line_search(active, size, tau, positive)
        first_flip = _move(active, size, length, kink, tau, positive)
        if kink >= 0:
            size = remove(active, size, kink)
            first_flip -= first_flip > kink
        elif first_flip == size and length == 1.0:
            break
        first = 0
        solve_lower(active, first_flip, size)
    return size


def _without_backward(active, known, size):
    """Remove the atoms without a code, of those whose step is known, that would move against their sign."""
    code, sign, step = active.entries[CODE], active.entries[SIGN], active.entries[STEP]
    for i in range(size - 1, known - 1, -1):
        if code[i] == 0.0 and step[i] * sign[i] <= 0.0:
            size = remove(active, size, i)
    return size


def _line_search(active, size, tau, positive):
    """Minimise the objective over y + t d exactly; return t and the entry zero there (−1: none).

    Half the objective has the slope −‖z‖² (1 − t), and 2τ|d_i| more past each sign change of y_i.
    """
    code, step, z = active.entries[CODE], active.entries[STEP], active.entries[HALF_STEP]
    sign, crossing = active.entries[SIGN], active.entries[CROSSING]
    curvature = 0.0
    for i in range(size):
        curvature += z[i] * z[i]
        crosses = (code[i] + step[i]) * sign[i] <= 0.0
        crossing[i] = -code[i] / step[i] if crosses else math.inf
    slope = -curvature
    for _ in range(size + 1):
        nearest = 0
        for i in range(size):
            if crossing[i] < crossing[nearest]:
                nearest = i
        t = crossing[nearest]
        if slope + min(t, 1.0) * curvature >= 0.0:
            return (-slope / curvature if slope < 0.0 else 1.0), -1
        slope += 2.0 * tau * abs(step[nearest])
        if positive or slope + t * curvature >= 0.0:
            return t, nearest
        crossing[nearest] = math.inf
    return 0.0, -1


def _move(active, size, length, kink, tau, positive):
    """y += t d; return the first entry whose sign has changed (`size` if none).

    A code that must be positive can cross zero by a rounding error only, and stops there.
    """
    code, sign, step = active.entries[CODE], active.entries[SIGN], active.entries[STEP]
    slack, half_step = active.entries[SLACK], active.entries[HALF_STEP]
    first_flip = size
    for i in range(size - 1, -1, -1):
        code[i] += length * step[i]
        slack[i] *= 1.0 - length
        half_step[i] *= 1.0 - length
        if i != kink and code[i] * sign[i] < 0.0:
            if positive:
                code[i] = 0.0
            else:
                sign[i] = -sign[i]
                slack[i] -= 2.0 * tau * sign[i]
            first_flip = i
    return first_flip


def _support(code, positive, excluded, support):
    """Write the atoms of a starting code to `support`; return how many there are."""
    count = 0
    for j in range(code.shape[0]):
        if (code[j] > 0.0 or (code[j] < 0.0 and not positive)) and j != excluded:
            support[count] = j
            count += 1
    return count


def _start(active, size, code):
    """Give the active atoms the values of a starting code."""
    for i in range(size):
        active.entries[CODE, i] = code[active.atoms[i]]
        active.entries[SIGN, i] = math.copysign(1.0, active.entries[CODE, i])


@reordered
def _total(h):
    total = 0.0
    for j in range(h.shape[0]):
        total += h[j]
    return total


@apart
def _deliver(cross, tau, active, size, peak, excess, inverse_scale, h, code, report):
    """Write the code, and what `code_block` reports of it except the rounds; return whether all is finite."""
    values, sign, slack = active.entries[CODE], active.entries[SIGN], active.entries[SLACK]
    violation, linear, quadratic, norm = max(0.0, peak - tau), 0.0, 0.0, 0.0
    total = _total(h)  # not finite if an active row of K is not
    report[NONZEROS] = 0.0
    for j in range(h.shape[0]):
        code[j] = 0.0
    for i in range(size):
        j, y = active.atoms[i], values[i]
        report[NONZEROS] += y != 0.0
        correlation = slack[i] + tau * sign[i]
        code[j] = y
        violation = max(violation, abs(slack[i]))
        excess = max(excess, abs(slack[i]) * inverse_scale[j])
        linear += y * cross[j]
        quadratic += y * (cross[j] - correlation)
        norm += abs(y)
        peak = max(peak, correlation * sign[i])
    report[LINEAR], report[QUADRATIC], report[NORM] = linear, quadratic, norm
    report[VIOLATION], report[EXCESS], report[PEAK] = violation, excess, peak
    return math.isfinite(total + violation + linear + quadratic + norm)


def _search(
    gram, cross, tau, tolerance, positive, max_rounds, scales, excluded, active, size, scratch
):
    """Run rounds to the optimum.

    Return the size of the active set (−1 if an indefinite block was met), the rounds, and of the other
    atoms max |h_j| and the largest violation in their own scale.
    """
    h, explained, contenders, atoms, watched = scratch
    fold = 0.0 if positive else -1.0
    inverse_scale = scales.inverse
    rounds, previous_error, peak, excess, n_watched = 0, math.inf, 0.0, 0.0, 0
    for rounds in range(max_rounds + 1):
        error, partly = 0.0, n_watched > 0 and rounds < max_rounds
        if partly:
            before = excess
            correlate_some(gram, cross, active, size, watched, n_watched, explained, h)
            peak, excess = largest_violation(h, tau, scales, fold)
            partly = tolerance < excess <= 0.5 * before
        if not partly:
            correlate(gram, cross, active, size, h)
            error = settle(active, size, tau, inverse_scale, h)
            if excluded >= 0:
                h[excluded] = 0.0  # never proposed, and no part of the test of optimality
            peak, excess = largest_violation(h, tau, scales, fold)
        n_watched = 0
        block_is_optimal = error <= tolerance
        if (block_is_optimal and excess <= tolerance) or rounds == max_rounds:
            break  # all atoms have been looked at
        if block_is_optimal:
            limit = max(LEAST_PROPOSALS, MORE_PROPOSALS + int(GROWTH * size))
            count = _propose(
                gram, h, excess, tau, tolerance, fold, limit, inverse_scale,
                scales.uniform, atoms, contenders, explained,
            )  # fmt: skip
            if count < limit:
                n_watched = watch(h, tau, excess, scales, fold, watched)
            first = size
            size = _with_more(gram, active, first, atoms, count, scales, h, tau)
            if size < 0:
                break
            previous_error = math.inf
        elif error <= 0.5 * previous_error:  # a starting code, or iterative refinement
            first = 0
            solve_lower(active, first, size)
            previous_error = error
        else:
            break  # refinement has come down to rounding error
        size = _descend(active, first, size, tau, positive)
    return size, rounds, peak, excess


def code_query(
    gram, cross, tau, tolerance, positive, max_rounds, scales, excluded, warm, active, scratch, code, report,
):  # fmt: skip
    """Code one query, from its code if ``warm``; return the size of its active set, FULL or INDEFINITE."""
    h, _, _, atoms, _ = scratch
    size = 0
    if warm:
        count = _support(code, positive, excluded, atoms)
        size = _with_more(gram, active, 0, atoms, count, scales, cross, tau)
        if size < 0:
            return size
        _start(active, size, code)
    size, rounds, peak, excess = _search(
        gram, cross, tau, tolerance, positive, max_rounds, scales, excluded, active, size, scratch
    )
    if size < 0:
        return size
    if not _deliver(cross, tau, active, size, peak, excess, scales.inverse, h, code, report):
        return INDEFINITE
    report[ROUNDS] = rounds
    return size


@translated(types.UniTuple(types.int64, 2))
def _code_rows(
    gram, cross, tau, tolerance, positive, max_rounds, excluded, warm, codes, report,
    inverse, uniform, dependent, indefinite, rows, first,
    active_atoms, entries, factor, starts, panel, squares, corner, places, h, explained, integers,
):  # fmt: skip
    """Code these rows, from the first of them on; return the number of that where it stopped, and the size it had."""
    active = ActiveSet(active_atoms, entries, factor, starts, panel, squares, corner, places)
    scales = AtomScales(inverse, uniform, (dependent, indefinite))
    scratch = h, explained, integers[0], integers[1], integers[2]
    for number in range(first, rows.shape[0]):
        query = rows[number]
        fetch(cross[rows[min(number + 1, rows.shape[0] - 1)]])  # which may be anywhere
        size = code_query(
            gram, cross[query], tau[query], tolerance[query], positive, max_rounds, scales,
            excluded[query], warm, active, scratch, codes[query], report[query],
        )  # fmt: skip
        if size < 0:
            return number, size
    return rows.shape[0], 0


def new_scratch(n_atoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return h, what proposals explain, and three lists of atoms: any number that is read there is one."""
    lists = np.zeros((3, n_atoms + LANES), np.int64)
    return np.empty(n_atoms), np.empty(n_atoms + LANES), lists


def code_block(
    gram: np.ndarray,
    cross: np.ndarray,
    tau: np.ndarray,
    tolerance: np.ndarray,
    positive: bool,
    max_rounds: int,
    scales: AtomScales,
    excluded: np.ndarray,
    warm: bool,
    codes: np.ndarray,
    report: np.ndarray,
    rows: np.ndarray | None = None,
) -> int:
    """Code rows of `cross`; return SOLVED, or the number of the one for which K_AA turned out indefinite.

    Parameters
    ----------
    gram : (N, N), cross : (m, N)
        K and the k of each query.
    tau, tolerance : (m,)
        α/2, and the error allowed in h_j/√K_jj.
    positive : bool
    max_rounds : int
    scales : AtomScales
    excluded : (m,)
        An atom that the query must not use, −1 for none.
    warm : bool
        Whether `codes` holds codes to start from, and not zeros.
    codes : (m, N)
        Overwritten by the solutions.
    report : (m, REPORT)
        Overwritten, see `report`.
    rows : (q,)
        Which rows are coded, one after the other; None for all. What a query needs of K may still be in the cache
        if the one before is like it.
    """
    n_atoms, number, size = len(gram), 0, FULL
    rows = np.arange(len(cross)) if rows is None else rows
    scratch = new_scratch(n_atoms)
    for times in range(n_atoms.bit_length()):
        # Four times as much each time: the query that found no room begins again.
        active = new_active_set(min(n_atoms, FIRST_CAPACITY << (2 * times)))
        number, size = _code_rows(
            gram, cross, tau, tolerance, positive, max_rounds, excluded, warm, codes, report,
            scales.inverse, scales.uniform, *scales.limits, rows, number, *active, *scratch,
        )  # fmt: skip
        if size != FULL:
            break
    return number if size == INDEFINITE else SOLVED
