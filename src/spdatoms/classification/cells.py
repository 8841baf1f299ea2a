"""A cell: one kernel exp(−β·d_w), the penalties of its codes, and the rule by which classes are judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, TypeAlias

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import Floats, Indices
from spdatoms.classification.scores import MEAN, RULES, ClassRule, class_means
from spdatoms.coding.blocks import AtomLengths
from spdatoms.kernels.correction import CORRECTION, CorrectedGram, semidefinite_gram
from spdatoms.lasso.gram_coder import GramCoder
from spdatoms.layout import COUNT, PENALTY, POSITIVE, SHARE, Maybe, Value, part

#: ρ of codes, as a share of 1 − e^(−β·median).
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
        How classes are judged: see `ClassRule` and, for ``"mean"``, `class_means`.
    beta : float or None
        β itself, in the place of the factor.
    correction : str
        What is done to an indefinite Gram matrix.
    """

    metric: Annotated[int, COUNT]
    shrinkage: Annotated[float, SHARE]
    factor: Annotated[float, POSITIVE]
    alpha: Annotated[float, PENALTY]
    ridge: Annotated[float, PENALTY]
    rule: Annotated[str, Value(allow.choice(*RULES, MEAN))]
    beta: Annotated[float | None, Maybe(POSITIVE)] = None
    correction: Annotated[str, Value(CORRECTION)] = "clip"
    _stored = part()

    @property
    def kernel_family(self) -> tuple[int, float]:
        """Divergence and shrinkage: kernels that have both in common differ in β alone."""
        return self.metric, self.shrinkage

    def beta_for(self, median: float) -> float:
        """Return β where the median divergence is known."""
        return self.factor / median if self.beta is None else self.beta


def ridge_of(factor: float, share: float = RIDGE_SHARE) -> float:
    """Return ρ = share·(1 − e^−factor): a share of ½‖φ(X) − φ(Y)‖² for a typical pair of matrices."""
    return float(share * -np.expm1(-factor))


def code_cells(
    metrics: int,
    shrinkages: Sequence[float],
    factors: Sequence[float],
    alpha: float,
    shares: Sequence[float] = (RIDGE_SHARE,),
) -> Iterator[Cell]:
    """Yield cells of sparse codes with a ridge, whose sums over the classes are compared."""
    for metric, shrinkage, factor, share in product(range(metrics), shrinkages, factors, shares):
        yield Cell(metric, shrinkage, factor, alpha, ridge_of(factor, share), "sum")


def mean_cells(
    metrics: int, shrinkages: Sequence[float], factors: Sequence[float]
) -> Iterator[Cell]:
    """Yield cells in which the distances to the class means are compared."""
    for metric, shrinkage, factor in product(range(metrics), shrinkages, factors):
        yield Cell(metric, shrinkage, factor, 0.0, 0.0, MEAN)


