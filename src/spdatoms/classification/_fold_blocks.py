"""Class scores of left-out training matrices, for several folds at a time.

Small training sets have many folds, and a fold takes less time than the calls that it needs. So folds share
arrays (F, R, A): the F folds of a block, R matrices, and those A of them that are atoms of some fold. An atom that a
fold leaves out has a row and a column of zeros in its Gram matrix, so that no code uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg.lapack

from spdatoms._utils.folds import Fold
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.classification.cells import Cell, CodedScores
from spdatoms.classification.scores import MEAN, ClassRule
from spdatoms.coding.blocks import AtomLengths
from spdatoms.geometry.semidefinite import eigenvalue_tolerance
from spdatoms.kernels.whitening import ClassicalScaling, shrunk, within_classes
from spdatoms.lasso.gram_coder import quick_codes
from spdatoms.lasso.units import atom_scales

#: Kernel values of the folds in a block, unless it is a single fold.
_ENTRIES = 1 << 18
#: From this ridge on rounding does not matter in the Gram matrix of a kernel that is positive definite.
_OUTWEIGHS_ROUNDING = 1e-3


class FoldBlock:
    """Some folds of labelled training matrices.

    Parameters
    ----------
    folds : sequence of Fold
        The folds.
    labels : ndarray of shape (N,)
        The indices of the classes.
    weights : ndarray of shape (N,) or None
        The weights of the matrices.
    """

    def __init__(self, folds: Sequence[Fold], labels: Indices, weights: Floats | None) -> None:
        trained = np.zeros((len(folds), len(labels)), bool)
        needed = np.zeros(len(labels), bool)
        for fold, own in zip(folds, trained, strict=True):
            own[fold.train] = True
            needed[fold.test] = True
        used = trained.any(axis=0)
        self._atoms = np.flatnonzero(used)
        self._rows = np.concatenate([self._atoms, np.flatnonzero(needed & ~used)])
        position = np.empty(len(labels), np.intp)
        position[self._rows] = np.arange(len(self._rows))
        sizes = [len(fold.test) for fold in folds]
        ends = np.cumsum(sizes)
        #: The left-out matrices of each fold.
        self._parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self._fold = np.repeat(np.arange(len(folds)), sizes)
        self._tests = position[np.concatenate([fold.test for fold in folds])]
        self._excluded = np.concatenate(
            [
                np.full(len(fold.test), -1)
                if fold.exclude is None
                else position[fold.train[fold.exclude]]
                for fold in folds
            ]
        )
        self._labels, self._weights = labels[self._atoms], part_of(weights, self._atoms)
        self._trained = np.ascontiguousarray(trained[:, self._atoms])
        self._n_classes = int(labels.max()) + 1
        # Every fold has weights of its own: zero for atoms that it leaves out.
        self._own = self._trained * (1.0 if self._weights is None else self._weights)
        members = self._labels[:, None] == np.arange(self._n_classes)
        totals = self._own @ members
        #: The shares (F, A, n_classes) of atoms in the means of their classes.
        self._shares = self._own[:, :, None] * members / np.where(totals > 0, totals, 1.0)[:, None]
        self._there = totals > 0

    def __len__(self) -> int:
        """Return the number of matrices that are left out."""
        return len(self._tests)

    def divergences(self, d: Floats) -> Floats:
        """Return the divergences (1, R, A) that are the same for all folds, of those (N, N) among all matrices."""
        return np.asarray(d[np.ix_(self._rows, self._atoms)])[None]

    def scatters(self, scaling: ClassicalScaling) -> Floats:
        """Return RᵀR (F, q, q) of the training matrices of every fold; zero where they tell nothing."""
        Z = scaling.coordinates[self._atoms]
        R = within_classes(Z, self._labels, self._own)
        squares: Floats = np.matmul(R.swapaxes(1, 2), R)
        squares[self._trained.sum(axis=1) <= self._there.sum(axis=1)] = 0.0
        return squares

    def whitened(
        self, scaling: ClassicalScaling, squares: Floats, dimension: int, shrinkage: float
    ) -> Floats:
        """Return d_w (F, R, A), whitened by the training matrices of every fold alone."""
        Z, count = scaling.coordinates[self._rows], len(self._atoms)
        known = np.trace(squares, axis1=1, axis2=2) > 0
        factors = np.linalg.cholesky(shrunk(squares[known], dimension, shrinkage))
        W = np.broadcast_to(Z, (len(squares), *Z.shape)).copy()
        for f, C in zip(np.flatnonzero(known), factors, strict=True):
            W[f] = scipy.linalg.lapack.dtrtrs(C.T, Z.T, lower=0, trans=1)[0].T
        norms = np.einsum("frq,frq->fr", W, W)
        distances: Floats = np.matmul(W, -2.0 * W[:, :count].swapaxes(1, 2))
        distances += norms[:, :, None]
        distances += norms[:, None, :count]
        np.maximum(distances, 0.0, out=distances)
        diagonal = np.arange(count)
        distances[:, diagonal, diagonal] = 0.0
        return distances

    def left_out(self, divergences: Floats) -> Floats:
        """Return those of the divergences that are between left-out matrices and training matrices."""
        found: Floats = self._queries(divergences)[self._trained[self._fold]]
        return found

    def _queries(self, values: Floats) -> Floats:
        """Return values (T, A) of the left-out matrices."""
        found: Floats = values[self._fold if len(values) > 1 else 0, self._tests]
        return found

    def scores(self, values: Floats, cells: Sequence[Cell]) -> Iterator[Floats]:
        """Yield the class scores (T, n_classes) of left-out matrices, by cells with the same values (1 or F, R, A)."""
        for cell in cells:
            if cell.rule == MEAN:
                yield self._mean_scores(values)
            else:
                found = self._code_scores(values, cell)
                yield self._one_by_one(values, cell) if found is None else found

    def _mean_scores(self, values: Floats) -> Floats:
        """Return 2⟨φ(X), m_c⟩ − ‖m_c‖², as `class_means` does."""
        to_means = values @ self._shares
        norms = np.einsum("fac,fac->fc", self._shares, to_means[:, : len(self._atoms)])
        scores = 2.0 * to_means[self._fold, self._tests] - norms[self._fold]
        return np.where(self._there[self._fold], scores, -np.inf)

    def _code_scores(self, values: Floats, cell: Cell) -> Floats | None:
        """Return the scores of codes; None if a Gram matrix may have to be corrected, or codes need more care."""
        count, lengths = len(self._atoms), AtomLengths(self._weights)
        if not _is_definite(values[:, :count], cell):
            return None
        cross, left_in = self._queries(values), self._trained[self._fold]
        grams = lengths.lengthened_gram(
            values[:, :count] * (self._trained[:, :, None] & self._trained[:, None, :])
        )
        diagonal = np.arange(count)
        grams[:, diagonal, diagonal] = squares = (
            np.full(count, 1.0 if self._weights is None else self._weights) + cell.ridge
        )
        scales, own = atom_scales(squares), lengths.lengthened(cross * left_in)
        codes = np.empty(own.shape)
        for gram, part in zip(grams, self._parts, strict=True):
            excluded = self._excluded[part]
            if not quick_codes(gram, own[part], cell.alpha, scales, excluded, codes[part]):
                return None
        codes = lengths.lengthened(codes)
        if cell.rule == "max":
            codes[~left_in] = -np.inf
        rule = ClassRule(cell.rule, self._labels, self._n_classes)
        if cell.rule != "residual":  # no Gram matrix is needed
            scores = rule.scores(codes, cross, cross)
        else:
            scores = np.empty((len(self), self._n_classes))
            for f, part in enumerate(self._parts):
                gram = values[f % len(values), :count]
                scores[part] = rule.scores(codes[part], gram, cross[part])
        return np.where(self._there[self._fold], scores, -np.inf)

    def _one_by_one(self, values: Floats, cell: Cell) -> Floats:
        """Return the scores of codes, fold by fold, with Gram matrices that are corrected if they are indefinite."""
        scores = np.empty((len(self), self._n_classes))
        for f, part in enumerate(self._parts):
            atoms, own = np.flatnonzero(self._trained[f]), values[f % len(values)]
            coded = CodedScores.of(
                own[np.ix_(atoms, atoms)],
                self._labels[atoms],
                part_of(self._weights, atoms),
                self._n_classes,
                cell,
            )
            excluded = self._excluded[part]
            scores[part] = coded.scores(
                own[np.ix_(self._tests[part], atoms)],
                np.where(excluded < 0, -1, np.searchsorted(atoms, excluded)),
            )
        return scores


def _is_definite(grams: Floats, cell: Cell) -> bool:
    """Return whether Gram matrices (F, A, A) need no correction."""
    outweighed = cell.ridge >= _OUTWEIGHS_ROUNDING
    if outweighed and cell.shrinkage < 1.0:
        return (
            True  # d_w is a squared distance, so its kernel is positive definite but for rounding
        )
    lift = eigenvalue_tolerance(grams[0]) * len(grams[0]) if outweighed else 0.0
    try:
        np.linalg.cholesky(grams + lift * np.eye(grams.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def fold_blocks(folds: Sequence[Fold], labels: Indices, weights: Floats | None) -> list[FoldBlock]:
    """Return folds in blocks: one by one where there are many matrices, else some at a time."""
    count = max(1, _ENTRIES // len(labels) ** 2)
    return [FoldBlock(folds[some], labels, weights) for some in block_slices(len(folds), count)]
