"""The passes of k-means over a stream: `ClusteredSample` for data that is not in memory.

What is left at a piece of the data are the labels of its matrices and their divergences to their own
centres. A pass finds the divergences to all centres, gives every matrix to its nearest, and adds up
what the next step of the centres needs: so an iteration is one pass, unless a centre refuses to move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.clustering._labelled import Costliest, Tally, exchange_goals, tally
from spdatoms.divergences import Divergence
from spdatoms.scale.faults import fewer_parts
from spdatoms.scale.parts import added, part_slices
from spdatoms.scale.passes import Piece
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")


@dataclass(frozen=True)
class Labelled:
    """The matrices of a part that have a weight: which they are, their labels, d(X_i, C_{l_i})."""

    samples: Indices
    weights: Floats
    labels: Indices
    own: Floats

    @classmethod
    def unlabelled(cls, rows: slice, weights: Floats) -> Labelled:
        """Matrices before the first pass."""
        used = np.flatnonzero(weights > 0)
        return cls(
            rows.start + used, weights[used], np.zeros(len(used), np.intp), np.zeros(len(used))
        )


@dataclass(frozen=True)
class Question:
    """What a pass is about.

    Attributes
    ----------
    divergence : Divergence
        The divergence.
    centres : ndarray of shape (k, n, n)
        The centres.
    rule : str
        "start" and "assign" give matrices to their nearest centre, "exchange" by Hartigan's rule.
    totals : ndarray of shape (k,), optional
        The weights of the clusters, for an exchange.
    occupied : tuple of two ndarray
        Clusters whose centre is a matrix, and which.
    """

    divergence: Divergence
    centres: Floats
    rule: str
    totals: Floats | None
    occupied: tuple[Indices, Indices]


@dataclass(frozen=True)
class Survey:
    """What a pass finds.

    Attributes
    ----------
    tally : Tally
        The clusters after it.
    centre_terms : ndarray
        What the next steps of their centres are sums of.
    costs : ndarray of shape (2, k)
        Σ w_i d(X_i, C) over the members that clusters had before the pass, with the centres as they
        were and with those of the pass.
    """

    tally: Tally
    centre_terms: Floats
    costs: Floats

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            self.tally + other.tally,
            self.centre_terms + other.centre_terms,
            self.costs + other.costs,
        )


_NOBODY = np.zeros(0, np.intp), np.zeros(0, np.intp)


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
    survey: Survey

    def __init__(
        self, stream: Stream, divergence: Divergence, weights: Floats, n_clusters: int
    ) -> None:
        self.stream, self.divergence, self.weights = stream, divergence, weights
        self.parts = part_slices(len(stream), stream.shape[-1], n_clusters)
        self.sweeps = stream.sweeps(self.parts)

    def attempt(self, computation: Callable[[], Result]) -> Result:
        """Return what a computation gives that begins with `start`; with smaller pieces if workers die."""
        while True:
            try:
                return computation()
            except Exception as error:
                most = fewer_parts(error, self.sweeps.parts_of_a_piece)
                self.sweeps = self.stream.sweeps(self.parts, most)

    def start(self, centres: Floats) -> Tally:
        """Give every matrix to the nearest of these centres."""
        self.centres = np.array(centres)
        self.left = self.sweeps.put(
            [
                tuple(Labelled.unlabelled(rows, self.weights[rows]) for rows in piece.parts)
                for piece in self.sweeps.pieces
            ]
        )
        self._tried: tuple[Indices, Floats, list[Any], Survey] | None = None
        self._ready: tuple[list[Any], Survey] | None = None
        self._occupied = _NOBODY
        return self._label("start")

    def assign(self) -> Tally:
        """Give every matrix to its nearest centre; at a tie it stays where it is."""
        if self._ready is None:
            return self._label("assign")
        (self.left, self.survey), self._ready = self._ready, None
        return self.survey.tally

    def exchange(self, weights: Floats) -> Tally:
        """Give matrices to other clusters by Hartigan's rule, given the weights of the clusters."""
        return self._label("exchange", weights)

    def _label(self, rule: str, totals: Floats | None = None) -> Tally:
        self.left, self.survey = self._ask(self.centres, rule, totals)
        self._occupied = _NOBODY
        return self.survey.tally

    def _ask(
        self, centres: Floats, rule: str, totals: Floats | None = None
    ) -> tuple[list[Any], Survey]:
        question = Question(self.divergence, centres, rule, totals, self._occupied)
        return self.sweeps.run(_survey, self.left, question)

    def centre_steps(self, clusters: Indices) -> Floats:
        """Return `Divergence.centre` of the members of each of the clusters."""
        terms, weights = self.survey.centre_terms, self.survey.tally.weights
        return np.array(
            [
                self.divergence.centre_from_terms(terms[j], weights[j], self.centres[j])
                for j in clusters
            ]
        )

    def try_centres(self, clusters: Indices, centres: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i d(X_i, C) over the members of each of the clusters, as it is and with these.

        What the clusters will be if all these centres are kept is found in the same pass.
        """
        trial = self.centres.copy()
        trial[clusters] = centres
        left, survey = self._ask(trial, "assign")
        self._tried = clusters, trial, left, survey
        before, after = survey.costs[:, clusters]
        return before, after

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Replace centres by those just tried, where chosen."""
        assert self._tried is not None
        clusters, trial, left, survey = self._tried
        self._tried = None
        kept = clusters[chosen]
        self.centres = self.centres.copy()
        self.centres[kept] = trial[kept]
        self._ready = (left, survey) if chosen.all() else None

    def costliest(self, count: int) -> Costliest:
        """Return the matrices that are represented worst."""
        worst: Costliest = self.sweeps.total(_costliest, self.left, count, read=False)
        return worst

    def occupy(self, clusters: Indices, chosen: Indices) -> None:
        """Put the centres of clusters where these matrices are."""
        self.centres = self.centres.copy()
        self.centres[clusters] = self.stream[chosen]
        self._occupied, self._ready = (clusters, chosen), None

    def saved(self) -> Any:
        """Return what `restore` brings back."""
        return self.centres, self.left, self.survey

    def restore(self, state: Any) -> None:
        """Return to a state that was saved."""
        self.centres, self.left, self.survey = state
        self._ready = None

    def nearest(self, centres: Floats) -> tuple[Indices, float]:
        """Return the label of every matrix for these centres, and Σ w_i min_j d(X_i, C_j)."""

        def label() -> tuple[Indices, float]:
            put = self.sweeps.put([self.weights[piece.rows] for piece in self.sweeps.pieces])
            labels, inertia = self.sweeps.run(_nearest, put, self.divergence, centres)
            return np.concatenate(self.sweeps.collect(labels)), float(inertia)

        return self.attempt(label)


def _survey(
    matrices: FloatArray, piece: Piece, left: Sequence[Labelled], question: Question
) -> tuple[tuple[Labelled, ...], Survey]:
    """Answer the question for a piece."""
    answers = [
        _survey_part(X, rows, part, question)
        for X, rows, part in zip(piece.split(matrices), piece.parts, left, strict=True)
    ]
    return tuple(part for part, _ in answers), added([survey for _, survey in answers])


def _survey_part(
    X: Floats, rows: slice, part: Labelled, question: Question
) -> tuple[Labelled, Survey]:
    divergence, centres, weights = question.divergence, question.centres, part.weights
    count, every = len(centres), np.arange(len(weights))
    if len(weights) < len(X):
        X = X[part.samples - rows.start]
    prepared = divergence.prepare(X)
    divergences = divergence.to_centres(prepared, centres)
    for cluster, sample in zip(*question.occupied, strict=True):
        divergences[cluster, part.samples == sample] = 0.0
    costs = [
        np.bincount(part.labels, weights * own, minlength=count)
        for own in (part.own, divergences[part.labels, every])
    ]
    labels, moved = _relabelled(divergences, part, question)
    labelled = replace(part, labels=labels, own=divergences[labels, every])
    terms = np.array(
        [
            divergence.centre_term(prepared, np.where(labels == j, weights, 0.0), centres[j])
            for j in range(count)
        ]
    )
    return labelled, Survey(tally(labels, labelled.own, weights, moved), terms, np.array(costs))


def _relabelled(
    divergences: Floats, part: Labelled, question: Question
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return new labels by the rule of the question, and which clusters are concerned."""
    goals, every = divergences.argmin(axis=0), np.arange(len(part.labels))
    if question.rule == "start":
        return goals, np.ones(len(divergences), dtype=bool)
    leaves = divergences[goals, every] < divergences[part.labels, every]
    if question.totals is not None:
        goals, leaves = exchange_goals(divergences, part.labels, part.weights, question.totals)
    moved = np.zeros(len(divergences), dtype=bool)
    moved[part.labels[leaves]] = moved[goals[leaves]] = True
    return np.where(leaves, goals, part.labels), moved


def _costliest(matrices: None, piece: Piece, left: Sequence[Labelled], count: int) -> Costliest:
    """Find the matrices of a piece that are represented worst."""
    parts = [Costliest(p.samples, p.weights * p.own, p.labels, count).cut() for p in left]
    worst: Costliest = added(parts)
    return worst


def _nearest(
    matrices: FloatArray, piece: Piece, weights: Floats, divergence: Divergence, centres: Floats
) -> tuple[Indices, float]:
    """Label the matrices of a piece."""
    labels, costs = [], []
    for X in piece.split(matrices):
        divergences = divergence.to_centres(divergence.prepare(X), centres)
        labels.append(divergences.argmin(axis=0))
        costs.append(divergences.min(axis=0))
    return np.concatenate(labels), float(weights @ np.concatenate(costs))
