"""Why matrices were classified as they were: a few training matrices for each, and what they add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spdatoms._utils.typing import Array, Floats, Indices

if TYPE_CHECKING:
    from spdatoms.classification.explanation import Explanation

#: The greatest numbers of queries whose reasons are shown, and of training matrices for each.
SHOWN, _ATOMS = 1000, 5


@dataclass(frozen=True)
class Reason:
    """An explanation, with the training matrices that it names.

    Attributes
    ----------
    explanation : Explanation
        What at most five training matrices add, and the totals of the classes.
    matrices : ndarray of shape (k, n, n)
        These training matrices.
    query : ndarray of shape (n, n)
        The matrix that is explained.
    """

    explanation: Explanation
    matrices: Array
    query: Array

    def renumbered(self, rows: Indices) -> Reason:
        """Return the same with other indices of its training matrices: those of the rows they were taken from."""
        atoms = self.explanation.atoms
        if len(atoms) and atoms.max() >= len(rows):  # they were learned, and are no rows
            return self
        return replace(self, explanation=replace(self.explanation, atoms=rows[atoms]))


def reasons(classifier: Any, X: Array, rows: Indices) -> dict[int, Reason]:
    """Return the reasons of a fitted classifier for some rows of X; none if it keeps no training matrices."""
    atoms = getattr(classifier, "atoms_", None)
    if atoms is None or not hasattr(classifier, "explain") or not len(rows):
        return {}
    # The ensemble names rows of its training set, of which it may keep a part.
    kept = getattr(classifier, "atom_indices_", np.arange(len(atoms)))
    from spdatoms.scale.blocks import some_rows

    found = classifier.explain(some_rows(X, rows), n_atoms=_ATOMS)
    return {
        int(row): Reason(one, atoms[np.searchsorted(kept, one.atoms)], X[row])
        for row, one in zip(rows, found, strict=True)
    }


def most_instructive(probabilities: Floats, wrong: Array, count: int) -> Indices:
    """Return this number of rows, in order: those that are wrong, and then those that are least sure."""
    order = np.lexsort((probabilities.max(axis=1), ~wrong))
    return np.sort(order[:count])
