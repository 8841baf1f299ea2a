"""min_d ½ dᵀHd + gᵀd over x + d ≥ 0 for a positive semidefinite H: the active-set method of Lawson and Hanson.

The block of H over the positive entries is held as a Cholesky factor that grows by rows.
"""

from __future__ import annotations

import math

import numpy as np

from spdatoms._compiled.small_matrices import compiled

# A squared pivot below this, against its diagonal entry, says that the entry depends on the others. It is
# raised to this value: the step is then long, the right way, and ends where another entry meets zero.
_PIVOT_FLOOR = 1e-15


@compiled
def _append(H, factor, order, size, new):
    """Add a row to L, where L Lᵀ is the block of H over order[:size]."""
    row = factor[size]
    pivot = H[new, new]
    for i in range(size):
        known = factor[i]
        total = H[new, order[i]]
        for k in range(i):
            total -= known[k] * row[k]
        row[i] = total / known[i]
        pivot -= row[i] * row[i]
    row[size] = math.sqrt(max(pivot, _PIVOT_FLOOR * H[new, new]))
    order[size] = new
    return size + 1


@compiled
def _solve(factor, order, size, r, s):
    """Solve L Lᵀ s = −r over order[:size]; s is in that order."""
    for i in range(size):
        total = -r[order[i]]
        for k in range(i):
            total -= factor[i, k] * s[k]
        s[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        s[i] /= factor[i, i]
        for k in range(i):
            s[k] -= factor[i, k] * s[i]


@compiled
def _step_on_face(H, x, gradient, order, size, factor, d, r, s):
    """Go to the minimum over the entries in `order`, or until one of them meets zero; return which.

    r = g + Hd is the gradient at x + d.
    """
    _solve(factor, order, size, r, s)
    step, blocking = 1.0, -1
    for i in range(size):
        j = order[i]
        if x[j] + d[j] + s[i] <= 0.0 and s[i] < 0.0:
            to_zero = (x[j] + d[j]) / -s[i]
            if to_zero < step or blocking < 0:
                step, blocking = min(step, to_zero), j
    for i in range(size):
        d[order[i]] += step * s[i]
    if blocking >= 0:
        d[blocking] = -x[blocking]
    for i in range(size):
        d[order[i]] = max(d[order[i]], -x[order[i]])
    for j in range(len(d)):
        r[j] = gradient[j]
    for j in range(len(d)):
        if d[j] != 0.0:
            for i in range(len(r)):
                r[i] += H[j, i] * d[j]
    return blocking


@compiled
def nonnegative_step(H, x, gradient, tolerance):
    """Return the d that minimises ½ dᵀHd + gᵀd over x + d ≥ 0, from x ≥ 0.

    Every step lowers the objective. It is d and not x + d that is solved for: where H is
    ill-conditioned, the digits of a small step would be lost in those of x.
    """
    n = len(x)
    factor, s, d, r = np.empty((n, n)), np.empty(n), np.zeros(n), gradient.copy()
    order = np.empty(n, np.int64)
    size = np.int64(0)  # not the literal 0: one version of the functions is enough
    for i in range(n):
        if x[i] > 0.0:
            size = _append(H, factor, order, size, i)
    for _ in range(3 * n + 10):
        for _ in range(n):  # each drops an entry
            if _step_on_face(H, x, gradient, order, size, factor, d, r, s) < 0:
                break
            kept = np.int64(0)
            for i in range(size):
                j = order[i]
                if x[j] + d[j] > 0.0:
                    kept = _append(H, factor, order, kept, j)
            size = kept
        best, entering = tolerance, np.int64(-1)
        for j in range(n):
            if x[j] + d[j] <= 0.0 and -r[j] > best:
                best, entering = -r[j], j
        if entering < 0 or size == n:
            # Once more from here, with what rounding has left of r.
            _step_on_face(H, x, gradient, order, size, factor, d, r, s)
            break
        size = _append(H, factor, order, size, entering)
    return d