def in_order(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells, those with the same divergence and shrinkage in a row."""
    return tuple(sorted(cells, key=lambda cell: cell.kernel_family))


class AtomCodes:
    """Codes of queries over atoms with weights, whose Gram matrix may have been corrected.

    The coder finds the codes z over atoms of other lengths, √w_j φ(D_j); those over the atoms are y_j = √w_j z_j.
    """

    def __init__(
        self, corrected: CorrectedGram, weights: Floats | None, alpha: float, ridge: float
    ) -> None:
        self._corrected, self.gram = corrected, corrected.gram
        self.lengthened = AtomLengths(weights).lengthened
        gram = AtomLengths(weights).lengthened_gram(self.gram)
        self._coder = GramCoder(gram, alpha, ridge)

    def corrected(self, cross: Floats) -> Floats:
        """Return kernel values (m, N) of queries as the corrected kernel has them."""
        return self._corrected.transform(cross)

    def coder_codes(self, cross: Floats, exclude: Indices | None = None) -> Floats:
        """Return z for queries with corrected kernel values, of which each may do without one atom."""
        return self._coder.codes(self.lengthened(cross), exclude)

    def of(self, cross: Floats, exclude: Indices | None = None) -> Floats:
        """Return y for queries with corrected kernel values, of which each may do without one atom."""
        return np.asarray(self.lengthened(self.coder_codes(cross, exclude)))

    def vjp(self, cross: Floats, z: Floats, weights: Floats) -> Floats:
        """Return the gradient of Σ w·y in corrected kernel values."""
        found = self._coder.vjp(self.lengthened(cross), z, self.lengthened(weights))
        return np.asarray(self.lengthened(found))


class CodedScores:
    """Class scores by codes over labelled atoms."""

    def __init__(self, atoms: AtomCodes, labels: Indices, n_classes: int, rule: str) -> None:
        self.atoms, self._rule = atoms, ClassRule(rule, labels, n_classes)

    @classmethod
    def of(
        cls, gram: Floats, labels: Indices, weights: Floats | None, n_classes: int, cell: Cell
    ) -> CodedScores:
        """Return those of a cell, whose Gram matrix is corrected if it is indefinite."""
        corrected = semidefinite_gram(gram, cell.correction)
        atoms = AtomCodes(corrected, weights, cell.alpha, cell.ridge)
        return cls(atoms, labels, n_classes, cell.rule)

    def scores(self, cross: Floats, exclude: Indices | None = None) -> Floats:
        """Return the class scores of queries, of which each may have to do without one atom."""
        cross = self.atoms.corrected(cross)
        return self._rule.scores(self.atoms.of(cross, exclude), self.atoms.gram, cross)

    def vjp(self, cross: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the class scores, and the gradient of their weighted sums in the kernel values."""
        cross = self.atoms.corrected(cross)
        z = self.atoms.coder_codes(cross)
        codes: Floats = self.atoms.lengthened(z)
        in_codes, own = self._rule.vjp(codes, self.atoms.gram, cross, weights)
        # The correction of kernel values is its own adjoint.
        slopes = self.atoms.corrected(own + self.atoms.vjp(cross, z, in_codes))
        return self._rule.scores(codes, self.atoms.gram, cross), slopes

    def contributions(self, cross: Floats) -> Floats:
        """Return what each atom adds to the score of its class, shape (m, N)."""
        cross = self.atoms.corrected(cross)
        return self._rule.contributions(self.atoms.of(cross), self.atoms.gram, cross)


class MeanScores:
    """Class scores by the distances to the class means in the space of the kernel, see `class_means`."""

    def __init__(
        self, gram: Floats, labels: Indices, weights: Floats | None, n_classes: int
    ) -> None:
        self._weights, self._offsets = class_means(gram, labels, n_classes, weights)
        self._columns, self._grand = gram.mean(axis=0), float(gram.mean())
        self._shares = 0.5 * self._weights[np.arange(len(labels)), labels]
        # (K̃_cc w)_j of kernel values K̃_ij = K_ij − K̄_i − K̄_j + K̄; the shares w of a class sum to one.
        own = np.take_along_axis(gram @ (0.5 * self._weights), labels[:, None], 1)[:, 0]
        means = self._shares * self._columns
        of_class = np.bincount(labels, means, n_classes)[labels]
        self._within = own - self._columns - of_class + self._grand

    def scores(self, cross: Floats) -> Floats:
        """Return the class scores (m, n_classes) of queries with kernel values (m, N)."""
        return np.asarray(row_products(cross, self._weights) + self._offsets)

    def vjp(self, cross: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the class scores, and the gradient of their weighted sums in the kernel values."""
        return self.scores(cross), np.asarray(weights @ self._weights.T)

    def contributions(self, cross: Floats) -> Floats:
        """Return w_j (2k̃ − K̃_cc w)_j with the shares w of atoms in their class mean, and centred kernel values.

        They are measured from the mean of all atoms: what all kernel values have in common is nobody's. Their sums
        over the classes are the scores, up to a number that is the same for all classes.
        """
        centred = cross - cross.mean(axis=1, keepdims=True) - self._columns + self._grand
        return np.asarray(self._shares * (2.0 * centred - self._within))


Scorer: TypeAlias = MeanScores | CodedScores


def labelled_atoms(
    gram: Floats, labels: Indices, weights: Floats | None, n_classes: int, cell: Cell
) -> Scorer:
    """Return what scores the classes of queries by labelled atoms, which may have weights, with a Gram matrix."""
    if cell.rule == MEAN:
        return MeanScores(gram, labels, weights, n_classes)
    return CodedScores.of(gram, labels, weights, n_classes, cell)
