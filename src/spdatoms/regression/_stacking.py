"""How much each cell counts, by the errors of left-out matrices, and what errors the sum of them makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from spdatoms._utils.typing import Array, Floats, Indices

#: Weights are drawn to the same for all cells as by this number of further matrices.
_PRIOR = 3.0
#: Errors are judged with weights that follow from the other ones of this number of parts.
_PARTS = 5
_ROUNDING = 1e-12


def best_ridges(errors: Floats, shares: Floats) -> Any:
    """Return the index of the ridge with the least squared error, for errors (n_ridges, m, …) of a cell."""
    return np.tensordot(errors**2, shares, (1, 0)).argmin(axis=0)


def stack(errors: Sequence[Floats], shares: Floats) -> tuple[Indices, Floats]:
    """Return the best ridge of each cell and the weights of the cells, for one target.

    min_w Σ_i s_i (Σ_c w_c e_ic)² + η·σ²‖w‖² with w ≥ 0 and Σ_c w_c = 1, where σ² is the least mean square
    error of a cell: the more left-out matrices there are, the less weights are drawn together.

    ``errors`` holds for each cell those of left-out matrices by ridge, shape (n_ridges, m).
    """
    best = np.array([best_ridges(e, shares) for e in errors])
    chosen = np.stack([e[i] for e, i in zip(errors, best, strict=True)], axis=1)
    chosen *= np.sqrt(shares / shares.sum())[:, None]
    chosen /= np.sqrt((chosen**2).sum(axis=0).min()) or 1.0
    count = len(errors)
    drawn = np.sqrt(_PRIOR / len(shares)) * np.eye(count)
    # The objective is homogeneous, so the solution with this penalty of Σw ≠ 1 has the right ratios.
    rows = np.concatenate([chosen, drawn, np.ones((1, count))])
    weights = nnls(rows, np.append(np.zeros(len(rows) - 1), 1.0))[0]
    return best, weights / weights.sum()


def stacked_errors(
    errors: Sequence[Floats], shares: Floats, groups: Indices
) -> tuple[Indices, Floats, Floats]:
    """Return ridges and weights as `stack` does, and honest errors of the weighted sum.

    The error of a matrix is that with the ridges and weights that follow from other groups: those that fit its
    own error best would make it too small.
    """
    honest = np.empty(len(shares))
    parts = np.unique(groups, return_inverse=True)[1] % _PARTS
    best, weights = stack(errors, shares)
    for part in range(_PARTS):
        own = parts == part
        chosen = best, weights
        if own.any() and not own.all():
            chosen = stack([e[:, ~own] for e in errors], shares[~own])
        honest[own] = sum(
            w * e[i][own] for e, i, w in zip(errors, chosen[0], chosen[1], strict=True)
        )
    return best, weights, honest


def half_widths(errors: Floats, shares: Floats, coverage: float) -> Array:
    """Return for errors (m, q) what a share of them, and of one more, does not exceed, shape (q,).

    It is infinite if there are too few of them for this coverage.
    """
    sizes = np.abs(errors)
    order = np.argsort(sizes, axis=0)
    wanted = coverage * (len(shares) + 1) * (1.0 - _ROUNDING)
    reached = np.cumsum(shares[order], axis=0) / shares.mean() >= wanted
    found = np.take_along_axis(sizes, order, 0)[reached.argmax(axis=0), np.arange(sizes.shape[1])]
    return np.where(reached.any(axis=0), found, np.inf)
