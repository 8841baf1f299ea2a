"""Scores compare dictionaries of one metric, whatever they were learned with."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import SPDDictionaryLearning, pairwise_divergence, sparse_code

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

METRICS = ["stein", "jeffrey", "logeuclid"]


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_is_the_loss_in_the_span_of_the_scored_matrices(metric) -> None:
    X, _ = wishart_classes(4, 20)
    learner = SPDDictionaryLearning(5, metric, random_state=0, max_iter=2).fit(X[:60])
    queries = X[60:]
    d = pairwise_divergence(queries, metric=metric)
    beta = 1.0 / np.median(d[~np.eye(20, dtype=bool)])
    K = np.exp(-beta * d)
    centre = np.eye(20) - 1.0 / 20
    eigenvalues, U = np.linalg.eigh(K)
    kept = eigenvalues > 1e-3 * np.linalg.eigvalsh(centre @ K @ centre)[-1]
    roots = U[:, kept] / np.sqrt(eigenvalues[kept])
    phi = K @ roots
    atoms = np.exp(-beta * pairwise_divergence(learner.atoms_, queries, metric=metric)) @ roots
    _, certificate = sparse_code(
        atoms @ atoms.T,
        phi @ atoms.T,
        0.1,
        query_norm=(phi**2).sum(axis=1),
        check_gram=False,
        return_certificate=True,
    )
    assert learner.score(queries) == pytest.approx(-certificate.objective.mean(), rel=1e-8)


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_depends_on_the_atoms_alone(metric) -> None:
    X, _ = wishart_classes(4, 20)
    learner = SPDDictionaryLearning(5, metric, random_state=0, max_iter=2).fit(X)
    scores = []
    for beta, alpha, landmarks in [(0.01, 0.001, "auto"), (1.0, 0.3, None), (5.0, 1.9, 30)]:
        other = SPDDictionaryLearning(
            5, metric, beta, alpha, landmarks=landmarks, init=learner.atoms_, max_iter=1
        ).fit(X)
        other.atoms_ = learner.atoms_
        scores.append(other.score(X))
    assert scores == [learner.score(X)] * 3
    assert -1.0 <= scores[0] < 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_the_same_at_every_scale(metric) -> None:
    X, _ = wishart_classes(4, 20)
    scores = [
        SPDDictionaryLearning(5, metric, init=c * X[:5], max_iter=2).fit(c * X).score(c * X)
        for c in (1.0, 1e-12)
    ]
    assert scores[1] == pytest.approx(scores[0], rel=1e-6)


def test_a_matrix_of_weight_zero_has_no_influence() -> None:
    X, _ = wishart_classes(4, 20)
    learner = SPDDictionaryLearning(5, random_state=0, max_iter=2).fit(X)
    weights = np.arange(len(X)) % 3
    some = weights > 0
    assert learner.score(X, sample_weight=weights) == pytest.approx(
        learner.score(X[some], sample_weight=weights[some]), rel=1e-12
    )
    assert np.isfinite(learner.score(X[:1]))
