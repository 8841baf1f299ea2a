"""min_{y≥0} cᵀy − logdet M over M = Σ_j y_j D_j ⪯ X: a primal–dual interior-point method on few atoms.

If the optimum without the bound keeps it, that is the answer. Otherwise everything is seen from X, which
becomes the identity: then S = I − M has an error of rounding alone, however ill-conditioned X is. M is scaled
under the bound, and a multiplier Z ≻ 0 of S ≻ 0 comes to it. A round linearises the optimality conditions

    c_j + tr(ZD_j) − tr(M⁻¹D_j) ≥ 0, with equality where y_j > 0,    and    Z = μS⁻¹

twice, as Mehrotra does: for μ = 0, which shows how far μ may fall and what the linearisation leaves out;
then for that μ and with the second-order terms. With dS = −dM it is Z + dZ = μS⁻¹ + ½(S⁻¹ dM Z + Z dM S⁻¹)
(the direction of Helmberg, Rendl, Vanderbei and Wolkowicz; Kojima, Shindoh and Hara; Monteiro), so that

    H_ij = tr(M⁻¹D_i M⁻¹D_j) + tr(S⁻¹D_i ZD_j)

and Cholesky factors are all that is needed. Signs of y are kept by the exact solution of the quadratic
model over y ≥ 0. As without the bound, the variables are x_j = c_j y_j.
"""

from __future__ import annotations

import math

import numpy as np

from spdatoms._compiled.congruence import LANES, gather, gram_of, transform_fully, transform_halves
from spdatoms._compiled.jit import kept
from spdatoms._compiled.maxdet import (
    GAP,
    HALVINGS_TO_ZERO,
    OBJECTIVE,
    PATIENCE,
    RESIDUAL,
    ROUNDS,
    matrix_of_code,
    move,
    products,
    scale,
    stationarity,
    take,
    total,
    working_set,
)
from spdatoms._compiled.nonnegative import nonnegative_step
from spdatoms._compiled.small_matrices import (
    add,
    compiled,
    factorise,
    factorise_sum,
    inner_product,
    invert,
    log_determinant,
    multiply,
    multiply_symmetric,
    pack,
    unpack,
)

# The share of the way to the edge of the cone that a step may go.
_TO_THE_EDGE = 0.99
# Halvings that find the edge of the cone, to within 1/128 of the step; to choose μ, 1/16 is good enough.
_HALVINGS, _ROUGH_HALVINGS = 7, 4
# The first M is so much of what the bound allows.
_FIRST_SHARE = 0.9
# A round is expected to leave at least this fraction of tr(SZ).
_LEAST_LEFT = 1e-2
# Codes below this share of the duality gap are dropped on their way to zero.
_NEGLIGIBLE_SHARE = 0.1


@compiled
def _inside(S, Z, M, dZ, dM, t, work):
    """Return whether S − t dM, Z + t dZ and M + t dM are positive definite."""
    return (
        factorise_sum(S, -t, dM, work)
        and factorise_sum(Z, t, dZ, work)
        and factorise_sum(M, t, dM, work)
    )


@compiled
def _to_the_edge(S, Z, M, dZ, dM, halvings, work):
    """The t ≤ 1 that goes `_TO_THE_EDGE` of the way to the edge of the cone, nearly."""
    if _inside(S, Z, M, dZ, dM, 1.0 / _TO_THE_EDGE, work):
        return 1.0
    low, high = 0.0, 1.0 / _TO_THE_EDGE
    for _ in range(halvings):
        t = 0.5 * (low + high)
        if _inside(S, Z, M, dZ, dM, t, work):
            low = t
        else:
            high = t
    return _TO_THE_EDGE * low


