"""The passes of k-means over a stream: `ClusteredSample` for data that is not in memory.

The state of a span is the labels of its matrices and their divergences to their own centres. A pass finds
the divergences to all centres, gives every matrix to the nearest, and adds up what the next step of the
centres needs. So an iteration is one pass, unless a centre does not move as proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.clustering._assignment import Tally, relabelled
from spdatoms.divergences import Divergence
from spdatoms.scale.parts import Largest, Span, SumTuple, added, part_slices
from spdatoms.scale.passes import StreamPasses, with_smaller_spans
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")

#: What a pass finds: the `Tally` after it, the sums that the next steps of the centres are made of, and Σ w_i d(X_i, C)
#: over the members that clusters had before it, (2, k): with the centres of the last pass and with those of this one.
Found: TypeAlias = tuple[Tally, Floats, Floats]
#: Clusters whose centre is one of the matrices, and which: none.
_NONE = np.zeros(0, np.intp), np.zeros(0, np.intp)


@dataclass(frozen=True)
class Labelled:
    """The matrices of a part with positive weight: their indices, weights, labels, and d(X_i, C_{l_i})."""

    samples: Indices
    weights: Floats
    labels: Indices
    own: Floats

    @classmethod
    def unlabelled(cls, rows: slice, weights: Floats) -> Labelled:
        """Return the matrices as they are before the first pass."""
        used = np.flatnonzero(weights > 0)
        return cls(
            rows.start + used, weights[used], np.zeros(len(used), np.intp), np.zeros(len(used))
        )


class ClusteredStream:
    """Matrices of a stream with their labels; the methods are those of `ClusteredSample`.

    Parameters
    ----------
    stream : Stream
        The matrices.
    divergence : Divergence
        The divergence.
    weights : ndarray of shape (m,)
        Their weights, which sum to one.
    n_clusters : int
        How many centres there will be.
    """

    centres: Floats
    states: list[Any]
    found: Found

    def __init__(
        self, stream: Stream, divergence: Divergence, weights: Floats, n_clusters: int
    ) -> None:
        self.stream, self.divergence, self.weights = stream, divergence, weights
        self.parts = part_slices(len(stream), stream.shape[-1], n_clusters)
        self.passes = stream.passes(self.parts)

    def attempt(self, computation: Callable[[], Result]) -> Result:
        """Return the result of a computation that begins with `start`; if workers die, from smaller spans."""
        return with_smaller_spans(self.passes, self._cut, lambda passes: computation())

    def _cut(self, most: int) -> StreamPasses:
        """Return passes with at most this many parts per span."""
        self.passes = self.stream.passes(self.parts, most)
        return self.passes

    def start(self, centres: Floats) -> Tally:
        """Give every matrix to the nearest of these centres."""
        self.centres = np.array(centres)
        self.states = self.passes.put(
            [
                tuple(Labelled.unlabelled(rows, self.weights[rows]) for rows in span.parts)
                for span in self.passes.spans
            ]
        )
        self._tried: tuple[Indices, Floats, list[Any], Found] | None = None
        self._ready: tuple[list[Any], Found] | None = None
        self._occupied = _NONE
        return self._label(first=True)

    def assign(self, totals: Floats | None = None) -> Tally:
        """Give every matrix to its nearest centre, or by Hartigan's rule, given the weights of the clusters."""
        if self._ready is None or totals is not None:
            return self._label(totals)
        (self.states, self.found), self._ready = self._ready, None
        return self.found[0]

    def _label(self, totals: Floats | None = None, first: bool = False) -> Tally:
        self.states, self.found = self._pass(self.centres, totals, first)
        self._occupied = _NONE
        return self.found[0]

    def _pass(
        self, centres: Floats, totals: Floats | None = None, first: bool = False
    ) -> tuple[list[Any], Found]:
        """Return the states of the spans after a pass, and what it found."""
        shared = self.divergence, centres, totals, first, self._occupied
        return self.passes.run(_label, self.states, *shared)

    def centre_steps(self, clusters: Indices) -> Floats:
        """Return `Divergence.centre` of the members of each of the clusters."""
        tally, terms, _ = self.found
        return np.array(
            [
                self.divergence.centre_from_terms(terms[j], tally.weights[j], self.centres[j])
                for j in clusters
            ]
        )

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i d(X_i, C) over the members of each cluster, with its centre and with this one.

        The same pass finds the clusters for the case that all these centres are kept.
        """
        trial = self.centres.copy()
        trial[clusters] = centres
        states, found = self._pass(trial)
        self._tried = clusters, trial, states, found
        before, after = found[2][:, clusters]
        return before, after

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Replace the chosen centres by those just tried."""
        assert self._tried is not None
        clusters, trial, states, found = self._tried
        self._tried = None
        kept = clusters[chosen]
        self.centres = self.centres.copy()
        self.centres[kept] = trial[kept]
        self._ready = (states, found) if chosen.all() else None

    def worst_represented(self, count: int) -> Largest:
        """Return the matrices with the largest w_i d(X_i, C_{l_i}), and their labels."""
        worst: Largest = self.passes.total(_largest_costs, self.states, count, read=False)
        return worst

    def occupy(self, clusters: Indices, chosen: Indices) -> None:
        """Let the chosen matrices be the centres of these clusters."""
        self.centres = self.centres.copy()
        self.centres[clusters] = self.stream[chosen]
        self._occupied, self._ready = (clusters, chosen), None

    def saved(self) -> Any:
        """Return the current state, for `restore`."""
        return self.centres, self.states, self.found

    def restore(self, state: Any) -> None:
        """Return to a state that was saved."""
        self.centres, self.states, self.found = state
        self._ready = None

    def nearest(self, centres: Floats) -> tuple[Indices, float]:
        """Return the label of every matrix for these centres, and Σ w_i min_j d(X_i, C_j)."""

        def label() -> tuple[Indices, float]:
            weights = self.passes.put([self.weights[span.rows] for span in self.passes.spans])
            labels, inertia = self.passes.run(_nearest, weights, self.divergence, centres)
            return np.concatenate(self.passes.collect(labels)), float(inertia)

        return self.attempt(label)


