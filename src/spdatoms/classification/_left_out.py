"""What cells say about training matrices that are left out in turn, and what follows for their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby

import numpy as np

from spdatoms._utils.folds import Fold
from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.classification.calibration import log_losses
from spdatoms.classification.cells import Cell, CodedScores, labelled_atoms
from spdatoms.kernels.values import kernel_values
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, Whitening, cross_fitted_median

#: Scores of a query are divided by their spread over the classes. A small share of what is usual is added to it: of two
#: classes, whose spread is their difference, nothing but the sign would remain.
_USUAL_SHARE = 1e-3


def standardised(scores: Floats, usual: float) -> Floats:
    """Return scores (m, n_classes) minus their mean, divided by their spread over the classes.

    ``usual`` is the mean square spread of left-out matrices. Classes with a score of −inf were not there.
    """
    there = np.isfinite(scores)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    centred = np.where(there, scores, 0.0)
    centred = np.where(there, centred - centred.sum(axis=1, keepdims=True) / count, 0.0)
    spread = (centred**2).sum(axis=1, keepdims=True) / count
    scale = np.sqrt((spread + _USUAL_SHARE * usual) / (1.0 + _USUAL_SHARE))
    return np.where(there, centred / np.where(scale > 0, scale, 1.0), -np.inf)


def usual_spread(scores: Floats) -> float:
    """Return the mean square spread over the classes of scores (m, n_classes)."""
    there = np.isfinite(scores)
    centred = np.where(there, scores, np.nan)
    with np.errstate(invalid="ignore"):
        spread = np.nanvar(centred[there.any(axis=1)], axis=1)
    return float(spread.mean()) if len(spread) else 0.0


class Whitenings:
    """The whitenings of one divergence with several shrinkages, which share their coordinates."""

    def __init__(
        self, divergences: Floats, labels: Indices, weights: Floats | None, dimension: int
    ) -> None:
        self._divergences, self._labels, self._weights = divergences, labels, weights
        self._dimension = dimension

    @cached_property
    def _scatter(self) -> tuple[ClassicalScaling, Scatter]:
        scaling = ClassicalScaling(self._divergences)
        return scaling, Scatter.within(scaling.coordinates, self._labels, self._weights)

    def of(self, shrinkage: float) -> Whitening | None:
        """Return the whitening with δ, None for 1: then the divergence is taken as it is."""
        if shrinkage >= 1.0:
            return None
        scaling, scatter = self._scatter
        return Whitening(scaling, scatter, self._dimension, shrinkage)


@dataclass(frozen=True)
class LeftOut:
    """What cells say about matrices that were left out.

    Attributes
    ----------
    scores : ndarray of shape (n_cells, m, n_classes)
        Standardised; −inf for a class without other members.
    medians, usual : ndarray of shape (n_cells,)
        As in `KernelAverage`.
    rows : ndarray of int of shape (m,)
        Which matrices were left out: those whose class has other members.
    weights : ndarray of shape (m,) or None
        Their weights.
    """

    scores: Floats
    medians: Floats
    usual: Floats
    rows: Indices
    weights: Floats | None


def leave_out(
    divergences: Sequence[Floats],
    labels: Indices,
    weights: Floats | None,
    dimension: int,
    cells: Sequence[Cell],
    folds: Sequence[Fold],
    n_jobs: int | None = None,
    advance: Callable[[int], object] = int,
) -> LeftOut:
    """Return the scores of left-out matrices for every cell."""
    n_classes = int(labels.max()) + 1
    tests = np.concatenate([np.zeros(0, np.intp), *(fold.test for fold in folds)])
    ends = np.cumsum([len(fold.test) for fold in folds])
    scores = np.full((len(cells), len(tests), n_classes), -np.inf)
    medians = np.ones(len(cells))

    def score(c: int, f: int, among: Floats, to_atoms: Floats) -> None:
        fold, beta = folds[f], cells[c].beta_for(float(medians[c]))
        gram, cross = kernel_values(among, beta), kernel_values(to_atoms, beta)
        own = scores[c, ends[f] - len(fold.test) : ends[f]]
        classes = labels[fold.train], part_of(weights, fold.train), n_classes, cells[c]
        if fold.exclude is None:
            own[:] = labelled_atoms(gram, *classes).scores(cross)
        else:
            own[:] = CodedScores(gram, *classes).scores(cross, fold.exclude)

    for metric, of_metric in groupby(range(len(cells)), lambda c: cells[c].metric):
        d = divergences[metric]
        within = [
            Whitenings(
                d[np.ix_(fold.train, fold.train)],
                labels[fold.train],
                part_of(weights, fold.train),
                dimension,
            )
            for fold in folds
        ]
        for shrinkage, of_both in groupby(of_metric, lambda c: cells[c].shrinkage):
            same = list(of_both)
            pairs = map_in_threads(
                partial(_fold_divergences, d, folds, within, shrinkage), len(folds), n_jobs
            )
            medians[same] = cross_fitted_median(to_atoms for _, to_atoms in pairs)
            jobs = [(c, f, *pairs[f]) for c in same for f in range(len(folds))]
            map_in_threads(lambda j, jobs=jobs: score(*jobs[j]), len(jobs), n_jobs)  # type: ignore[misc]
            advance(len(same))
    usual = np.array([usual_spread(of) for of in scores])
    scores = np.stack([standardised(of, u) for of, u in zip(scores, usual, strict=True)])
    known = np.isfinite(scores[0, np.arange(len(tests)), labels[tests]])
    rows = tests[known]
    return LeftOut(scores[:, known], medians, usual, rows, part_of(weights, rows))


def _fold_divergences(
    d: Floats, folds: Sequence[Fold], within: Sequence[Whitenings], shrinkage: float, f: int
) -> tuple[Floats, Floats]:
    """Return d_w among the training matrices of a fold, and from the left-out ones to them."""
    train, test = folds[f].train, folds[f].test
    whitening, to_atoms = within[f].of(shrinkage), d[np.ix_(test, train)]
    if whitening is None:
        return d[np.ix_(train, train)], to_atoms
    return whitening.among_references(), whitening.to_references(to_atoms)


def soft_weights(left_out: LeftOut, labels: Indices, t: Floats) -> tuple[Floats, Floats]:
    """Return how much each cell counts, by its log-loss on left-out matrices, and these losses.

    A cell as good as the best counts 1. One that is worse by z standard errors of the paired difference
    counts exp(−z²/2): where the folds cannot tell cells apart, they are averaged.
    """
    if not len(left_out.rows):
        return np.ones(len(t)), np.zeros(len(t))
    losses = log_losses(t[:, None, None] * left_out.scores, labels[left_out.rows])
    shares = np.ones(losses.shape[1]) if left_out.weights is None else left_out.weights
    shares = shares / shares.sum()
    means = losses @ shares
    worse = losses - losses[means.argmin()]
    excess = worse @ shares
    # For equal shares it is the standard deviation divided by √m.
    errors = np.sqrt((worse - excess[:, None]) ** 2 @ shares * (shares @ shares))
    z = excess / np.where(errors > 0, errors, 1.0)
    return np.exp(-0.5 * z**2), means
