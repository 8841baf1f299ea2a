"""Estimators over atoms: coders with given or with learned ones, and classifiers with labelled ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import labelled_weights
from spdatoms.base import SPDEstimator, check_labels, checked_fit, estimator_call, per_matrix
from spdatoms.classification.classifier import ScoredClassifier
from spdatoms.geometry.geodesics import AffineGeodesics
from spdatoms.geometry.spectral import cholesky, congruence
from spdatoms.geometry.validation import check_spd
from spdatoms.layout import holds

State = TypeVar("State")
#: Halvings of a step before an update is given up.
_HALVINGS = 25


def penalties(alpha: float, weights: Floats | None) -> float | Floats:
    """Return the penalty α of all atoms or, if they have weights w, α/√w_j of each."""
    return float(alpha) if weights is None else np.asarray(alpha / np.sqrt(weights))


class OverAtoms(SPDEstimator):
    """An estimator that works with ``atoms_``."""

    atoms_: FloatArray
    # Of labelled atoms alone, and not in models of earlier versions:
    atom_weights_: Floats | None = None

    def _prepare(self) -> None:
        """Prepare what codes need of the atoms, in a subclass that can do it once for all queries."""


class Coder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OverAtoms):
    """Codes over ``atoms_``, by the `_codes` of a subclass."""

    @abstractmethod
    def _codes(self, X: FloatArray) -> Floats:
        """Return the codes, (m, n_atoms), of matrices that were checked."""

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return sparse codes.

        Returns
        -------
        ndarray of shape (m, n_atoms)
            The codes, one per row.
        """
        X = self.check_queries(X)
        return self._codes(X).astype(np.result_type(X, self._all_atoms), copy=False)

    @property
    def _all_atoms(self) -> FloatArray:
        """The atoms, for a subclass that calls them otherwise."""
        return self.atoms_

    @property
    def _n_features_out(self) -> int:
        return len(self._all_atoms)


class DictionaryCoder(Coder):
    """A coder over a given dictionary, or over its training matrices."""

    dictionary: ArrayLike | None
    _stored = holds("atoms_")

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Take the dictionary.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, which are the atoms if there is no `dictionary`.
        """
        X = self.check_training_matrices(X)
        self.atoms_ = X
        if self.dictionary is not None:
            atoms = check_spd(self.dictionary, name="dictionary")
            self.atoms_ = check_size(atoms, X.shape[-1], name="dictionary")
        self._prepare()
        return self


class DictionaryLearner(Coder):
    """A coder over atoms that it learns, by the `_learn` of a subclass."""

    n_atoms: int
    max_iter: int
    _steps = 1  # that are recorded of an iteration

    @abstractmethod
    def _learn(self, X: FloatArray) -> list[float]:
        """Learn atoms for X (m, n, n), set what `_codes` needs, and return the objective step by step."""

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the atoms."""
        self.objective_ = np.array(self._learn(self.check_training_matrices(X)))
        self.n_iter_ = len(self.objective_) // self._steps
        return self


class Coding(OverAtoms):
    """Codes that minimise an objective."""

    n_jobs: int | None

    @abstractmethod
    def _code(self, X: FloatArray) -> tuple[Floats, Floats]:
        """Return the codes of matrices that were checked, and the least objective of each of them, (m,)."""

    def _codes(self, X: FloatArray) -> Floats:
        return self._code(X)[0]


@allow.shared_parameters
class AlternatingLearner(Threaded, Coding, DictionaryLearner):
    """A learner whose iterations have two half-steps: all matrices are coded, then the atoms are updated."""

    tol: float = allow.parameter(allow.TOLERANCE, default=1e-4)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)
    _steps = 2
    _stored = holds("atoms_")

    @abstractmethod
    def _iterations(self, X: FloatArray) -> Iterator[tuple[Floats, float, float]]:
        """Give the atoms after each iteration, and the objective after its coding and after its update."""

    def _learn(self, X: FloatArray) -> list[float]:
        history: list[float] = []
        with one_blas_thread(), progress_bar(self.max_iter, "dictionary") as advance:
            for D, coded, updated in islice(self._iterations(X), self.max_iter):
                history += [coded, updated]
                self._take(D, X.dtype)
                advance(objective=f"{updated:.6g}")
                if len(history) > 2 and self._is_small(history[-3] - updated, history[-3], updated):
                    break
        return history

    def _is_small(self, decrease: float, before: float, after: float) -> bool:
        """Return whether an iteration has lowered the objective so little that learning ends."""
        return decrease <= self.tol * abs(after)

    def _take(self, D: Floats, dtype: DTypeLike) -> None:
        self.atoms_ = D.astype(dtype)

    @estimator_call
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean objective of matrices: greater is better.

        Returns
        -------
        float
        """
        return -float(self._code(self.check_queries(X))[1].mean())


def steepest_descent(atoms: Floats, gradient: Floats, weights: Floats) -> AffineGeodesics:
    """Return the geodesics in the direction of minus a gradient, divided by the weight of each atom if it has one."""
    L = cholesky(atoms)
    directions = -congruence(L, gradient) / np.where(weights > 0, weights, 1.0)[:, None, None]
    return AffineGeodesics.whitened(L, directions)


def lowered(
    trial: Callable[[float], tuple[float, State]], before: tuple[float, State], step: float
) -> tuple[float, State, float]:
    """Halve the step until the loss falls; return loss, state and step, those of before if it never does."""
    for _ in range(_HALVINGS):
        after = trial(step)
        if after[0] < before[0]:
            return *after, step
        step *= 0.5
    return *before, step


class LabelledAtomsClassifier(OverAtoms, ScoredClassifier):
    """A classifier whose training matrices are labelled atoms."""

    _atom_classes: Indices
    _stored = holds("atoms_ classes_ _atom_classes")

    @checked_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take the training matrices as labelled atoms.

        Parameters
        ----------
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is left out, as if
            it were not there. The greater the weight of another, the more it is used as an atom, see the class.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, self.atom_weights_ = labelled_weights(labels, self.classes_, sample_weight)
        self.atoms_, self._atom_classes = X[rows], labels[rows]
        self._prepare()
        return self


def ranked(residuals: Floats, distances: Floats) -> Floats:
    """Return minus the residuals of classes, (m, n_classes); those that are infinite come last, by distance."""
    unused = np.isinf(residuals)
    worst = np.where(unused, 0.0, residuals).max(axis=1, keepdims=True)
    return -np.where(unused, worst + 1.0 + distances, residuals)
