"""h = k − Ky, over all atoms or some, and what of it violates the conditions of optimality.

In late rounds few atoms enter, and those that will enter next are near their limit τ already. So h is first computed
anew for these, which `watch` chooses, and for all only if none of them is clearly beyond its limit.
"""

from __future__ import annotations

from spdatoms._compiled.active_factor import CODE, SIGN, SLACK
from spdatoms._compiled.rows import ENTRIES, take_entries_off, take_rows_off
from spdatoms._compiled.scan import LANES, greatest, indices_above
from spdatoms._compiled.translate import apart

# Atoms are watched when the largest violation is under WATCHABLE·τ: those whose h is within WATCH times the largest
# violation of τ, if they are no more than a share WATCHED of at least MANY atoms. These were chosen by timing; the
# answer does not depend on them.
WATCHABLE = 0.5
WATCH = 0.5
WATCHED = 1 / 16
MANY = 256


@apart
def correlate(gram, cross, active, size, h):
    """h = k − K y, six rows of K at a time."""
    atoms, code, rest = active.atoms, active.entries[CODE], size % 6
    if rest == 0:
        take_rows_off(cross, gram, atoms, code, 0, 0, h)
    elif rest == 1:
        take_rows_off(cross, gram, atoms, code, 0, 1, h)
    elif rest == 2:
        take_rows_off(cross, gram, atoms, code, 0, 2, h)
    elif rest == 3:
        take_rows_off(cross, gram, atoms, code, 0, 3, h)
    elif rest == 4:
        take_rows_off(cross, gram, atoms, code, 0, 4, h)
    else:
        take_rows_off(cross, gram, atoms, code, 0, 5, h)
    for i in range(rest, size, 6):
        take_rows_off(h, gram, atoms, code, i, 6, h)
    for j in range(h.shape[0] - h.shape[0] % LANES, h.shape[0]):
        h[j] = cross[j]
        for i in range(size):
            h[j] -= code[i] * gram[atoms[i], j]


@apart
def correlate_some(gram, cross, active, size, atoms, count, scratch, h):
    """h_j = k_j − Σ_i y_i K_ij for some atoms j, and 0 for the active ones."""
    for q in range(count):
        scratch[q] = cross[atoms[q]]
    for i in range(0, size, ENTRIES):
        some = min(ENTRIES, size - i)
        take_entries_off(gram, active.atoms, active.entries[CODE], i, some, atoms, count, scratch)
    for q in range(count):
        h[atoms[q]] = scratch[q]
    for i in range(size):
        h[active.atoms[i]] = 0.0


def settle(active, size, tau, inverse_scale, h):
    """Move the active entries of h to r = h − τθ, leave zeros, return max |r_j|/√K_jj."""
    sign, slack = active.entries[SIGN], active.entries[SLACK]
    worst = 0.0
    for i in range(size):
        j = active.atoms[i]
        slack[i] = h[j] - tau * sign[i]
        h[j] = 0.0
        worst = max(worst, abs(slack[i]) * inverse_scale[j])
    return worst


def largest_violation(h, tau, scales, fold):
    """Return max |h_j|, where |x| is max(x, fold·x), and max (|h_j| − τ)/√K_jj, at least 0."""
    peak = greatest(h, fold)
    for j in range(h.shape[0] - h.shape[0] % LANES, h.shape[0]):
        peak = max(peak, h[j], fold * h[j])
    excess = max(0.0, (peak - tau) * scales.inverse[0])
    if not scales.uniform:
        excess = 0.0
        for j in range(h.shape[0]):
            excess = max(excess, (max(h[j], fold * h[j]) - tau) * scales.inverse[j])
    return peak, excess


def watch(h, tau, excess, scales, fold, atoms):
    """Write the atoms that are near their limit, given the largest violation; return how many, 0 if too many."""
    violation, n_atoms = excess / scales.inverse[0], h.shape[0]
    if n_atoms < MANY or not scales.uniform or violation > WATCHABLE * tau:
        return 0
    count = indices_above(h, fold, tau - WATCH * violation, atoms)
    return count if count <= WATCHED * n_atoms else 0
