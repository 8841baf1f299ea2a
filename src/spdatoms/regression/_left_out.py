"""What left-out matrices say: their errors by kernel ridge regression, and what follows for the weights of cells.

All ridges and all left-out matrices need one decomposition of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from spdatoms._utils.folds import Fold
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms._utils.weights import shares_of

#: The ridges that are tried, in units of the mean eigenvalue.
RIDGES = 10.0 ** np.arange(-4.0, 3.01, 0.5)
#: Eigenvalues below this share of the greatest, and negative ones, are zero.
_ROUNDING = 1e-12
#: Weights are drawn to the same for all cells as by this number of further matrices.
_PRIOR = 3.0
#: Errors are judged with weights that follow from the other ones of this number of parts.
_PARTS = 5


class CentredKernel:
    """√W·K̃·√W = UΛUᵀ for K̃ = (I − 1pᵀ) K (I − p1ᵀ), with the weights W of the atoms and p = w / Σw.

    Kernel ridge regression on it is t̄ + k̃ᵀ(K̃ + ρW⁻¹)⁻¹(t − t̄). The mean t̄ is not penalised. Negative eigenvalues
    of an indefinite kernel are clipped.
    """

    def __init__(self, gram: Floats, weights: Floats | None) -> None:
        self._shares = shares_of(weights, len(gram))
        self._roots = np.sqrt(len(gram) * self._shares)
        self._columns = gram @ self._shares
        self._grand = float(self._shares @ self._columns)
        centred = gram - self._columns - self._columns[:, None] + self._grand
        values, vectors = np.linalg.eigh(centred * self._roots * self._roots[:, None])
        some = values > _ROUNDING * np.abs(values).max()
        self._values, self._vectors = values[some], vectors[:, some]

    @property
    def unit(self) -> float:
        """The mean eigenvalue, which ridges are multiples of; 1 if all are zero."""
        return float(self._values.sum() / len(self._vectors)) or 1.0

    def duals(self, deviations: Floats, ridges: Floats) -> tuple[Floats, Floats]:
        """Return a and b such that the prediction is t̄ + b + kᵀa, for deviations t − t̄ (N, q) with ridges (q,).

        Since Σ_j a_j = 0, the kernel values k of a query need not be centred.
        """
        parts = self._vectors.T @ (self._roots[:, None] * deviations)
        duals = self._vectors @ (parts / (self._values[:, None] + ridges))
        duals *= self._roots[:, None]
        # The sum is zero up to rounding, which huge duals enlarge. Centred kernel values are zero along the shares.
        duals -= self._shares[:, None] * duals.sum(axis=0)
        return duals, -self._columns @ duals

    def codes(self, cross: Floats, ridge: float) -> Floats:
        """Return c with the prediction t̄ + cᵀ(t − t̄), shape (m, N), of queries with kernel values (m, N)."""
        mean = cross @ self._shares
        centred = cross - mean[:, None] - self._columns + self._grand
        parts = (centred * self._roots) @ self._vectors
        return np.asarray((parts / (self._values + ridge)) @ self._vectors.T * self._roots)

    def left_out(self, deviations: Floats, folds: Sequence[Fold]) -> Floats:
        """Return target minus prediction of left-out matrices, shape (n_ridges, n_left_out, q).

        With the smoother S of all matrices, the errors e of those in a fold are (I − S_ff)⁻¹ r_f for their
        residuals r: nothing has to be fitted again.
        """
        parts = self._vectors.T @ (self._roots[:, None] * deviations)
        found = []
        for ridge in RIDGES * self.unit:
            shrunk = self._values / (self._values + ridge)
            fitted = self._vectors @ (shrunk[:, None] * parts)
            residuals = deviations - fitted / self._roots[:, None]
            found.append(np.concatenate([self._errors(residuals, shrunk, fold) for fold in folds]))
        return np.array(found)

    def _errors(self, residuals: Floats, shrunk: Floats, fold: Fold) -> Floats:
        """Return the errors of the matrices that a fold leaves out."""
        rows = fold.test
        if fold.exclude is not None:  # one at a time
            kept = 1.0 - self._shares[rows] - self._vectors[rows] ** 2 @ shrunk
            return residuals[rows] / np.maximum(kept, _ROUNDING)[:, None]
        roots, vectors = self._roots[rows], self._vectors[rows]
        smoother = (vectors * shrunk) @ vectors.T * roots / roots[:, None] + self._shares[rows]
        return np.linalg.solve(np.eye(len(rows)) - smoother, residuals[rows])


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
