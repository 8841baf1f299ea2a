"""Kernel ridge regression with a free mean, for all ridges and all left-out matrices from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spdatoms._utils.folds import Fold
from spdatoms._utils.typing import Floats, Indices
from spdatoms._utils.weights import shares_of

#: The ridges that are tried, in units of the mean eigenvalue.
RIDGES = 10.0 ** np.arange(-4.0, 3.01, 0.5)
#: Eigenvalues below this share of the greatest, and negative ones, are zero.
_ROUNDING = 1e-12


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


def rows_of(folds: Sequence[Fold]) -> Indices:
    """Return which matrices the folds leave out, one after the other."""
    return np.concatenate([np.zeros(0, np.intp), *(fold.test for fold in folds)])
