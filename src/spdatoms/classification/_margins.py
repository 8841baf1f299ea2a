"""Margins between the two best classes of queries, as functions of other matrices in their place, with gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.classification.average import KernelAverage
from spdatoms.classification.kernel_ensemble import References
from spdatoms.classification.relevance import Margins
from spdatoms.classification.scores import class_score_vjp, class_scores
from spdatoms.coding.blocks import AtomLengths
from spdatoms.divergences import Divergence, mean
from spdatoms.divergences.hermitian import over
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.landmarks import LandmarkKernel
from spdatoms.kernels.whitening import squared_distances
from spdatoms.lasso.gram_coder import GramCoder


def two_best(totals: Floats) -> Indices:
    """Return the classes with the largest and the second largest total, (m, 2)."""
    best = totals.argmax(axis=1)
    others = totals.copy()
    others[np.arange(len(totals)), best] = -np.inf
    return np.column_stack([best, others.argmax(axis=1)])


def _differences(classes: Indices, n_classes: int) -> Floats:
    """Return the weights (m, n_classes) of class scores whose sum is the margin."""
    weights = np.zeros((len(classes), n_classes))
    rows = np.arange(len(classes))
    weights[rows, classes[:, 0]] += 1.0
    weights[rows, classes[:, 1]] -= 1.0
    return weights


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
        weights = _differences(self.classes[rows], self.average.n_classes)
        values, slopes = self.average.vjp(
            self.references.divergences(P), weights, self._factors[:, rows]
        )
        return values, self.references.vjp(P, slopes)


@dataclass
class CodedMargins(Margins):
    """s_best − s_second by codes over labelled atoms; if the code of the query is zero, by its nearest atoms."""

    kernel: Kernel
    atoms: FloatArray | None
    atom_classes: Indices
    atom_weights: Floats | None
    alpha: float
    ridge: float
    rule: str
    divergence: Divergence
    distance_scale: float
    X: FloatArray
    classes: Indices

    @cached_property
    def mean(self) -> Array:
        """The mean of the atoms, or of the landmarks if those are not kept."""
        if self.atoms is None and isinstance(self.kernel, LandmarkKernel):
            return np.asarray(mean(self.kernel.space.landmarks, "jeffrey"))
        return np.asarray(mean(as_double(np.asarray(self.atoms)), "jeffrey"))

    @cached_property
    def _zero(self) -> NDArray[np.bool_]:
        return np.asarray(~self._codes(self.kernel.cross_checked(self.X)).any(axis=1))

    @cached_property
    def _coder(self) -> GramCoder:
        if not hasattr(self.kernel, "gram_"):
            raise ValueError(
                "There are too many atoms for their Gram matrix, which the relevance of channels needs: fit the "
                "classifier with fewer, for example with n_atoms_per_class or max_atoms."
            )
        gram = AtomLengths(self.atom_weights).lengthened_gram(self.kernel.gram_)
        return GramCoder(gram, self.alpha, self.ridge)

    def _codes(self, cross: Floats) -> Floats:
        """Return the codes over atoms with lengths."""
        return self._coder.codes(AtomLengths(self.atom_weights).lengthened(cross))

    def at(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        """Return the margins that matrices P would have in the place of some queries, and their gradients."""
        values, gradients = np.empty(len(P)), np.empty(P.shape, P.dtype)
        zero = self._zero[rows]
        for some, of in ((~zero, self._by_codes), (zero, self._by_distances)):
            if some.any():
                values[some], gradients[some] = of(P[some], self.classes[rows[some]])
        return values, gradients

    def _by_codes(self, P: Array, classes: Indices) -> tuple[Floats, Array]:
        lengths, gram = AtomLengths(self.atom_weights), self.kernel.gram_
        weights = _differences(classes, int(self.atom_classes.max()) + 1)
        cross = np.asarray(self.kernel.cross_checked(P), np.float64)
        own = self._codes(cross)
        codes = lengths.lengthened(own)
        labels = self.atom_classes
        scores = class_scores(codes, gram, cross, labels, weights.shape[1], self.rule)
        in_codes, in_cross = class_score_vjp(codes, gram, cross, labels, self.rule, weights)
        u = self._coder.vjp(lengths.lengthened(cross), own, lengths.lengthened(in_codes))
        return _margin(scores, classes), self.kernel.vjp(P, in_cross + lengths.lengthened(u))

    def _by_distances(self, P: Array, classes: Indices) -> tuple[Floats, Array]:
        if isinstance(self.kernel, LandmarkKernel):
            space, atoms = self.kernel.space, self.kernel.features_
            features = space.features(P)
            slopes, values = self._nearest(squared_distances(features, atoms), classes)
            own = 2.0 * (slopes.sum(axis=1)[:, None] * features - slopes @ atoms)
            return values, space.vjp(P, own)
        dtype = np.result_type(P, np.asarray(self.atoms), np.float64)
        divergence = over(self.divergence, dtype)
        queries, own = (divergence.prepare(np.asarray(Z, dtype)) for Z in (P, self.atoms))
        slopes, values = self._nearest(divergence.pairwise(queries, own), classes)
        G = divergence.vjp(queries, own, slopes, both=False)[0]
        return values, G if is_complex(P) else G.real

    def _nearest(self, distances: Floats, classes: Indices) -> tuple[Floats, Floats]:
        """Return the weights of distances to the nearest atoms of two classes, and the margin that they give."""
        slopes, values = np.zeros(distances.shape), np.zeros(len(distances))
        for sign, of in ((-1.0, classes[:, 0]), (1.0, classes[:, 1])):
            own = np.where(self.atom_classes == of[:, None], distances, np.inf)
            nearest = own.argmin(axis=1)[:, None]
            slopes[np.arange(len(own)), nearest[:, 0]] += sign * self.distance_scale
            values += sign * self.distance_scale * np.take_along_axis(own, nearest, 1)[:, 0]
        return slopes, values


def _margin(scores: Floats, classes: Indices) -> Floats:
    best, second = np.take_along_axis(scores, classes, 1).T
    return np.asarray(best - second)
