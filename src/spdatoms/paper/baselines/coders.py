"""Transformers that code matrices over atoms: given ones, or learned ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, checked_fit, estimator_call, per_matrix
from spdatoms.layout import holds
from spdatoms.paper.baselines.inputs import given_dictionary


class Coder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """Codes over ``atoms_``, by the `_codes` of a subclass."""

    atoms_: FloatArray

    @abstractmethod
    def _codes(self, X: FloatArray) -> Floats:
        """Return the codes, (m, n_atoms), of matrices that were checked."""

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return sparse codes.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

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
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        self.atoms_ = given_dictionary(self.dictionary, X)
        return self


class DictionaryLearner(Coder):
    """A coder over atoms that it learns, by the `_learn` of a subclass."""

    n_atoms: int
    max_iter: int
    _stored = holds("atoms_")

    @abstractmethod
    def _learn(self, X: Floats) -> Floats:
        """Return the atoms for X (m, n, n), and set ``objective_`` and ``n_iter_``."""

    @abstractmethod
    def _objectives(self, X: FloatArray) -> Floats:
        """Return the objective of each of the matrices, (m,), which were checked."""

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        with one_blas_thread():
            self.atoms_ = self._learn(np.ascontiguousarray(X, np.float64)).astype(X.dtype)
        return self

    @estimator_call
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean objective of matrices: greater is better.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return -float(self._objectives(self.check_queries(X)).mean())
