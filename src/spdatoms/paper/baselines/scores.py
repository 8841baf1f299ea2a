"""Classifiers whose training matrices are labelled atoms."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import labelled_weights
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification.classifier import ScoredClassifier
from spdatoms.layout import holds


def penalties(alpha: float, weights: Floats | None) -> float | Floats:
    """Return the penalty α of all atoms or, if they have weights w, α/√w_j of each."""
    return float(alpha) if weights is None else np.asarray(alpha / np.sqrt(weights))


class LabelledAtomsClassifier(ScoredClassifier):
    """A classifier whose training matrices are labelled atoms."""

    atoms_: FloatArray
    atom_weights_: Floats | None = None  # for models of earlier versions
    _atom_classes: Indices
    _stored = holds("atoms_ classes_ _atom_classes")

    @checked_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take the training matrices as labelled atoms.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : array-like of shape (m,)
            Their labels.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is left out, as if
            it were not there. The greater the weight of another, the more it is used as an atom, see the class.

        Returns
        -------
        self : object
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, self.atom_weights_ = labelled_weights(labels, self.classes_, sample_weight)
        self.atoms_, self._atom_classes = X[rows], labels[rows]
        return self
