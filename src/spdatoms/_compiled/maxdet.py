"""min_{y≥0} cᵀy − logdet(Σ_j y_j D_j): Newton's method on few atoms.

In the variables x_j = c_j y_j atoms of all sizes are alike, and Σ x_j = n at the optimum. A round takes the
atoms in use and some that would lower the objective, minimises the quadratic model over x ≥ 0 exactly, and
goes so far along the way there as the objective falls. Atoms that are not in use therefore have the code
zero, not a small number.
"""

from __future__ import annotations

import math

import numpy as np

from spdatoms._compiled.congruence import LANES, gather, gram_of, transform_halves
from spdatoms._compiled.jit import kept
from spdatoms._compiled.nonnegative import nonnegative_step
from spdatoms._compiled.small_matrices import (
    compiled,
    factorise,
    factorise_sum,
    inner_product,
    invert,
    log_determinant,
    pack,
    unpack,
)

# Atoms that may come in a round: this many, or this share of those in use if that is more.
_PROPOSALS, _SHARE_OF_PROPOSALS = 8, 0.25
# Steps over all atoms before the first code is chosen.
_FIRST_ROUNDS = 5
# Below this Newton decrement a full step is safe (the objective is self-concordant).
_SAFE_DECREMENT = 0.2
# The share of the decrease that the slope promises, which a step must keep.
_SUFFICIENT = 0.1
# Rounds without half the duality gap before rounding is held to be the reason.
PATIENCE = 15
# Halvings that bring 1 to zero, whatever the number that it is compared with.
HALVINGS_TO_ZERO = 1100

OBJECTIVE, GAP, RESIDUAL, ROUNDS = range(4)


@compiled
def working_set(x, gradient, atoms, tolerance, dimension):
    """Write the atoms in use, then those of the most negative gradient; return their number."""
    count = 0
    for j in range(len(x)):
        if x[j] > 0.0:
            atoms[count] = j
            count += 1
    used, most = count, count + max(_PROPOSALS, int(_SHARE_OF_PROPOSALS * count))
    if (
        len(x) > dimension
    ):  # atoms are dependent: the more are looked at together, the fewer are used in the end
        most = 2 * count + _PROPOSALS
    for j in range(len(x)):
        if x[j] > 0.0 or gradient[j] >= -tolerance:
            continue
        # Insertion into the sorted proposals: those that fall off the end are forgotten.
        place = count if count < most else count - 1
        if count == most and gradient[j] >= gradient[atoms[place]]:
            continue
        for before in range(place - 1, used - 1, -1):
            if not gradient[j] < gradient[atoms[before]]:
                break
            atoms[before + 1] = atoms[before]
            place = before
        atoms[place] = j
        count = min(count + 1, most)
    return count


@compiled
def products(halves, half, costs, out):
    """Write ⟨A, D_j⟩ / c_j of all atoms, given the half-vector of A."""
    for j in range(len(halves)):
        total = 0.0
        for k in range(len(half)):
            total += halves[j, k] * half[k]
        out[j] = total / costs[j]


@compiled
def matrix_of_code(halves, costs, x, half, M):
    """Write M = Σ_j x_j D_j / c_j."""
    for k in range(len(half)):
        half[k] = 0.0
    for j in range(len(x)):
        if x[j] > 0.0:
            weight = x[j] / costs[j]
            for k in range(len(half)):
                half[k] += weight * halves[j, k]
    unpack(half, M)


@compiled
def total(x):
    """Σ_j x_j."""
    sum_ = 0.0
    for value in x:
        sum_ += value
    return sum_


@compiled
def scale(x, factor):
    """x *= factor."""
    for j in range(len(x)):
        x[j] *= factor


@compiled
def stationarity(x, gradient):
    """max_j |min(x_j, g_j)|, which is zero where x ≥ 0, g ≥ 0 and x_j g_j = 0; g is relative to c."""
    worst = 0.0
    for j in range(len(x)):
        worst = max(worst, abs(min(x[j], gradient[j])))
    return worst


@compiled
def take(values, atoms, count):
    """The values of the first atoms of a list."""
    taken = np.empty(count)
    for i in range(count):
        taken[i] = values[atoms[i]]
    return taken


@compiled
def move(x, atoms, step, t, negligible):
    """x += t · step over the first atoms of a list; what the whole step puts to zero is zero if so little is left."""
    for i in range(len(step)):
        j = atoms[i]
        ends = x[j] + step[i] < 1e-15 * abs(step[i])
        dropped = ends and (1.0 - t) * x[j] <= negligible
        x[j] = 0.0 if dropped else max(0.0, x[j] + t * step[i])


@compiled
def _gradient(halves, costs, x, half, M, L, T, work, gradient):
    """Write M, its Cholesky factor L, L⁻¹, and the tr(M⁻¹D_j)/c_j."""
    matrix_of_code(halves, costs, x, half, M)
    factorise(M, L)
    invert(L, T, work)
    pack(work, half)
    products(halves, half, costs, gradient)


