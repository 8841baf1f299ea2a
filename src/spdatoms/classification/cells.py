"""A cell: one kernel exp(−β·d_w), the penalties of its codes, and the rule by which classes are judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
import scipy.linalg.lapack

from spdatoms._utils.products import row_products
from spdatoms._utils.typing import Floats, Indices
from spdatoms.classification.scores import MEAN, class_means, class_scores
from spdatoms.coding import AtomLengths
from spdatoms.kernels.correction import correct_gram
from spdatoms.lasso.solve import sparse_code

#: ρ of codes without ‖y‖₁, as a share of 1 − e^(−β·median).
RIDGE_SHARE = 0.3


@dataclass(frozen=True)
class Cell:
    """One kernel, the codes over its atoms, and the rule by which classes are judged.

    Attributes
    ----------
    metric : int
        Which of the divergences.
    shrinkage : float
        The δ of within-class whitening; 1 is none.
    factor : float
        β, as a multiple of the reciprocal of the median divergence.
    alpha, ridge : float
        The penalties of ‖y‖₁ and ‖y‖².
    rule : str
        How classes are judged: see `class_scores` and, for ``"mean"``, `class_means`.
    beta : float or None
        β itself, in the place of the factor.
    correction : str
        What is done to an indefinite Gram matrix.
    """

    metric: int
    shrinkage: float
    factor: float
    alpha: float
    ridge: float
    rule: str
    beta: float | None = None
    correction: str = "clip"

    def beta_for(self, median: float) -> float:
        """Return β where the median divergence is known."""
        return self.factor / median if self.beta is None else self.beta


def ridge_of(factor: float, share: float = RIDGE_SHARE) -> float:
    """Return ρ = share·(1 − e^−factor): a share of ½‖φ(X) − φ(Y)‖² for a typical pair of matrices."""
    return float(share * -np.expm1(-factor))


def collaborative_cells(
    metrics: int, shrinkages: Sequence[float], factors: Sequence[float]
) -> Iterator[Cell]:
    """Yield cells of codes with a ridge alone, whose sums over the classes are compared."""
    for metric, shrinkage, factor in product(range(metrics), shrinkages, factors):
        yield Cell(metric, shrinkage, factor, 0.0, ridge_of(factor), "sum")


def mean_cells(
    metrics: int, shrinkages: Sequence[float], factors: Sequence[float]
) -> Iterator[Cell]:
    """Yield cells in which the distances to the class means are compared."""
    for metric, shrinkage, factor in product(range(metrics), shrinkages, factors):
        yield Cell(metric, shrinkage, factor, 0.0, 0.0, MEAN)


def in_order(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells, those with the same divergence and shrinkage in a row."""
    return tuple(sorted(cells, key=lambda cell: (cell.metric, cell.shrinkage)))


class LinearScores:
    """Class scores that are linear in the kernel values k of a query: Wᵀk + b."""

    def __init__(self, weights: Floats, offsets: Floats) -> None:
        self._weights, self._offsets = weights, offsets

    def scores(self, cross: Floats) -> Floats:
        """Return the class scores (m, n_classes) of queries with kernel values (m, N)."""
        return np.asarray(row_products(cross, self._weights) + self._offsets)


class CodedScores:
    """Class scores by codes over labelled atoms."""

    def __init__(
        self, gram: Floats, labels: Indices, weights: Floats | None, n_classes: int, cell: Cell
    ) -> None:
        # A kernel without whitening may be indefinite.
        self._correction = correct_gram(gram, cell.correction)
        self._labels, self._n_classes, self._cell = labels, n_classes, cell
        self._lengths = AtomLengths(weights)

    def scores(self, cross: Floats, exclude: Indices | None = None) -> Floats:
        """Return the class scores of queries, of which each may have to do without one atom."""
        gram, cross = self._correction.gram, self._correction.transform(cross)
        codes = sparse_code(
            self._lengths.lengthened_gram(gram),
            self._lengths.lengthened(cross),
            self._cell.alpha,
            ridge=self._cell.ridge,
            exclude=exclude,
            check_gram=False,
        )
        codes = self._lengths.lengthened(codes)
        return class_scores(codes, gram, cross, self._labels, self._n_classes, self._cell.rule)


Scorer: TypeAlias = LinearScores | CodedScores


def labelled_atoms(
    gram: Floats, labels: Indices, weights: Floats | None, n_classes: int, cell: Cell
) -> Scorer:
    """Return what scores the classes of queries by labelled atoms, which may have weights, with a Gram matrix."""
    if cell.rule == MEAN:
        return LinearScores(*class_means(gram, labels, n_classes, weights))
    if cell.rule == "sum" and cell.alpha == 0.0 and cell.ridge > 0.0:
        # The sums of the codes (K + ρI)⁻¹k over the classes are Hᵀ(K + ρI)⁻¹k, with the indicators H of the classes.
        # With weights w they are those of K + ρ·diag(1/w).
        members = np.zeros((len(gram), n_classes))
        members[np.arange(len(gram)), labels] = 1.0
        ridged = gram.copy()
        ridged.flat[:: len(gram) + 1] += cell.ridge if weights is None else cell.ridge / weights
        factor, failed = scipy.linalg.lapack.dpotrf(ridged, lower=True, overwrite_a=True)
        if not failed:
            weights, _ = scipy.linalg.lapack.dpotrs(factor, members, lower=True)
            offsets = np.where(members.any(axis=0), 0.0, -np.inf)
            return LinearScores(np.ascontiguousarray(weights), offsets)
    return CodedScores(gram, labels, weights, n_classes, cell)
