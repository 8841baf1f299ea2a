"""Which channels decided: R = ∫ G(γ(t)) ∘ γ̇(t) dt along the geodesic γ from the training mean M to a query X.

G is the gradient of the margin ℓ between the two best classes of the query. Since dℓ = tr(G dγ), the entries of R sum
to ℓ(X) − ℓ(M): entry (a, b) is what the covariance of channels a and b contributed, and the sum of row a is what
channel a did. What standardises the scores of a query is held at its value for the query (a standardised score of two
classes is nearly a sign, and has no slope).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms.geometry.frames import CommonFrame, gram_in_units
from spdatoms.geometry.graded import in_units
from spdatoms.geometry.hermitian import complex_form, is_complex, real_form
from spdatoms.geometry.spectral import compose

#: The first parts of a path, the nodes of Gauss and Legendre in each and their weights.
_PARTS = 4
_NODES, _WEIGHTS = (0.5 + 0.5 * np.sqrt(0.6) * np.array([-1, 0, 1]), np.array([5, 8, 5]) / 18.0)
#: Parts are halved until the entries of R miss the difference of margins by less than this share of Σ|R|, but not more
#: often than this; a warning says if the other share is missed.
_AIM, _HALVINGS, _MISSED = 3e-4, 14, 1e-3
#: Points of paths that are looked at together.
_BLOCK = 512


@dataclass(frozen=True)
class ChannelRelevance:
    """What channels, and pairs of channels, contributed to the margin of decisions.

    Attributes
    ----------
    pairs : ndarray of shape (..., n, n)
        What the covariance of channels a and b contributed to the margin between the two best classes: symmetric.
    difference : ndarray of shape (...)
        The margin of the query minus that of the training mean, with the scale of the query: the sum of ``pairs``.
    """

    pairs: Floats
    difference: Floats

    @classmethod
    def of(cls, each: Sequence[ChannelRelevance]) -> ChannelRelevance:
        """Return those of several decisions as one.

        Parameters
        ----------
        each : sequence of ChannelRelevance
            Those of one decision each.

        Returns
        -------
        ChannelRelevance
        """
        return cls(
            np.stack([one.pairs for one in each]), np.stack([one.difference for one in each])
        )

    @property
    def channels(self) -> Floats:
        """What each channel contributed, shape (..., n): half of each of its pairs, and its variance."""
        return np.asarray(self.pairs.sum(axis=-1))

    @property
    def error(self) -> Floats:
        """By how much the sum of ``pairs`` misses the difference of margins, as a share of Σ|R|."""
        missed = np.abs(self.pairs.sum(axis=(-2, -1)) - self.difference)
        total = np.abs(self.pairs).sum(axis=(-2, -1))
        return np.asarray(missed / np.where(total > 0, total, 1.0))

    def __getitem__(self, index: int | slice) -> ChannelRelevance:
        return ChannelRelevance(self.pairs[index], self.difference[index])


class Margins(ABC):
    """The margins between the two best classes of queries, as functions of other matrices in their place.

    A subclass has the ``mean`` of the training matrices, and the two best ``classes`` (m, 2) of the queries.
    """

    mean: Any
    classes: Indices

    def weights(self, rows: Indices, n_classes: int) -> Floats:
        """Return the weights (m, n_classes) of class scores whose sum is the margin."""
        best, second = (np.eye(n_classes)[self.classes[rows, one]] for one in (0, 1))
        return np.asarray(best - second)

    @abstractmethod
    def at(self, P: Array, rows: Indices) -> tuple[Floats, Array]:
        """Return the margins that matrices P would have in the place of some queries, and their gradients."""


@dataclass
class Relevance:
    """The relevance of channels to the decisions about queries, computed when it is asked for, and kept.

    Attributes
    ----------
    margins : Margins
        What is explained.
    X : ndarray of shape (m, n, n)
        The queries.
    """

    margins: Margins
    X: Array
    _kept: dict[int, ChannelRelevance] = field(default_factory=dict, repr=False)

    def of(self, rows: list[int]) -> ChannelRelevance:
        """Return the relevance for some of the queries."""
        missing = np.array([row for row in dict.fromkeys(rows) if row not in self._kept], np.intp)
        if len(missing):
            with one_blas_thread():  # there are many small products
                found = integrated(self.margins, self.X[missing], missing, self.margins.mean)
            self._kept |= {row: found[i] for i, row in enumerate(missing.tolist())}
        return ChannelRelevance.of([self._kept[row] for row in rows])

    def roughly(self, row: int) -> ChannelRelevance:
        """Return the relevance for one of the queries without halving any part of its path."""
        with one_blas_thread():
            some = np.array([row])
            return integrated(self.margins, self.X[some], some, self.margins.mean, 0)[0]


class Path:
    """The geodesics γ(t) = M #_t X_i from one matrix to others, and their velocities."""

    def __init__(self, mean: Array, X: Array) -> None:
        dtype = np.result_type(mean, X, np.float64)
        self.complex = is_complex(np.empty(0, dtype))
        M, Z = (real_form(A.astype(dtype)) for A in (mean, X))
        self.frame = CommonFrame.of(np.broadcast_to(M, Z.shape), Z)

    def at(self, rows: Indices, t: Floats) -> tuple[Array, Array]:
        """Return points and velocities of the paths of these rows."""
        F, ratios = self.frame.columns[rows], self.frame.ratios[rows]
        units = self.frame.units[rows]
        powers = ratios ** t[:, None]
        points = gram_in_units(F, powers, units)
        velocities = in_units(compose(F * powers[:, None, :], 2.0 * np.log(ratios)), -units)
        if self.complex:
            return complex_form(points), complex_form(velocities)
        return points, velocities


