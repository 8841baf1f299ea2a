"""The update of atoms: its trials, and the margin of the Gram matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from _matrices import random_spd, wishart_classes
from spdatoms import SPDDictionaryLearning, pairwise_divergence
from spdatoms.dictionary._kernel_update import GramMargin, has_margin
from spdatoms.dictionary._loop import Moves
from spdatoms.dictionary._samples import Samples
from spdatoms.dictionary.problem import fix_problem
from spdatoms.divergences import get_divergence

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

METRICS = ["stein", "jeffrey", "logeuclid"]


@pytest.mark.parametrize("metric", METRICS)
def test_trials_at_once_and_one_by_one_are_the_same_algorithm(metric, monkeypatch) -> None:
    X, _ = wishart_classes(6, 20)
    divergence = get_divergence(metric)
    D = X[:8]
    problem = fix_problem(X, D, divergence, "auto", 0.02)
    K = problem.images(D)
    data = Samples(problem, X, 8)
    _, sums = data.code(K, D)
    one, every = (problem.update(data, Moves(block_size=3), D, K, *sums) for _ in range(2))
    one.run()
    monkeypatch.setattr(every, "trials_of_a_pass", lambda waiting: len(every.trials))
    every.run()
    np.testing.assert_allclose(one.atoms, every.atoms, rtol=1e-8)
    assert one.change == pytest.approx(every.change)
    assert one.change < 0


def test_gram_margin_follows_replacements() -> None:
    X = random_spd(12, 3, seed=0)
    K = np.exp(-pairwise_divergence(X))
    margin = GramMargin(K[:8, :8], shift=0.1, least=1e-6)
    chosen = np.arange(8)
    for r, new in ((2, 8), (5, 9), (0, 10)):
        chosen[r] = new
        now = K[np.ix_(chosen, chosen)] + 0.1 * np.eye(8)
        assert margin.replaced(r, K[new, chosen])
        np.testing.assert_allclose(margin.inverse @ now, np.eye(8), atol=1e-10)
    strict = GramMargin(np.eye(2), shift=0.0, least=0.5)
    assert not strict.replaced(0, np.array([1.0, 0.9]))
    assert strict.replaced(0, np.array([1.0, 0.5]))
    assert not has_margin(np.array([[1.0, 0.9], [0.9, 1.0]]), 0.0, 0.5)
    assert not has_margin(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0, 0.5)
    assert has_margin(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.0, 0.5)


def test_margin_is_kept_where_the_objective_alone_would_lose_it(monkeypatch) -> None:
    X = random_spd(120, 3, condition=1e3, seed=3)
    divergence = get_divergence("jeffrey")
    D = X[:16]
    problem = fix_problem(X, D, divergence, 0.01, 1e-3)
    K = problem.images(D)
    data = Samples(problem, X, 16)
    _, sums = data.code(K, D)
    # All the margin that there is: the first atom that loses some of it is refused.
    monkeypatch.setattr("spdatoms.dictionary._kernel_update.LEAST_SCHUR", 1e-6)
    shift = 1e-5 - np.linalg.eigvalsh(K)[0]
    update, free = (problem.update(data, Moves(), D, K, *sums) for _ in range(2))
    update.problem = replace(problem, margin=problem.ridge - shift)
    free.problem = replace(problem, margin=None)
    update.run()
    free.run()
    assert np.linalg.eigvalsh(free.images + shift * np.eye(16))[0] < 0
    assert np.linalg.eigvalsh(update.images + shift * np.eye(16))[0] > 0
    assert free.change < update.change < 0


def test_no_atom_moves_where_the_margin_is_lost_to_rounding(monkeypatch) -> None:
    """Checks of single atoms may all pass, and yet the Gram matrix of all of them have no factor."""
    X, _ = wishart_classes(4, 20)
    settings = {"landmarks": None, "init": X[::10], "max_iter": 3}
    learner = SPDDictionaryLearning(len(X[::10]), "stein", 0.2, 0.01, **settings)
    moved = clone(learner).fit(X)
    assert not np.array_equal(moved.atoms_, X[::10])
    monkeypatch.setattr("spdatoms.dictionary.problem.has_margin", lambda *arguments: False)
    learner.fit(X)
    np.testing.assert_array_equal(learner.atoms_, X[::10])
    assert (np.diff(learner.objective_) <= 0).all()
