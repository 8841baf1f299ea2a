"""Class scores averaged over several kernels, penalties and rules, so that none of them has to be chosen.

All cells of a divergence share one matrix of divergences. Left-out folds of the training matrices tell how
sharp the scores of a cell are, how much it can be trusted, and how sharp the average is: so its softmax is
a calibrated probability. For one query the logits are a sum over the training matrices, see
`KernelAverage.contributions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Annotated

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.classification._left_out import LeftOut, Whitenings
from spdatoms.classification.calibration import sharpness, standard_scale, standardised
from spdatoms.classification.cells import Cell, Scorer, labelled_atoms
from spdatoms.classification.kernel_ensemble import References
from spdatoms.classification.relevance import Margins
from spdatoms.kernels.bandwidth import kernel_values
from spdatoms.kernels.whitening import Whitening
from spdatoms.layout import TINY, Classes, Each, Maybe, Numbers, Part, Value, part


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

    divergences: Annotated[tuple[Floats, ...], Each(Numbers("N N"), "metrics")]
    labels: Annotated[Indices, Classes("N")]
    dimension: Annotated[int, Value(allow.integer(1))]
    cells: Annotated[tuple[Cell, ...], Each(Part(Cell), "p")]
    medians: Annotated[Floats, Numbers("p", least=TINY)]
    usual: Annotated[Floats, Numbers("p", least=0.0)]
    gains: Annotated[Floats, Numbers("p")]
    weights: Annotated[Floats | None, Maybe(Numbers("N", least=TINY))] = None
    _stored = part()

    def __post_init__(self) -> None:
        if any(cell.metric >= len(self.divergences) for cell in self.cells):
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
        for (metric, shrinkage), same in groupby(counting, lambda c: self.cells[c].kernel_family):
            whitening = self.whitenings[metric].of(shrinkage)
            among = self.divergences[metric] if whitening is None else whitening.among_references()
            found.append((metric, whitening, [(c, self._atoms(among, c)) for c in same]))
        return found

    @cached_property
    def whitenings(self) -> tuple[Whitenings, ...]:
        """The whitenings of each divergence."""
        return tuple(
            Whitenings(d, self.labels, self.weights, self.dimension) for d in self.divergences
        )

    def _atoms(self, among: Floats, cell: int) -> Scorer:
        gram = self._values(among, cell)
        return labelled_atoms(gram, self.labels, self.weights, self.n_classes, self.cells[cell])

    def _values(self, divergences: Floats, cell: int) -> Floats:
        return kernel_values(divergences, self.cells[cell].beta_for(float(self.medians[cell])))

    def scores(self, divergences: Sequence[Floats]) -> Floats:
        """Return the logits (m, n_classes) of queries with these divergences (m, N) to the atoms."""
        found = [(c, atoms.scores(values)) for c, atoms, values in self._cell_values(divergences)]
        if not found:
            return np.zeros((len(divergences[0]), self.n_classes))
        cells, scores = [c for c, _ in found], np.stack([own for _, own in found])
        logits = standardised(scores, self.usual[cells][:, None, None])
        logits *= self.gains[cells][:, None, None]
        return np.asarray(logits.sum(axis=0))

    def contributions(self, divergences: Sequence[Floats]) -> Floats:
        """Return what each atom adds to the logit of its class, shape (m, N).

        The logits are the sums over the classes, up to a number that is the same for all classes of a query.
        """
        added = np.zeros(divergences[0].shape)
        for c, atoms, values in self._cell_values(divergences):
            scale = standard_scale(atoms.scores(values), float(self.usual[c]))
            added += self.gains[c] / scale * atoms.contributions(values)
        return added

    def factors(self, divergences: Sequence[Floats]) -> Floats:
        """Return what the scores of each cell, less their mean, are multiplied by for queries, (n_cells, m)."""
        found = np.zeros((len(self.cells), len(divergences[0])))
        for c, atoms, values in self._cell_values(divergences):
            scale = standard_scale(atoms.scores(values), float(self.usual[c]))
            found[c] = self.gains[c] / scale[:, 0]
        return found

    def vjp(
        self, divergences: Sequence[Floats], weights: Floats, factors: Floats
    ) -> tuple[Floats, list[Floats]]:
        """Return sums of class scores with the weights (m, n_classes), whose sum is zero, and their gradients in d.

        The scores of cells are multiplied by factors (n_cells, m), which are what they are.
        """
        total = np.zeros(len(weights))
        slopes = [np.zeros(d.shape) for d in divergences]
        for metric, whitening, cells in self._kernels:

            def of_cells(d: Floats, cells: list[tuple[int, Scorer]] = cells) -> Floats:
                own = np.zeros(d.shape)
                for c, atoms in cells:
                    values, wanted = self._values(d, c), factors[c][:, None] * weights
                    scores, in_values = atoms.vjp(values, wanted)
                    total[:] += np.where(wanted == 0.0, 0.0, wanted * scores).sum(axis=1)
                    own -= self.cells[c].beta_for(float(self.medians[c])) * values * in_values
                return own

            d = divergences[metric]
            slopes[metric] += of_cells(d) if whitening is None else whitening.vjp(d, of_cells)
        return total, slopes

    def _cell_values(self, divergences: Sequence[Floats]) -> Iterator[tuple[int, Scorer, Floats]]:
        """Yield the cells that count, their atoms, and the kernel values (m, N) of queries."""
        placed: dict[int, tuple[Floats, Floats]] = {}
        for metric, whitening, cells in self._kernels:
            to_atoms = divergences[metric]
            if whitening is not None:
                if metric not in placed:
                    placed[metric] = whitening.scaling.place(to_atoms)
                to_atoms = whitening.from_placed(*placed[metric])
            for c, atoms in cells:
                yield c, atoms, self._values(to_atoms, c)


def average(left_out: LeftOut, shares: Floats) -> KernelAverage:
    """Return the average in which cells have these shares, as sharp as fits the left-out matrices best."""
    whitenings, gains = tuple(left_out.whitenings), shares * left_out.sharpness
    logits = np.zeros(left_out.scores.shape[1:])
    for gain, scores in zip(gains, left_out.scores, strict=True):
        if gain > 0:
            logits += gain * scores
    found = KernelAverage(
        tuple(one.divergences for one in whitenings),
        whitenings[0].labels,
        whitenings[0].dimension,
        tuple(left_out.cells),
        left_out.medians,
        left_out.usual,
        gains * sharpness(logits, left_out.labels, left_out.weights),
        whitenings[0].weights,
    )
    vars(found)["whitenings"] = whitenings  # which have their coordinates already
    return found


@dataclass
class AverageMargins(Margins):
    """Σ_cells g/σ·(s_best − s_second), with the σ of each query."""

    average: KernelAverage
    references: References
    X: FloatArray
    classes: Indices

    @cached_property
    def mean(self) -> Array:
        """The mean of the training matrices."""
        L = self.references.factor
        return np.asarray(L @ L.conj().T)

    @cached_property
    def _factors(self) -> Floats:
        """g/σ of every cell for every query, (n_cells, m)."""
        blocks = self.references.of_blocks(lambda d: self.average.factors(d).T, self.X)
        return np.concatenate(blocks).T

    def at(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        """Return the margins that matrices P would have in the place of some queries, and their gradients."""
        weights = self.weights(rows, self.average.n_classes)
        values, slopes = self.average.vjp(
            self.references.divergences(P), weights, self._factors[:, rows]
        )
        return values, self.references.vjp(P, slopes)
