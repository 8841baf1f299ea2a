"""Which labelled atoms explain a query, and how much of it each of them explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.coding import CodedBlock, coded_feature_blocks, for_coded_blocks
from spdatoms.kernels import Kernel
from spdatoms.kernels.landmarks import LandmarkKernel

#: The greatest number of atoms that the text of an explanation lists.
_LISTED = 10


@dataclass(frozen=True)
class Explanation:
    """The few training matrices that a query is made of, by its sparse code y.

    The code explains the part 2 yᵀk − yᵀKy of the squared norm k(X, X) of the query. It is the sum of
    y_j (2k − Ky)_j over the atoms j: the share of an atom is its term, divided by k(X, X).

    Attributes
    ----------
    atoms : ndarray of shape (k,)
        The indices of the atoms in the code, the largest share first. Where the training matrices are
        the atoms, they are the rows of the training set (of those with a positive weight).
    shares : ndarray of shape (k,)
        Their shares of the query. Their sum is `explained`. An atom with a negative weight is
        subtracted, and its share may be negative.
    weights : ndarray of shape (k,)
        Their weights y_j in the code.
    labels : ndarray of shape (k,)
        Their labels.
    explained : float
        The share of the query that the whole code explains, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> classifier = SPDSparseClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"])
    >>> print(*classifier.explain(1.5 * X[:1]))
    99 % explained by 2 atoms: a #1 59 %, a #0 40 %
    """

    atoms: Indices
    shares: Floats
    weights: Floats
    labels: Array
    explained: float

    def __str__(self) -> str:
        count = len(self.atoms)
        if not count:
            return "nothing is explained: the code is zero"
        parts = [
            f"{label} #{atom} {share:.0%}".replace("%", " %")
            for label, atom, share in zip(self.labels, self.atoms, self.shares, strict=True)
        ]
        more = f", and {count - _LISTED} more" if count > _LISTED else ""
        explained = f"{100 * self.explained:.0f} % explained"
        noun = "atom" if count == 1 else "atoms"
        return f"{explained} by {count} {noun}: {', '.join(parts[:_LISTED])}{more}"

    def share_of(self, label: object) -> float:
        """Return the sum of the shares of the atoms with this label.

        Parameters
        ----------
        label : object
            A label of the training set.

        Returns
        -------
        float
        """
        return float(self.shares[self.labels == label].sum())


def explain_queries(
    X: FloatArray, kernel: Kernel, alpha: float, labels: Array, **coding: Any
) -> Iterator[Explanation]:
    """Yield the explanations of checked matrices X by the labelled atoms of a fitted kernel.

    ``coding`` is what `for_coded_blocks` wants to know besides.
    """
    if isinstance(kernel, LandmarkKernel):
        for _, features, codes in coded_feature_blocks(X, kernel, alpha, **coding):
            for i, query in enumerate(features):
                code = codes[[i]]
                atoms = kernel.features_[code.indices]
                yield _explanation(
                    code.indices, code.data, atoms @ atoms.T, atoms @ query, query @ query, labels
                )
        return
    found: dict[int, Explanation] = {}

    def explain(block: CodedBlock) -> None:
        norms = np.broadcast_to(kernel.cross_and_norms(X[block.rows])[1], len(block.codes))
        for i, (code, cross, norm) in enumerate(zip(block.codes, block.cross, norms, strict=True)):
            used = np.flatnonzero(code)
            gram = kernel.gram_[np.ix_(used, used)]
            explanation = _explanation(used, code[used], gram, cross[used], norm, labels)
            found[block.rows.start + i] = explanation

    for_coded_blocks(explain, X, kernel, alpha, **coding)
    yield from (found[i] for i in range(len(X)))


def _explanation(
    used: Indices, weights: Floats, gram: Floats, cross: Floats, norm: float, labels: Array
) -> Explanation:
    """Return the explanation by the atoms in use, with their own Gram matrix and cross values."""
    shares = weights * (2.0 * cross - gram @ weights) / norm
    order = np.argsort(-shares, kind="stable")
    used, explained = used[order], float(shares.sum())
    return Explanation(used, shares[order], weights[order], labels[used], explained)
