"""Lane kernels over *some* pairs of matrices: for every column r of a sparse matrix, the rows i it uses.

The pattern is that of a CSC matrix: column r uses the rows ``indices[starts[r]:starts[r + 1]]``. Their matrices are
gathered into the lanes of one batch after another, so that a sparse code costs what its non-zeros cost.
"""

import numpy as np

from spdatoms._compiled.inverse import _negative_inverse
from spdatoms._compiled.jit import compiled, kept
from spdatoms._compiled.logdet import _factor, _shifted_logs


@compiled
def _gather(X, indices, start, stop, entries, factor, shift, chosen, out):
    """Fill the lanes with ``factor·X_i + shift``; lanes past the last index repeat it."""
    lanes = out.shape[1]
    for lane in range(lanes):
        chosen[lane] = indices[min(start + lane, stop - 1)]
    for s in range(out.shape[0]):
        entry, added = entries[s], shift[s]
        for lane in range(lanes):
            out[s, lane] = X[chosen[lane], entry] * factor + added


@kept
def add_weighted_inverses_of_pairs(
    tag, scalar, blocks, X, D, factors, starts, indices, weights, entries, panels, work, totals
):
    """Add Σ_i w_ir (factors[r]·(X_i + D_r))⁻¹ to totals[r]; D holds factors[r]·D_r, in tile order like the totals."""
    slots, lanes = work.shape
    chosen = np.empty(lanes, np.int64)
    for r in range(D.shape[0]):
        stop = starts[r + 1]
        for start in range(starts[r], stop, lanes):
            _gather(X, indices, start, stop, entries, factors[r], D[r], chosen, work)
            _negative_inverse(tag, scalar, blocks, work.ctypes.data, panels.ctypes.data)
            used = min(lanes, stop - start)
            for s in range(slots):
                entry = 0.0
                for lane in range(used):
                    entry += weights[start + lane] * work[s, lane]
                totals[r, s] -= entry


@kept
def logdets_of_pairs(
    tag,
    scalar,
    pairs,
    X,
    D,
    factor,
    starts,
    indices,
    entries,
    shifts_x,
    shifts_d,
    floor,
    scratch,
    work,
    out,
):
    """out[p] = max(floor, log det(factor·X_i + D_r) − shifts_x[i] − shifts_d[r]) for entry p = (i, r) of the pattern.

    Return whether all are numbers.
    """
    lanes = work.shape[1]
    chosen = np.empty(lanes, np.int64)
    none = np.zeros(work.shape[0])
    results = np.empty(2 * lanes)
    shifts, logs, verdict = np.empty(lanes), np.empty(lanes), np.zeros(lanes)
    for r in range(D.shape[0]):
        stop = starts[r + 1]
        x = D.ctypes.data + r * D.shape[1] * D.itemsize
        for start in range(starts[r], stop, lanes):
            _gather(X, indices, start, stop, entries, factor, none, chosen, work)
            _factor(
                tag, scalar, pairs, x, work.ctypes.data, scratch.ctypes.data, results.ctypes.data
            )
            for lane in range(lanes):
                shifts[lane] = shifts_x[chosen[lane]]
            shift = shifts_d.ctypes.data + r * shifts_d.itemsize
            _shifted_logs(
                tag, scalar, 1, results.ctypes.data, shift, shifts.ctypes.data, floor.ctypes.data,
                verdict.ctypes.data, logs.ctypes.data,
            )  # fmt: skip
            for lane in range(min(lanes, stop - start)):
                out[start + lane] = logs[lane]
    return not np.isnan(verdict.sum())
