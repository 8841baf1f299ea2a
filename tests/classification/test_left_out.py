"""Scores of left-out matrices, several folds at a time, against one fold after the other by the definition."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import pairwise_divergence
from spdatoms._utils.folds import Fold
from spdatoms.classification._left_out import Whitenings, leave_out
from spdatoms.classification.cells import Cell, labelled_atoms

CELLS = {
    "means": Cell(0, 1.0, 0.5, 0.0, 0.0, "mean"),
    "whitened means": Cell(0, 0.3, 0.5, 0.0, 0.0, "mean"),
    "sums": Cell(0, 1.0, 2.0, 0.1, 0.2, "sum"),
    "whitened sums": Cell(0, 0.3, 2.0, 0.1, 0.2, "sum"),
    "residuals": Cell(0, 1.0, 1.0, 0.01, 0.0, "residual"),
    "whitened residuals": Cell(0, 0.3, 1.0, 0.01, 0.0, "residual"),
    "maxima": Cell(0, 1.0, 1.0, 0.05, 0.0, "max"),
    "ridge": Cell(0, 1.0, 1.0, 0.0, 0.1, "residual"),
    "indefinite": Cell(0, 1.0, 1e-3, 0.01, 0.0, "residual"),
}


def whitened(Z, labels, weights, rows, dimension, shrinkage):
    """Return squared distances, whitened by the scatter of these rows."""
    S, w = np.zeros((Z.shape[1], Z.shape[1])), weights[rows]
    for c in np.unique(labels[rows]):
        own = labels[rows] == c
        away = Z[rows][own] - np.average(Z[rows][own], axis=0, weights=w[own])
        S += (w[own, None] * away).T @ away
    floor = shrinkage * np.trace(S) / dimension
    C = np.linalg.cholesky((1 - shrinkage) / floor * S + np.eye(len(S)))
    W = np.linalg.solve(C, Z.T).T
    return ((W[:, None] - W) ** 2).sum(axis=-1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_folds_together_score_as_one_by_one(cell, weighted) -> None:
    X, labels = wishart_classes(3, 8)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.3, 2.0, len(X)) if weighted else np.ones(len(X))
    everything = np.arange(len(X))
    # Folds of several sizes; one does not know a class, one leaves matrices out on both sides.
    tests = [everything[::4], everything[1::3], np.flatnonzero(labels == 2), everything[:5]]
    folds = [Fold(np.setdiff1d(everything, test), test) for test in tests]
    folds[-1] = Fold(everything[7:], tests[-1])
    d = pairwise_divergence(X, metric="stein")
    whitenings = Whitenings(d, labels, weights if weighted else None, 6)
    found = leave_out([whitenings], [cell], folds)
    Z = whitenings.scaling.coordinates
    if cell.shrinkage == 1.0:
        own = [d for _ in folds]
    else:
        own = [whitened(Z, labels, weights, f.train, 6, cell.shrinkage) for f in folds]
    pooled = np.concatenate(
        [a[np.ix_(f.test, f.train)].ravel() for a, f in zip(own, folds, strict=True)]
    )
    scores, rows = [], []
    for a, fold in zip(own, folds, strict=True):
        values = np.exp(-cell.factor / np.median(pooled) * a)
        parts = values[np.ix_(fold.train, fold.train)], values[np.ix_(fold.test, fold.train)]
        scored = labelled_atoms(
            parts[0], labels[fold.train], weights[fold.train] if weighted else None, 3, cell
        ).scores(parts[1])
        known = np.isin(labels[fold.test], labels[fold.train])
        there = np.isfinite(scored)
        count = there.sum(axis=1, keepdims=True)
        away = scored - np.where(there, scored, 0.0).sum(axis=1, keepdims=True) / count
        scores.append(np.where(there, away, -np.inf)[known])
        rows.append(fold.test[known])
    np.testing.assert_array_equal(found.rows, np.concatenate(rows))
    np.testing.assert_allclose(found.medians, np.median(pooled))
    expected = np.concatenate(scores)
    np.testing.assert_array_equal(np.isfinite(found.scores[0]), np.isfinite(expected))
    # Up to the scale of every query.
    for one, other in zip(found.scores[0], expected, strict=True):
        there = np.isfinite(other)
        unit = np.linalg.norm(other[there])
        np.testing.assert_allclose(
            one[there] / np.linalg.norm(one[there]), other[there] / unit, atol=1e-9
        )


def test_every_matrix_may_do_without_itself() -> None:
    """Leave-one-out in one problem is as many problems without one matrix each."""
    X, labels = wishart_classes(3, 6)
    everything = np.arange(len(X))
    cell = Cell(0, 1.0, 1.0, 0.05, 0.1, "sum")
    whitenings = Whitenings(pairwise_divergence(X, metric="stein"), labels, None, 6)
    together = Fold(everything, everything, exclude=everything)
    apart = [Fold(np.delete(everything, i), everything[i : i + 1]) for i in everything]
    one = leave_out([whitenings], [cell], [together])
    cell_again = Cell(0, 1.0, 1.0, 0.05, 0.1, "sum", beta=float(1.0 / one.medians[0]))
    several = leave_out([whitenings], [cell_again], apart)
    np.testing.assert_allclose(one.scores, several.scores, atol=1e-9)