@compiled
def _first_atom(costs, logdets, n):
    """The atom that represents the query best on its own: least n·log c_j − logdet D_j."""
    best = 0
    for j in range(len(costs)):
        if n * math.log(costs[j] / costs[best]) < logdets[j] - logdets[best]:
            best = j
    return best


@compiled
def _first_code(halves, logdets, costs, half, M, L, T, work, gradient, x):
    """Write the greatest entries of a code that x_j ← x_j tr(M⁻¹D_j)/c_j has improved from x = n/N on.

    The optimum is a fixed point, and no such step raises the objective. If there are more atoms than dimensions, many
    codes are optimal to within the tolerance: then one atom is the start, from which few others are reached.
    """
    N, n = len(x), len(M)
    if len(half) < N:
        x[_first_atom(costs, logdets, n)] = n
        return
    for j in range(N):
        x[j] = n / N
    for _ in range(_FIRST_ROUNDS):
        _gradient(halves, costs, x, half, M, L, T, work, gradient)
        for j in range(N):
            x[j] *= gradient[j]
    least = np.sort(x)[max(0, N - n // 2 - _PROPOSALS)]
    for j in range(N):
        if x[j] < least:
            x[j] = 0.0


@compiled
def _step_length(step, V, n):
    """A t ≤ 1 for which t·Σ step − logdet(I + tB) is low enough, with the B of half-vector V step."""
    half, B, L, identity = np.zeros(V.shape[1]), np.empty((n, n)), np.empty((n, n)), np.eye(n)
    for i in range(len(step)):
        for k in range(len(half)):
            half[k] += step[i] * V[i // LANES, k, i % LANES]
    # As the square of B it is not negative: as a quadratic form of H it might be, where atoms are nearly copies.
    decrement = 0.0
    for value in half:
        decrement += value * value
    decrement = math.sqrt(decrement)
    if decrement <= _SAFE_DECREMENT:
        return 1.0
    slope = total(step)
    unpack(half, B)
    fall = inner_product(identity, B) - slope
    # 1/(1 + decrement) is always short enough.
    t = 1.0
    for _ in range(HALVINGS_TO_ZERO):
        if not t > 1.0 / (1.0 + decrement):
            break
        inside = factorise_sum(identity, t, B, L)
        if inside and log_determinant(L) - t * slope >= _SUFFICIENT * t * fall:
            return t
        t *= 0.5
    return 1.0 / (1.0 + decrement)


@kept
def code_free(atoms, halves, logdets, costs, tolerance, max_rounds, x, report):
    """Code one query.

    Parameters
    ----------
    atoms : (N, n, n), halves : (N, p), logdets : (N,)
        D, their half-vectors and log-determinants.
    costs : (N,)
        c_j = tr(X⁻¹D_j) + α.
    tolerance : float
        The duality gap allowed, over n, and the relative error of the optimality conditions.
    max_rounds : int
    x : (N,)
        Where to start, or zeros. Overwritten by c∘y.
    report : (4,)
        Overwritten by cᵀy − logdet M, duality gap, relative error of the conditions, and rounds.
    """
    N, p = halves.shape
    n = atoms.shape[1]
    working, gradient, half = np.empty(N, np.int64), np.empty(N), np.empty(p)
    M, L, T, work = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    groups = -(-N // LANES)
    stack, transformed = np.empty((groups, n, n, LANES)), np.empty((groups, p, LANES))
    if total(x) <= 0.0:
        _first_code(halves, logdets, costs, half, M, L, T, work, gradient, x)
    halved_gap, stalled = np.inf, 0
    for rounds in range(max_rounds + 1):
        # The best multiple of a code is known: Σ x_j = n.
        scale(x, n / total(x))
        _gradient(halves, costs, x, half, M, L, T, work, gradient)
        ratio = 1.0
        for j in range(N):
            ratio = max(ratio, gradient[j])
            gradient[j] = 1.0 - gradient[j]
        # M⁻¹/ratio is feasible for the dual problem, max logdet W + n over tr(W D_j) ≤ c_j.
        gap = n * math.log(ratio)
        halved = gap < 0.5 * halved_gap
        halved_gap, stalled = (gap, 0) if halved else (halved_gap, stalled + 1)
        residual = stationarity(x, gradient)
        solved = gap <= tolerance * n and residual <= tolerance
        if solved or rounds == max_rounds or stalled > PATIENCE:
            break
        count = working_set(x, gradient, working, 0.1 * tolerance, p)
        chosen = gather(atoms, costs, working, count, stack)
        V = transformed[: len(chosen)]
        transform_halves(T, chosen, V)
        H = gram_of(V)
        slopes = take(gradient, working, count)
        step = nonnegative_step(H, take(x, working, count), slopes, 0.01 * tolerance)
        move(x, working, step, _step_length(step, V, n), 0.0)
    report[OBJECTIVE] = n - log_determinant(L)
    report[GAP], report[RESIDUAL], report[ROUNDS] = gap, residual, rounds