def integrated(
    margins: Margins, X: Array, rows: Indices, mean: Array, halvings: int = _HALVINGS
) -> ChannelRelevance:
    """Return the relevance for queries X, which are those of these rows, by parts of their paths.

    The margins at both ends of a part say how well its integral was computed. The margin has kinks, where codes change
    their atoms: the parts around these are halved, until what they miss is small.
    """
    path, m, n = Path(mean, X), len(X), X.shape[-1]

    def at(queries: Indices, t: Floats) -> tuple[Floats, Floats]:
        values, products = np.empty(len(t)), np.empty((len(t), n, n))
        for some in block_slices(len(t), _BLOCK):
            P, V = path.at(queries[some], t[some])
            values[some], G = margins.at(P, rows[queries[some]])
            products[some] = (G * V.conj()).real
        return values, products

    edges = np.linspace(0.0, 1.0, _PARTS + 1)
    queries = np.repeat(np.arange(m), _PARTS + 1)
    ends = at(queries, np.tile(edges, m))[0].reshape(m, _PARTS + 1)
    difference = ends[:, -1] - ends[:, 0]
    whose = np.repeat(np.arange(m), _PARTS)
    first, last = (np.tile(part, m) for part in (edges[:-1], edges[1:]))
    before, after = ends[:, :-1].ravel(), ends[:, 1:].ravel()
    total = np.zeros((m, n, n))
    for halving in range(halvings + 1):
        width = last - first
        t = first[:, None] + width[:, None] * _NODES
        values, products = at(np.repeat(whose, len(_NODES)), t.ravel())
        middles = values.reshape(t.shape)[:, 1]
        parts = np.einsum("k,pkab->pab", _WEIGHTS, products.reshape(*t.shape, n, n))
        parts *= width[:, None, None]
        missed = np.abs(parts.sum(axis=(1, 2)) - (after - before))
        estimate = total.copy()
        np.add.at(estimate, whose, parts)
        sizes = np.abs(estimate).sum(axis=(1, 2))
        # Half of what may be missed is shared by length, half by halving: of a kink only two parts are ever open.
        allowed = _AIM * sizes[whose] * (width + 2.0 ** -(halving + 1))
        done = (missed <= allowed) | (halving == halvings)
        np.add.at(total, whose[done], parts[done])
        if done.all():
            break
        middle = 0.5 * (first + last)
        halves = [first, middle, before, middles], [middle, last, middles, after]
        left = np.array(halves)[:, :, ~done]
        first, last, before, after = left.swapaxes(0, 1).reshape(4, -1)
        whose = np.tile(whose[~done], 2)
    found = ChannelRelevance(0.5 * (total + total.swapaxes(1, 2)), difference)
    worst = float(found.error.max(initial=0.0))
    if worst > _MISSED and halvings == _HALVINGS:
        warn_user(
            f"The relevance of channels misses the difference of margins by {100 * worst:.2g} % of its size: the "
            "classifier is not continuous on the way from the training mean to the matrix.",
            ConvergenceWarning,
        )
    return found
