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
#: The greatest number of queries whose channels are looked at, and what this may cost: their number · atoms · n³.
_CHANNELS, _COST = 100, 3e9


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
    learned : bool
        The training matrices are atoms that were learned, and no rows of the training set.
    channels : ndarray of shape (n,) or None, default=None
        What each channel contributed to the margin, if that was computed; NaN where the query lacks it.
    """

    explanation: Explanation
    matrices: Array
    query: Array
    learned: bool
    channels: Floats | None = None

    def renumbered(self, rows: Indices) -> Reason:
        """Return the same with other indices of its training matrices: those of the rows they were taken from."""
        if self.learned:
            return self
        return replace(
            self, explanation=replace(self.explanation, atoms=rows[self.explanation.atoms])
        )


def reasons(classifier: Any, X: Array, rows: Indices, most: int) -> dict[int, Reason]:
    """Return the reasons of a fitted classifier for some rows of X; none if it keeps no training matrices.

    The first rows also have the channels that decided, if this does not take too long. ``most`` is how many of the
    `SHOWN` queries may be of these rows.
    """
    atoms = getattr(classifier, "atoms_", None)
    if atoms is None or not hasattr(classifier, "explain") or not len(rows):
        return {}
    # The ensemble names rows of its training set, of which it may keep a part.
    kept = getattr(classifier, "atom_indices_", np.arange(len(atoms)))
    learned = getattr(classifier, "n_atoms_per_class", None) is not None
    from spdatoms.scale.blocks import some_rows

    queries = some_rows(X, rows)
    found = classifier.explain(queries, n_atoms=_ATOMS)
    cost = len(atoms) * X.shape[-1] ** 3
    looked_at = most / SHOWN * min(_CHANNELS, _COST / cost)
    return {
        int(row): Reason(
            one,
            atoms[np.searchsorted(kept, one.atoms)],
            query,
            learned,
            _channels(one, query) if place < looked_at else None,
        )
        for place, (row, one, query) in enumerate(zip(rows, found, queries, strict=True))
    }


def _channels(explanation: Explanation, query: Array) -> Floats | None:
    """Return what each channel contributed to the margin; None if the explanation does not know it."""
    try:
        known = explanation.rough_channels().channels
    except ValueError:
        return None
    channels = np.full(len(query), np.nan)
    channels[~np.isnan(np.diagonal(query).real)] = known
    return channels


def most_instructive(probabilities: Floats, wrong: Array, count: int) -> Indices:
    """Return this number of rows: those that are wrong, and then the others, the least sure first."""
    return np.lexsort((probabilities.max(axis=1), ~wrong))[:count]