@compiled
def _largest_multiple(X, M, work):
    """The t, to a tenth, up to which tM ⪯ X; it is known to be below 1."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS_TO_ZERO):
        if high - low <= 0.1 * high:
            break
        t = 0.5 * (low + high)
        if factorise_sum(X, -t, M, work):
            low = t
        else:
            high = t
    return low


@compiled
def _transpose(A, B):
    """Write B = Aᵀ."""
    for i in range(len(A)):
        for j in range(len(A)):
            B[i, j] = A[j, i]


@compiled
def _seen_from(T, atoms, costs):
    """Return T D_j Tᵀ / c_j, the half-vectors of these matrices, and memory for all of them in lanes."""
    N, n = atoms.shape[:2]
    p = n * (n + 1) // 2
    groups = -(-N // LANES)
    stack, V = np.empty((groups, n, n, LANES)), np.empty((groups, p, LANES))
    gather(atoms, costs, np.arange(N), N, stack)
    transform_halves(T, stack, V)
    seen, halves = np.empty((N, n, n)), np.empty((N, p))
    for j in range(N):
        for k in range(p):
            halves[j, k] = V[j // LANES, k, j % LANES]
        unpack(halves[j], seen[j])
    return seen, halves, stack


@compiled
def _multiplier_step(Z, inverse_slack, dM, mu, correction, dZ, work):
    """dZ = μS⁻¹ − Z + ½(S⁻¹ dM Z + Z dM S⁻¹) + correction."""
    multiply_symmetric(inverse_slack, dM, Z, dZ, work)
    for i in range(len(Z)):
        for j in range(len(Z)):
            dZ[i, j] += mu * inverse_slack[i, j] - Z[i, j] + correction[i, j]


@compiled
def _second_order(inverse, inverse_slack, dM, dZ, correction, curvature, work):
    """Write ½(S⁻¹ dM dZ + dZ dM S⁻¹) and M⁻¹dM M⁻¹dM M⁻¹; dZ is lost."""
    multiply_symmetric(inverse_slack, dM, dZ, correction, work)
    multiply_symmetric(inverse, dM, inverse, dZ, work)
    multiply_symmetric(dZ, dM, inverse, curvature, work)


@compiled
def _hessian(stack, TM, TS, LZ, V):
    """H of the matrices in a stack, as their Gram matrix in both frames."""
    n = len(TM)
    p = n * (n + 1) // 2
    U, V = np.empty((n, n)), V[: len(stack)]
    _transpose(LZ, U)
    transform_halves(TM, stack, V[:, :p])
    transform_fully(TS, stack, U, V[:, p:])
    return gram_of(V)


@compiled
def _direction(halves, working, H, x, slopes, tolerance, half, dM):
    """Return the step that minimises the quadratic model, and write its dM."""
    step = nonnegative_step(H, x, slopes, tolerance)
    for k in range(len(half)):
        half[k] = 0.0
    for i in range(len(step)):
        for k in range(len(half)):
            half[k] += step[i] * halves[working[i], k]
    unpack(half, dM)
    return step


@compiled
def _correct_slopes(halves, working, mu, inverse_slack, correction, curvature, half, slopes):
    """Add ⟨μS⁻¹ + ½(S⁻¹ dM dZ + dZ dM S⁻¹) − M⁻¹dM M⁻¹dM M⁻¹, D_j⟩ to the slopes; the last term is lost."""
    for i in range(len(correction)):
        for j in range(len(correction)):
            curvature[i, j] = mu * inverse_slack[i, j] + correction[i, j] - curvature[i, j]
    pack(curvature, half)
    for i in range(len(slopes)):
        for k in range(len(half)):
            slopes[i] += half[k] * halves[working[i], k]


@compiled
def _smaller_mu(S, Z, dM, dZ, t, complementarity):
    """μσ with nμ = tr(SZ) and σ the third power of what a step t towards μ = 0 leaves of tr(SZ)."""
    left = complementarity + t * (inner_product(S, dZ) - inner_product(dM, Z))
    left = (left - t * t * inner_product(dM, dZ)) / complementarity
    return complementarity / len(S) * min(1.0, max(left, _LEAST_LEFT)) ** 3


@compiled
def _certify(halves, costs, x, identity, inverse, LM, S, Z, slack, pull, half, multiplier, report):
    """Write pull_j = tr(M⁻¹D_j)/c_j, slack_j = 1 + tr(ZD_j)/c_j − pull_j, Z, and the report; return tr(SZ)."""
    n = len(S)
    pack(inverse, half)
    products(halves, half, costs, pull)
    pack(Z, multiplier)
    products(halves, multiplier, costs, slack)
    ratio = 0.0
    for j in range(len(x)):
        price = 1.0 + slack[j]
        ratio = max(ratio, pull[j] / price)
        slack[j] = price - pull[j]
    complementarity = inner_product(S, Z)
    # (M⁻¹/ratio, Z) is feasible for the dual problem.
    gap = total(x) - n + inner_product(identity, Z) + n * math.log(ratio)
    report[OBJECTIVE] = total(x) - log_determinant(LM)
    report[GAP] = max(gap, 0.0)
    report[RESIDUAL] = max(stationarity(x, slack), complementarity / n)
    return complementarity


@kept
def code_bounded(atoms, halves, costs, X, tolerance, max_rounds, x, multiplier, report):
    """Code one query; return whether the bound matters. If x keeps it, nothing is changed.

    Parameters
    ----------
    X : (n, n)
        The bound.
    x : (N,)
        About the solution without the bound. Overwritten by c∘y.
    multiplier : (p,)
        Overwritten by the half-vector of Z.
    atoms, halves, costs, tolerance, max_rounds, report
        As in `spdatoms._compiled.maxdet.code_free`.
    """
    N, p = halves.shape
    n = atoms.shape[1]
    working, pull, slack, half = np.empty(N, np.int64), np.empty(N), np.empty(N), np.empty(p)
    M, LM, TM, inverse = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    S, LS, TS, inverse_slack = (
        np.empty((n, n)),
        np.empty((n, n)),
        np.empty((n, n)),
        np.empty((n, n)),
    )
    Z, LZ, dM, dZ = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    work, correction, curvature = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    LX, TX, identity, ones = np.empty((n, n)), np.empty((n, n)), np.eye(n), np.ones(N)
    matrix_of_code(halves, costs, x, half, M)
    if factorise_sum(X, -1.0, M, work):
        return False
    factorise(X, LX)
    invert(LX, TX, work)
    # From here on X is the identity, and the costs are in the atoms.
    atoms, halves, stack = _seen_from(TX, atoms, costs)
    transformed = np.empty((len(stack), p + n * n, LANES))
    matrix_of_code(halves, ones, x, half, M)
    share = _FIRST_SHARE * _largest_multiple(identity, M, work)
    scale(x, share)
    add(M, share - 1.0, M, M)
    add(identity, -1.0, M, S)
    factorise(S, LS)
    invert(LS, TS, Z)
    # Z = μS⁻¹, and the conditions hold in the mean over the code: Σ x_j + tr(ZM) = n.
    mu = (n - total(x)) / inner_product(Z, M)
    add(Z, mu - 1.0, Z, Z)
    factorise(M, LM)
    factorise(Z, LZ)
    halved_gap, stalled, report[ROUNDS] = np.inf, 0, 0
    for _ in range(max_rounds + 1):
        invert(LM, TM, inverse)
        invert(LS, TS, inverse_slack)
        complementarity = _certify(
            halves, ones, x, identity, inverse, LM, S, Z, slack, pull, half, multiplier, report
        )
        halved = report[GAP] < 0.5 * halved_gap
        halved_gap, stalled = (report[GAP], 0) if halved else (halved_gap, stalled + 1)
        solved = report[GAP] <= tolerance * n and report[RESIDUAL] <= tolerance
        if solved or report[ROUNDS] == max_rounds or stalled > PATIENCE:
            break
        count = working_set(x, slack, working, 0.1 * tolerance, p)
        chosen = gather(atoms, ones, working, count, stack)
        H = _hessian(chosen, TM, TS, LZ, transformed)
        old, slopes = take(x, working, count), take(pull, working, count)
        for i in range(count):
            slopes[i] = 1.0 - slopes[i]
        mu = 0.0
        correction.fill(0.0)
        for predicting in (True, False):
            step = _direction(halves, working, H, old, slopes, 0.01 * tolerance, half, dM)
            _multiplier_step(Z, inverse_slack, dM, mu, correction, dZ, work)
            halvings = _ROUGH_HALVINGS if predicting else _HALVINGS
            t = _to_the_edge(S, Z, M, dZ, dM, halvings, work)
            if predicting:
                mu = max(_smaller_mu(S, Z, dM, dZ, t, complementarity), 0.1 * tolerance)
                _second_order(inverse, inverse_slack, dM, dZ, correction, curvature, work)
                _correct_slopes(
                    halves, working, mu, inverse_slack, correction, curvature, half, slopes
                )
        # More than a share of the gap would undo what the round has gained, where an atom gives way to its copy.
        move(x, working, step, t, _NEGLIGIBLE_SHARE * report[GAP])
        matrix_of_code(halves, ones, x, half, M)
        add(identity, -1.0, M, S)
        add(Z, t, dZ, Z)
        if not (factorise(S, LS) and factorise(Z, LZ) and factorise(M, LM)):
            # Rounding leaves no new point inside the cone: the one before is the best there is.
            for i in range(count):
                x[working[i]] = old[i]
            break
        report[ROUNDS] += 1
    report[OBJECTIVE] -= log_determinant(LX)
    unpack(multiplier, Z)
    _transpose(TX, TS)
    multiply(TS, Z, work)
    multiply(work, TX, Z)
    pack(Z, multiplier)
    return True