def _label(
    matrices: FloatArray, span: Span, state: Sequence[Labelled], *labelling: Any
) -> tuple[tuple[Labelled, ...], SumTuple]:
    """Label the matrices of a span."""
    results = [
        _label_part(X, rows, part, *labelling)
        for X, rows, part in zip(span.split(matrices), span.parts, state, strict=True)
    ]
    return tuple(part for part, _ in results), added([found for _, found in results])


def _label_part(
    X: Floats,
    rows: slice,
    part: Labelled,
    divergence: Divergence,
    centres: Floats,
    totals: Floats | None,
    first: bool,
    occupied: tuple[Indices, Indices],
) -> tuple[Labelled, SumTuple]:
    """Give matrices to their nearest centres, by Hartigan's rule if there are ``totals``, see `relabelled`."""
    weights, count, every = part.weights, len(centres), np.arange(len(part.weights))
    if len(weights) < len(X):
        X = X[part.samples - rows.start]
    prepared = divergence.prepare(X)
    divergences = divergence.to_centres(prepared, centres)
    for cluster, sample in zip(*occupied, strict=True):
        divergences[cluster, part.samples == sample] = 0.0
    costs = [
        np.bincount(part.labels, weights * own, minlength=count)
        for own in (part.own, divergences[part.labels, every])
    ]
    if first:
        labels, moved = divergences.argmin(axis=0), np.ones(count, dtype=bool)
    else:
        labels, moved = relabelled(divergences, part.labels, weights, totals)
    labelled = replace(part, labels=labels, own=divergences[labels, every])
    terms = np.array(
        [
            divergence.centre_term(prepared, np.where(labels == j, weights, 0.0), centres[j])
            for j in range(count)
        ]
    )
    tally = Tally.of(labels, labelled.own, weights, moved)
    return labelled, SumTuple((tally, terms, np.array(costs)))


def _largest_costs(matrices: None, span: Span, state: Sequence[Labelled], count: int) -> Largest:
    """Find the matrices of a span with the largest w_i d(X_i, C_{l_i})."""
    largest: Largest = added(
        [Largest.of(count, p.weights * p.own, p.samples, p.labels) for p in state]
    )
    return largest


def _nearest(
    matrices: FloatArray, span: Span, weights: Floats, divergence: Divergence, centres: Floats
) -> tuple[Indices, float]:
    """Return the labels of the matrices of a span, and Σ w_i min_j d(X_i, C_j) over them."""
    labels, costs = [], []
    for X in span.split(matrices):
        divergences = divergence.to_centres(divergence.prepare(X), centres)
        labels.append(divergences.argmin(axis=0))
        costs.append(divergences.min(axis=0))
    return np.concatenate(labels), float(weights @ np.concatenate(costs))
