"""Class scores by sparse codes over labelled atoms, taken apart by atoms and by channels."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import softmax

from spdatoms._utils.products import squared_distances
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.classification.cells import AtomCodes, CodedScores
from spdatoms.classification.classifier import ScoredClassifier, prior_answers
from spdatoms.classification.explanation import Explanation, Explanations, taken_apart, two_best
from spdatoms.classification.named_atoms import ExplainingEstimator, Listing
from spdatoms.classification.relevance import Margins, Relevance
from spdatoms.classification.scores import ClassRule, warn_of_zero_codes
from spdatoms.coding.blocks import CodedBlock, coded_feature_blocks, for_coded_blocks
from spdatoms.divergences import Divergence, get_divergence, mean
from spdatoms.divergences.hermitian import over
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.kernels import Kernel
from spdatoms.kernels.correction import CorrectedGram
from spdatoms.kernels.landmarks import LandmarkKernel

#: What scores of one kernel, shares of a squared norm, are multiplied by before their softmax.
_SHARPNESS = 10.0
#: What returns the contributions (m, N) of atoms to class scores, if somebody wants to know.
Contributions: TypeAlias = Callable[[], Floats]
Result = TypeVar("Result")


class CodedClassifier(ScoredClassifier, ExplainingEstimator[Explanations]):
    """A classifier by codes over labelled atoms, which its subclass finds."""

    metric: str | Divergence
    ridge: float
    rule: str
    n_jobs: int | None
    atoms_: FloatArray | None
    atom_weights_: Floats | None = None  # for models of earlier versions
    kernel_: Kernel
    alpha_: float
    _atom_classes: Indices

    def _scores(self, X: FloatArray) -> Floats:
        return np.concatenate(self._of_scores(lambda scores, _: scores, X))

    def _probabilities(self, X: FloatArray) -> Floats:
        return np.asarray(softmax(_SHARPNESS * self._scores(X)))

    def _answers_to_nothing(self) -> dict[str, Array]:
        return prior_answers(self.classes_, self._atom_classes, self.atom_weights_, _SHARPNESS)

    def _explained(self, X: FloatArray, listing: Listing) -> Explanations:
        listing.check(len(self._atom_classes))

        def explain(scores: Floats, added: Contributions) -> list[Explanation]:
            return [*taken_apart(scores, added(), self.classes_, self._atom_classes, listing)]

        found = Explanations([*chain.from_iterable(self._of_scores(explain, X))])
        model = copy(self)  # what is explained stays so after another fit
        return found.with_relevance(Relevance(CodedMargins(model, X, two_best(found.totals)), X))

    def _of_scores(
        self, use: Callable[[Floats, Contributions], Result], X: FloatArray
    ) -> list[Result]:
        """Return what ``use`` makes of class scores, and of what returns the contributions of atoms, block by block.

        Several threads may call it.
        """

        def complete(
            scores: Floats, zero: NDArray[np.bool_], added: Contributions
        ) -> tuple[Result, int]:
            if not zero.any() and np.isfinite(scores).all():
                return use(scores, added), 0
            # Distances to atoms take the place of scores there: their softmax is that of β·d.
            scale = np.where(zero, self.distance_scale(), 1.0)[:, None]
            return use(_finite(scale, scores), lambda: _finite(scale, added())), int(zero.sum())

        coding: Any = {
            "ridge": self.ridge,
            "weights": self.atom_weights_,
            "n_jobs": self.n_jobs,
        }
        rule, kernel = ClassRule(self.rule, self._atom_classes, len(self.classes_)), self.kernel_
        if isinstance(kernel, LandmarkKernel):
            found = []
            for features, codes in coded_feature_blocks(X, kernel, self.alpha_, **coding):
                given = codes, features, kernel.features_
                added = partial(rule.feature_contributions, *given)
                found.append(complete(*rule.feature_scores(*given), added))
        else:

            def score(block: CodedBlock) -> tuple[Result, int]:
                to_atoms = partial(self._divergences_to_atoms, X[block.rows])
                given = block.codes, kernel.gram_, block.cross, to_atoms
                added = partial(rule.contributions_or_nearest, *given)
                return complete(*rule.scores_or_nearest(*given), added)

            found = for_coded_blocks(score, X, kernel, self.alpha_, losses=False, **coding)
        warn_of_zero_codes(sum(zeros for _, zeros in found), len(X))
        return [one for one, _ in found]

    def distance_scale(self) -> float:
        """Return what divergences are multiplied by to be scores: that of the kernel in their softmax."""
        if isinstance(self.kernel_, LandmarkKernel):
            return 0.5 / _SHARPNESS  # ‖φ(X) − φ(Y)‖² ≈ 2 − 2 exp(−β·d) ≈ 2β·d
        return float(getattr(self.kernel_, "beta_", 1.0)) / _SHARPNESS

    def _divergences_to_atoms(self, X: FloatArray, some: NDArray[np.bool_]) -> FloatArray:
        """Return the divergences of some of the matrices X to the atoms."""
        divergence, queries, atoms = self.beside_atoms(X[some])
        return divergence.pairwise(queries, atoms, n_jobs=self.n_jobs)

    def beside_atoms(self, X: FloatArray) -> tuple[Divergence, Any, Any]:
        """Return the divergence, and matrices X and the atoms as it prepares them."""
        atoms = np.asarray(self.atoms_)
        dtype = np.result_type(X, atoms, np.float64)
        divergence = over(get_divergence(self.metric), dtype)
        queries, own = (divergence.prepare(Z.astype(dtype, copy=False)) for Z in (X, atoms))
        return divergence, queries, own


@dataclass
class CodedMargins(Margins):
    """s_best − s_second by codes over labelled atoms; if the code of the query is zero, by its nearest atoms."""

    model: CodedClassifier
    X: FloatArray
    classes: Indices

    @cached_property
    def mean(self) -> Array:
        """The mean of the atoms, or of the landmarks if those are not kept."""
        kernel, atoms = self.model.kernel_, self.model.atoms_
        if atoms is None and isinstance(kernel, LandmarkKernel):
            return np.asarray(mean(kernel.space.landmarks, "jeffrey"))
        return np.asarray(mean(as_double(np.asarray(atoms)), "jeffrey"))

    @cached_property
    def _scores(self) -> CodedScores:
        model = self.model
        if not hasattr(model.kernel_, "gram_"):
            raise ValueError(
                "There are too many atoms for their Gram matrix, which the relevance of channels needs: fit the "
                "classifier with fewer, for example with n_atoms_per_class or max_atoms."
            )
        gram = CorrectedGram(model.kernel_.gram_, None, None, indefinite=False)
        atoms = AtomCodes(gram, model.atom_weights_, model.alpha_, model.ridge)
        return CodedScores(atoms, model._atom_classes, len(model.classes_), model.rule)

    @cached_property
    def _zero(self) -> NDArray[np.bool_]:
        codes = self._scores.atoms.of(self.model.kernel_.cross_checked(self.X))
        return np.asarray(~codes.any(axis=1))

    def at(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        """Return the margins that matrices P would have in the place of some queries, and their gradients."""
        values, gradients = np.empty(len(P)), np.empty(P.shape, P.dtype)
        zero = self._zero[rows]
        for some, of in ((~zero, self._by_codes), (zero, self._by_distances)):
            if some.any():
                values[some], gradients[some] = of(P[some], rows[some])
        return values, gradients

    def _by_codes(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        kernel = self.model.kernel_
        cross = np.asarray(kernel.cross_checked(P), np.float64)
        weights = self.weights(rows, len(self.model.classes_))
        scores, slopes = self._scores.vjp(cross, weights)
        best, second = np.take_along_axis(scores, self.classes[rows], 1).T
        return best - second, kernel.vjp(P, slopes)

    def _by_distances(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        kernel = self.model.kernel_
        if isinstance(kernel, LandmarkKernel):
            space, atoms = kernel.space, kernel.features_
            features = space.features(P)
            slopes, values = self._nearest(squared_distances(features, atoms), rows)
            own = 2.0 * (slopes.sum(axis=1)[:, None] * features - slopes @ atoms)
            return values, space.vjp(P, own)
        divergence, queries, prepared = self.model.beside_atoms(P)
        slopes, values = self._nearest(divergence.pairwise(queries, prepared), rows)
        G = divergence.vjp(queries, prepared, slopes, both=False)[0]
        return values, G if is_complex(P) else G.real

    def _nearest(self, distances: Floats, rows: Indices) -> tuple[Floats, Floats]:
        """Return the weights of distances to the nearest atoms of two classes, and the margin that they give."""
        slopes, values = np.zeros(distances.shape), np.zeros(len(distances))
        scale, (best, second) = self.model.distance_scale(), self.classes[rows].T
        for sign, of in ((-1.0, best), (1.0, second)):
            own = np.where(self.model._atom_classes == of[:, None], distances, np.inf)
            nearest = own.argmin(axis=1)[:, None]
            slopes[np.arange(len(own)), nearest[:, 0]] += sign * scale
            values += sign * scale * np.take_along_axis(own, nearest, 1)[:, 0]
        return slopes, values


def _finite(scale: Floats, values: Floats) -> Floats:
    """Return the product; one that overflows, because β is huge, is the largest number."""
    with np.errstate(over="ignore"):
        return np.asarray(np.nan_to_num(scale * values, copy=False))
