"""Class scores averaged over several kernels, penalties and rules, so that none of them has to be chosen.

All cells of a divergence share one matrix of divergences. Left-out folds of the training matrices tell how
sharp the scores of a cell are, how much it can be trusted, and how sharp the average is: so its softmax is
a calibrated probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from spdatoms._utils.folds import class_folds
from spdatoms._utils.threads import block_slices, map_in_threads
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.classification._left_out import LeftOut, Whitenings, leave_out, standardised
from spdatoms.classification.calibration import sharpness
from spdatoms.classification.cells import (
    Cell,
    Scorer,
    collaborative_cells,
    in_order,
    labelled_atoms,
    mean_cells,
)
from spdatoms.classification.references import References
from spdatoms.geometry.hermitian import dimension
from spdatoms.kernels.values import kernel_values
from spdatoms.kernels.whitening import Whitening

#: Queries that are scored at a time.
_BLOCK = 256
#: What is averaged by default: divergences of re-centred matrices, and cells settled on textures, vowels and EEG.
AVERAGED_METRICS = ("stein", "logeuclid")
DEFAULT_CELLS = in_order(
    [
        *collaborative_cells(2, (0.1, 1.0), (1.0, 3.0, 10.0)),
        *mean_cells(2, (0.1, 0.3), (0.3,)),
    ]
)


@dataclass(frozen=True)
class KernelAverage:
    """Σ_cells g·(standardised class scores): the logits of the classes.

    Attributes
    ----------
    divergences : tuple of ndarray of shape (N, N)
        Each divergence between the training matrices.
    labels : ndarray of shape (N,)
        The indices of their classes.
    dimension : int
        n(n+1)/2 for n×n matrices.
    cells : tuple of Cell
        The cells, those with the same divergence and shrinkage in a row.
    medians, usual, gains : ndarray of shape (n_cells,)
        The divergence that is the unit of 1/β, the spread of scores that is usual, and g.
    weights : ndarray of shape (N,) or None
        Those of the training matrices.
    """

    divergences: tuple[Floats, ...]
    labels: Indices
    dimension: int
    cells: tuple[Cell, ...]
    medians: Floats
    usual: Floats
    gains: Floats
    weights: Floats | None = None

    def __post_init__(self) -> None:
        count, cells = len(self.labels), len(self.cells)
        metrics = range(len(self.divergences))
        if (
            any(d.shape != (count, count) for d in self.divergences)
            or any(len(each) != cells for each in (self.medians, self.usual, self.gains))
            or any(cell.metric not in metrics for cell in self.cells)
            or self.labels.min(initial=0) < 0
            or (self.weights is not None and self.weights.shape != (count,))
        ):
            raise ValueError("The parts of an average of kernels do not fit together.")

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max()) + 1

    def prepare(self) -> None:
        """Compute what all queries need, before several threads ask for it."""
        _ = self._kernels

    @cached_property
    def _kernels(self) -> list[tuple[int, Whitening | None, list[tuple[int, Scorer]]]]:
        """The whitenings with a cell that counts, and the atoms in the spaces of their cells."""
        found = []
        counting = [c for c, gain in enumerate(self.gains) if gain > 0]
        for metric, cells in groupby(counting, lambda c: self.cells[c].metric):
            whitenings = Whitenings(
                self.divergences[metric], self.labels, self.weights, self.dimension
            )
            for shrinkage, same in groupby(cells, lambda c: self.cells[c].shrinkage):
                whitening = whitenings.of(shrinkage)
                among = (
                    self.divergences[metric] if whitening is None else whitening.among_references()
                )
                found.append((metric, whitening, [(c, self._atoms(among, c)) for c in same]))
        return found

    def _atoms(self, among: Floats, cell: int) -> Scorer:
        gram = self._values(among, cell)
        return labelled_atoms(gram, self.labels, self.weights, self.n_classes, self.cells[cell])

    def _values(self, divergences: Floats, cell: int) -> Floats:
        return kernel_values(divergences, self.cells[cell].beta_for(float(self.medians[cell])))

    def scores(self, divergences: Sequence[Floats]) -> Floats:
        """Return the logits (m, n_classes) of queries with these divergences (m, N) to the atoms."""
        logits = np.zeros((len(divergences[0]), self.n_classes))
        for metric, whitening, cells in self._kernels:
            to_atoms = divergences[metric]
            if whitening is not None:
                to_atoms = whitening.to_references(to_atoms)
            for c, atoms in cells:
                scores = atoms.scores(self._values(to_atoms, c))
                logits += self.gains[c] * standardised(scores, self.usual[c])
        return logits


def average(
    divergences: Sequence[Floats],
    labels: Indices,
    weights: Floats | None,
    dimension: int,
    cells: Sequence[Cell],
    left_out: LeftOut,
    gains: Floats,
) -> KernelAverage:
    """Return the average with gains such that its softmax fits the left-out matrices best."""
    truth = labels[left_out.rows]
    logits = np.zeros(left_out.scores.shape[1:])
    for gain, scores in zip(gains, left_out.scores, strict=True):
        if gain > 0:
            logits += gain * scores
    gains = gains * sharpness(logits, truth, left_out.weights)
    found = left_out.medians, left_out.usual, gains, weights
    return KernelAverage(tuple(divergences), labels, dimension, tuple(cells), *found)


def averaged(
    references: References,
    labels: Indices,
    weights: Floats | None,
    cells: Sequence[Cell],
    n_jobs: int | None = None,
) -> KernelAverage:
    """Return the average of cells that all count the same, each as sharp as it should be."""
    problem = references.among(n_jobs), labels, weights, dimension(references.matrices), cells
    left_out = leave_out(*problem, class_folds(labels), n_jobs)
    t = sharpness(left_out.scores, labels[left_out.rows], left_out.weights)
    return average(*problem, left_out, t)


def average_scores(
    average: KernelAverage, references: References, X: FloatArray, n_jobs: int | None = None
) -> Floats:
    """Return the logits (m, n_classes) of matrices X, block by block."""
    blocks = list(block_slices(len(X), _BLOCK))
    average.prepare()

    def block_scores(i: int) -> Floats:
        return average.scores(references.divergences(X[blocks[i]]))

    found = map_in_threads(block_scores, len(blocks), n_jobs)
    return np.concatenate(found) if found else np.zeros((0, average.n_classes))
