"""Predictions of several kernels, added up: each is a sum over the training matrices, so their sum is one, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.folds import Fold, left_out_rows
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import Floats
from spdatoms._utils.weights import part_of, shares_of
from spdatoms.classification.cells import AtomCodes, ridge_of
from spdatoms.kernels.bandwidth import kernel_values
from spdatoms.kernels.correction import semidefinite_gram
from spdatoms.layout import COUNT, POSITIVE, TINY, Each, Maybe, Numbers, Part, Value, part
from spdatoms.regression._left_out import RIDGES, CentredKernel, best_ridges, stacked_errors

#: The kinds of cells.
LINEAR, RIDGE, SPARSE = KINDS = "linear", "ridge", "sparse"
#: α and ρ of sparse codes, as shares of 1 − e^(−β·median).
_PENALTY_SHARE = 0.03


@dataclass(frozen=True)
class TargetCell:
    """One kernel, and how targets are predicted with it.

    Attributes
    ----------
    metric : int
        Which of the divergences d.
    kind : {"linear", "ridge", "sparse"}
        Ridge regression with the kernel −d/2, which is linear up to a constant where d is a squared distance;
        ridge regression with exp(−β·d); or sparse codes with it.
    factor : float
        β, as a multiple of the automatic one.
    beta : float
        β itself.
    """

    metric: Annotated[int, COUNT]
    kind: Annotated[str, Value(allow.choice(*KINDS))]
    factor: Annotated[float, POSITIVE]
    beta: Annotated[float, POSITIVE]
    _stored = part()

    def values(self, divergences: Floats) -> Floats:
        """Return kernel values."""
        if self.kind == LINEAR:
            return -0.5 * self.beta * divergences
        return kernel_values(divergences, self.beta)

    def codes(self, gram: Floats, weights: Floats | None) -> AtomCodes:
        """Return the coder of queries over atoms."""
        penalty = ridge_of(self.factor, _PENALTY_SHARE)
        return AtomCodes(semidefinite_gram(gram), weights, penalty, penalty)


@dataclass(frozen=True)
class TargetAverage:
    """t̄ + Σ_cells w·(prediction − t̄), for q targets with weights of their own.

    Attributes
    ----------
    divergences : tuple of ndarray of shape (N, N)
        Each divergence between the training matrices.
    targets : ndarray of shape (N, q)
        Their targets.
    cells : tuple of TargetCell
        The cells.
    ridges, shares : ndarray of shape (n_cells, q)
        The ridges ρ of those that have one, and w.
    duals : ndarray of shape (n_cells, N, q)
        w·(K̃ + ρW⁻¹)⁻¹(t − t̄) of cells with a ridge.
    offsets : ndarray of shape (q,)
        What is added to t̄ because their kernels are not centred.
    weights : ndarray of shape (N,) or None
        Those of the training matrices.
    """

    divergences: Annotated[tuple[Floats, ...], Each(Numbers("N N"), "metrics")]
    targets: Annotated[Floats, Numbers("N q")]
    cells: Annotated[tuple[TargetCell, ...], Each(Part(TargetCell), "p")]
    ridges: Annotated[Floats, Numbers("p q", least=0.0)]
    shares: Annotated[Floats, Numbers("p q", least=0.0)]
    duals: Annotated[Floats, Numbers("p N q")]
    offsets: Annotated[Floats, Numbers("q")]
    weights: Annotated[Floats | None, Maybe(Numbers("N", least=TINY))] = None
    _stored = part()

    def __post_init__(self) -> None:
        if any(cell.metric >= len(self.divergences) for cell in self.cells):
            raise ValueError("The parts of an average of targets do not fit together.")

    @cached_property
    def mean(self) -> Floats:
        """The mean t̄ of the targets, shape (q,)."""
        return shares_of(self.weights, len(self.targets)) @ self.targets

    @property
    def deviations(self) -> Floats:
        """The targets minus their mean."""
        return self.targets - self.mean

    def prepare(self, explaining: bool = False) -> None:
        """Compute what all queries need, before several threads ask for it."""
        _ = self.mean, self._codes, explaining and self._kernels

    @cached_property
    def _codes(self) -> dict[int, AtomCodes]:
        """What codes queries in the sparse cells that count."""
        return {c: self.cells[c].codes(self._gram(c), self.weights) for c in self._counting(SPARSE)}

    @cached_property
    def _kernels(self) -> dict[int, CentredKernel]:
        """The decomposed kernels of the cells with a ridge that count: only explanations need them."""
        return {
            c: CentredKernel(self._gram(c), self.weights) for c in self._counting(LINEAR, RIDGE)
        }

    def _gram(self, cell: int) -> Floats:
        return self.cells[cell].values(self.divergences[self.cells[cell].metric])

    def _of_queries(self, c: int, divergences: Sequence[Floats]) -> Floats:
        """Return the codes of queries in a sparse cell, their kernel values in another one, shape (m, N)."""
        values = self.cells[c].values(divergences[self.cells[c].metric])
        coder = self._codes.get(c)
        return values if coder is None else coder.of(coder.corrected(values))

    def _counting(self, *kinds: str) -> Iterator[int]:
        for c, cell in enumerate(self.cells):
            if cell.kind in kinds and self.shares[c].any():
                yield c

    def predict(self, divergences: Sequence[Floats]) -> Floats:
        """Return the predictions (m, q) for queries with these divergences (m, N) to the training matrices."""
        found = np.tile(self.mean + self.offsets, (len(divergences[0]), 1))
        for c in self._counting(*KINDS):
            own = self._of_queries(c, divergences)
            if self.cells[c].kind == SPARSE:
                found += self.shares[c] * row_products(own, self.deviations)
            else:
                found += row_products(own, self.duals[c])
        return found

    def contributions(self, divergences: Sequence[Floats]) -> Floats:
        """Return what each training matrix adds to the mean, shape (m, N, q)."""
        codes = np.zeros((*divergences[0].shape, self.targets.shape[1]))
        for c in self._counting(*KINDS):
            own = self._of_queries(c, divergences)
            if self.cells[c].kind == SPARSE:
                codes += own[:, :, None] * self.shares[c]
                continue
            for j in np.flatnonzero(self.shares[c]):
                kernel, ridge = self._kernels[c], float(self.ridges[c, j])
                codes[:, :, j] += self.shares[c, j] * kernel.codes(own, ridge)
        return np.asarray(codes * self.deviations)


def fitted_average(
    divergences: tuple[Floats, ...],
    targets: Floats,
    weights: Floats | None,
    cells: tuple[TargetCell, ...],
    folds: Sequence[Fold],
    advance: Callable[[int], object] = int,
) -> tuple[TargetAverage, Floats, Floats]:
    """Return the cells with the ridges and weights that fit left-out matrices best, and what those say.

    That are target minus prediction (m, q) for the matrices that folds leave out, and the mean square errors
    (n_cells, q) of the cells.
    """
    count, q = targets.shape
    deviations = targets - shares_of(weights, count) @ targets
    rows = left_out_rows(folds)
    shares = shares_of(part_of(weights, rows), len(rows))
    duals, errors = np.zeros((len(cells), count, q)), []
    ridges, offsets, cell_weights, squares = np.zeros((4, len(cells), q))
    for c, cell in enumerate(cells):
        gram = cell.values(divergences[cell.metric])
        if cell.kind == SPARSE:
            errors.append(_coded_errors(cell, gram, targets, weights, folds)[None])
        else:
            kernel = CentredKernel(gram, weights)
            errors.append(kernel.left_out(deviations, folds))
            ridges[c] = kernel.unit * RIDGES[best_ridges(errors[c], shares)]
            duals[c], offsets[c] = kernel.duals(deviations, ridges[c])
        advance(1)
    honest = np.empty((len(rows), q))
    for j in range(q):
        own = [e[:, :, j] for e in errors]
        best, cell_weights[:, j], honest[:, j] = stacked_errors(own, shares, rows)
        squares[:, j] = [e[i] ** 2 @ shares for e, i in zip(own, best, strict=True)]
    duals *= cell_weights[:, None]
    offsets = (cell_weights * offsets).sum(axis=0)
    average = TargetAverage(
        divergences, targets, cells, ridges, cell_weights, duals, offsets, weights
    )
    return average, honest, squares


def _coded_errors(
    cell: TargetCell,
    gram: Floats,
    targets: Floats,
    weights: Floats | None,
    folds: Sequence[Fold],
) -> Floats:
    """Return target minus prediction (m, q) of left-out matrices that are coded over the others."""
    found = []
    for fold in folds:
        train = fold.train
        if fold.exclude is None:  # all others, as in ridge regression
            train = np.setdiff1d(np.arange(len(gram)), fold.test)
        own = part_of(weights, train)
        codes = cell.codes(gram[np.ix_(train, train)], own)
        cross = codes.corrected(gram[np.ix_(fold.test, train)])
        y = codes.of(cross, fold.exclude)
        shares = np.tile(shares_of(own, len(train)), (len(fold.test), 1))
        if fold.exclude is not None:
            shares[np.arange(len(fold.test)), fold.exclude] = 0.0
            shares /= shares.sum(axis=1, keepdims=True)
        means = shares @ targets[train]
        predicted = means + y @ targets[train] - y.sum(axis=1, keepdims=True) * means
        found.append(targets[fold.test] - predicted)
    return np.concatenate(found)
