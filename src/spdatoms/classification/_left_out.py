"""What cells say about training matrices that are left out in turn, and what follows for their weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import softmax

from spdatoms._utils.domains import domain_of_each
from spdatoms._utils.folds import Fold, domain_folds, folds_of, left_out_rows
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.classification._fold_blocks import FoldBlock, fold_blocks
from spdatoms.classification.calibration import log_losses, sharpness, standardised, usual_spread
from spdatoms.classification.cells import Cell, in_order
from spdatoms.classification.classifier import ScoredClassifier
from spdatoms.classification.explanation import Explanations
from spdatoms.classification.kernel_ensemble import Metrics, References
from spdatoms.classification.named_atoms import ExplainingEstimator
from spdatoms.divergences import Divergence
from spdatoms.geometry.hermitian import dimension
from spdatoms.kernels.bandwidth import kernel_values
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, Whitening, cross_fitted_median


class Whitenings:
    """The whitenings of one divergence with several shrinkages, by all the training matrices or those of a fold.

    They share the coordinates, and those of one set of training matrices share its scatter.

    Parameters
    ----------
    divergences : ndarray of shape (N, N)
        The divergence between the training matrices.
    labels : ndarray of shape (N,)
        The indices of their classes.
    weights : ndarray of shape (N,) or None
        Their weights.
    dimension : int
        n(n+1)/2 for n×n matrices.
    """

    def __init__(
        self, divergences: Floats, labels: Indices, weights: Floats | None, dimension: int
    ) -> None:
        self.divergences, self.labels, self.weights = divergences, labels, weights
        self.dimension = dimension
        self._of_folds: WeakKeyDictionary[FoldBlock, Floats] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.divergences, self.labels, self.weights, self.dimension)

    @cached_property
    def scaling(self) -> ClassicalScaling:
        """What gives the training matrices their coordinates."""
        return ClassicalScaling(self.divergences)

    @cached_property
    def _scatter(self) -> Scatter:
        return Scatter.within(self.scaling.coordinates, self.labels, self.weights)

    def of_folds(self, block: FoldBlock, shrinkage: float) -> Floats:
        """Return the divergences (1 or F, R, A) of a block of folds, whitened by their training matrices alone."""
        if shrinkage >= 1.0:
            return block.divergences(self.divergences)
        if block not in self._of_folds:
            self._of_folds[block] = block.scatters(self.scaling)
        return block.whitened(self.scaling, self._of_folds[block], self.dimension, shrinkage)

    def of(self, shrinkage: float) -> Whitening | None:
        """Return the whitening with δ, None for 1: then the divergence is taken as it is."""
        if shrinkage >= 1.0:
            return None
        return Whitening(self.scaling, self._scatter, self.dimension, shrinkage)


@dataclass(frozen=True)
class LeftOut:
    """What cells say about matrices that were left out.

    Attributes
    ----------
    whitenings : sequence of Whitenings
        Those of each divergence.
    cells : sequence of Cell
        The cells, those with the same divergence and shrinkage in a row.
    scores : ndarray of shape (n_cells, m, n_classes)
        Standardised; −inf for a class without other members.
    medians, usual : ndarray of shape (n_cells,)
        As in `KernelAverage`.
    rows, labels : ndarray of int of shape (m,)
        Which matrices were left out, those whose class has other members, and the indices of their classes.
    weights : ndarray of shape (m,) or None
        Their weights.
    """

    whitenings: Sequence[Whitenings]
    cells: Sequence[Cell]
    scores: Floats
    medians: Floats
    usual: Floats
    rows: Indices
    labels: Indices
    weights: Floats | None

    @cached_property
    def sharpness(self) -> Floats:
        """The t of each cell for which softmax(t·scores) fits best, shape (n_cells,)."""
        return sharpness(self.scores, self.labels, self.weights)

    @cached_property
    def _log_losses(self) -> tuple[Floats, Floats]:
        """The log-losses (n_cells, m) of the cells, each as sharp as fits best, and the shares (m,) of the matrices."""
        losses = log_losses(self.sharpness[:, None, None] * self.scores, self.labels)
        shares = np.ones(len(self.rows)) if self.weights is None else self.weights
        return losses, shares / shares.sum()

    @property
    def losses(self) -> Floats:
        """The mean log-loss of each cell, shape (n_cells,); zero if nothing was left out."""
        if not len(self.rows):
            return np.zeros(len(self.cells))
        losses, shares = self._log_losses
        return np.asarray(losses @ shares)

    def soft_weights(self) -> Floats:
        """Return how much each cell counts, by its log-loss, shape (n_cells,).

        A cell as good as the best counts 1. One that is worse by z standard errors of the paired difference
        counts exp(−z²/2): where the folds cannot tell cells apart, they are averaged.
        """
        if not len(self.rows):
            return np.ones(len(self.cells))
        losses, shares = self._log_losses
        worse = losses - losses[self.losses.argmin()]
        excess = worse @ shares
        # For equal shares it is the standard deviation divided by √m.
        errors = np.sqrt((worse - excess[:, None]) ** 2 @ shares * (shares @ shares))
        z = excess / np.where(errors > 0, errors, 1.0)
        return np.asarray(np.exp(-0.5 * z**2))

    def probabilities(self, gains: Floats, count: int) -> Floats:
        """Return the probabilities of the classes for ``count`` matrices, by the cells with these gains.

        Those of a matrix that was left out several times are averaged.
        """
        n_classes = self.scores.shape[-1]
        p = softmax(np.tensordot(gains, self.scores, 1)) if len(self.rows) else self.scores[0]
        sums = np.stack([np.bincount(self.rows, column, count) for column in p.T], axis=1)
        times = np.bincount(self.rows, minlength=count)[:, None]
        return np.asarray(np.where(times > 0, sums / np.maximum(times, 1), 1.0 / n_classes))

    def results(self, metrics: Sequence[str | Divergence]) -> dict[str, Array]:
        """Return a table of the cells, as ``cv_results_`` has it: parameters, accuracy and log-loss."""
        hits = self.scores.argmax(axis=2) == self.labels
        columns: dict[str, list[Any]] = {
            "metric": [metrics[cell.metric] for cell in self.cells],
            "beta": [
                cell.beta_for(float(m)) for cell, m in zip(self.cells, self.medians, strict=True)
            ],
            "alpha": [cell.alpha for cell in self.cells],
            "ridge": [cell.ridge for cell in self.cells],
            "whitening": [cell.shrinkage if cell.shrinkage < 1.0 else None for cell in self.cells],
            "rule": [cell.rule for cell in self.cells],
        }
        table = {f"param_{name}": _column(values) for name, values in columns.items()}
        params = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        accuracies = np.zeros(len(self.cells))
        if hits.size:
            accuracies = np.average(hits, axis=1, weights=self.weights)
        return table | {
            "params": _column(params),
            "mean_test_score": accuracies,
            "mean_test_log_loss": self.losses,
            "rank_test_log_loss": self.losses.argsort(kind="stable").argsort(kind="stable") + 1,
        }


def leave_out(
    whitenings: Sequence[Whitenings],
    cells: Sequence[Cell],
    folds: Sequence[Fold],
    n_jobs: int | None = None,
    advance: Callable[[int], object] = int,
) -> LeftOut:
    """Return the scores of left-out matrices for every cell, given the whitenings of each divergence."""
    labels, weights = whitenings[0].labels, whitenings[0].weights
    tests = left_out_rows(folds)
    blocks = fold_blocks(folds, labels, weights)
    ends = np.cumsum([len(block) for block in blocks])
    scores = np.full((len(cells), len(tests), int(labels.max()) + 1), -np.inf)
    medians = np.ones(len(cells))

    def score(some: Sequence[int], b: int, to_training: Floats) -> None:
        values = kernel_values(to_training, cells[some[0]].beta_for(medians[some[0]]))
        rows = slice(ends[b] - len(blocks[b]), ends[b])
        for c, own in zip(some, blocks[b].scores(values, [cells[c] for c in some]), strict=True):
            scores[c, rows] = own

    for (metric, shrinkage), family in groupby(range(len(cells)), lambda c: cells[c].kernel_family):
        same = list(family)
        found = [whitenings[metric].of_folds(block, shrinkage) for block in blocks]
        medians[same] = cross_fitted_median(
            block.left_out(d) for d, block in zip(found, blocks, strict=True)
        )
        kernels = [
            list(some) for _, some in groupby(same, lambda c: cells[c].beta_for(float(medians[c])))
        ]
        jobs = [(some, b, d) for some in kernels for b, d in enumerate(found)]
        map_in_threads(lambda j, jobs=jobs: score(*jobs[j]), len(jobs), n_jobs)  # type: ignore[misc]
        advance(len(same))
    usual = usual_spread(scores)
    scores = standardised(scores, usual)
    known = np.isfinite(scores[0, np.arange(len(tests)), labels[tests]])
    rows = tests[known]
    own = rows, labels[rows], part_of(weights, rows)
    return LeftOut(whitenings, cells, scores[:, known], medians, usual.ravel(), *own)


def _column(values: list[Any]) -> Array:
    """Return numbers as numbers, and everything else as objects."""
    numbers = all(isinstance(value, float) for value in values)
    return np.array(values, np.float64 if numbers else object)


class CellClassifier(ScoredClassifier, ExplainingEstimator[Explanations]):
    """A classifier whose subclass has cells, which are compared on left-out training matrices."""

    __metadata_request__fit: ClassVar = {"domains": True}
    metrics: Metrics
    cv: Any
    class_weight: str | Mapping[Any, float] | None
    n_jobs: int | None
    # Models of earlier versions have none of these.
    domains_: Array | None = None
    _atom_domains: Array | None = None
    _sides: Array | None = None

    @abstractmethod
    def _cells(self) -> Iterator[Cell]:
        """Yield the cells."""

    def _folds(
        self, labels: Indices, groups: ArrayLike | None, domains: ArrayLike | None, rows: Indices
    ) -> list[Fold]:
        """Keep the domains, and return folds of these rows, which leave out whole domains if there are such."""
        self.domains_ = None if domains is None else domain_of_each(domains, len(labels))
        cv = self.cv if self.domains_ is None else domain_folds(self.cv, self.domains_)
        groups = self.domains_ if groups is None else groups
        return list(folds_of(cv, labels, groups, rows))

    def _compare(
        self,
        references: References,
        labels: Indices,
        weights: Floats | None,
        folds: Sequence[Fold],
    ) -> LeftOut:
        """Return what the cells say about training matrices when folds of them are left out in turn."""
        cells = in_order(self._cells())
        size = dimension(references.matrices)
        whitenings = [Whitenings(d, labels, weights, size) for d in references.among(self.n_jobs)]
        with progress_bar(len(cells), "cross-validation") as advance:
            return leave_out(whitenings, cells, folds, self.n_jobs, advance)
