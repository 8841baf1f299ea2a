"""`complete` of coders and dictionaries: the missing block of a matrix from its code."""

from __future__ import annotations

import numpy as np
import pytest

from _incomplete import clusters
from _matrices import random_spd
from spdatoms import (
    LogEuclideanSparseCoder,
    SPDDictionaryLearning,
    SPDSparseCoder,
    divergence,
    mean,
    pairwise_divergence,
)
from spdatoms.divergences.incomplete import completed
from spdatoms.exceptions import NoChannelWarning
from spdatoms.geometry.channels import known_channels

METRICS = ("stein", "jeffrey", "logeuclid", "riemann")


def models(X: np.ndarray, metric: str = "stein") -> list[SPDSparseCoder | SPDDictionaryLearning]:
    learner = SPDDictionaryLearning(6, metric, max_iter=3, random_state=0, init="random")
    return [SPDSparseCoder(metric=metric).fit(X), learner.fit(X)]


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_known_entries_stay_and_the_result_is_spd(metric) -> None:
    X, queries, _ = clusters()
    for model in models(X, metric):
        found = model.complete(queries[15:45])
        known = ~np.isnan(queries[15:45])
        np.testing.assert_array_equal(found[known], queries[15:45][known])
        assert np.linalg.eigvalsh(found).min() > 0


def test_complete_matrices_come_back() -> None:
    X, queries, _ = clusters()
    for model in models(X):
        assert model.complete(X) is X
        together = model.complete(queries[35:45])
        np.testing.assert_array_equal(together[5:], queries[40:45])
        np.testing.assert_allclose(model.complete(queries[35:36])[0], together[0], rtol=1e-7)


def loss_on_known_channels(learner, query, code) -> float:
    """Return 1 − 2yᵀk + yᵀKy + α‖y‖₁ of the code y, for the atoms cut to what a query knows (without a ridge)."""
    own = np.flatnonzero(~np.isnan(query.diagonal()))
    cut = learner.atoms_[:, own[:, None], own]
    beta = learner._cut(np.isin(np.arange(len(query)), own)).beta_
    K = np.exp(-beta * pairwise_divergence(cut, metric=learner.metric))
    k = np.exp(-beta * pairwise_divergence(query[own][:, own][None], cut, learner.metric))[0]
    smooth = 1.0 - 2.0 * code @ k + code @ K @ code
    return float(smooth + learner.alpha_ * abs(code).sum())


def test_it_is_the_regression_on_what_the_code_describes() -> None:
    X, queries, _ = clusters()
    learner = models(X)[1]
    some = queries[:10]
    codes = learner.transform(some)
    losses = [loss_on_known_channels(learner, *one) for one in zip(some, codes, strict=True)]
    both = learner.inverse_transform(codes), mean(learner.atoms_, "jeffrey")
    mixed = np.stack(
        [
            mean(np.stack([own, both[1]]), "jeffrey", [1.0 - loss, loss])
            for own, loss in zip(both[0], losses, strict=True)
        ]
    )
    expected = completed(some, known_channels(some), mixed)
    np.testing.assert_allclose(learner.complete(some), expected, rtol=1e-9)


@pytest.mark.slow
def test_it_is_nearer_to_the_truth_than_regression_on_the_mean() -> None:
    X, _, _ = clusters(count=40)
    Z, queries, _ = clusters(count=40, seed=0)
    train, test = slice(80, None), slice(0, 80)
    globally = completed(queries[test], known_channels(queries[test]), mean(X[train]))
    worst = divergence(Z[test], globally).mean()
    for model in models(X[train]):
        assert divergence(Z[test], model.complete(queries[test])).mean() < 0.8 * worst


def test_other_ways_to_ask() -> None:
    X, queries, _ = clusters()
    coder = SPDSparseCoder().fit(X)
    expected = coder.complete(queries[:1])
    known = ~np.isnan(queries[0].diagonal())
    np.testing.assert_array_equal(coder.complete(X[:1], channels=known), expected)
    given = SPDSparseCoder(X)
    np.testing.assert_allclose(given.complete(queries[:1]), expected, rtol=1e-6)
    single = coder.complete(queries[:1].astype(np.float32))
    assert single.dtype == np.float32
    turn = np.exp(1j * np.arange(6.0))[:, None]
    phases = turn * turn.conj().T
    turned = SPDSparseCoder(alpha=coder.alpha_, beta=coder.kernel_.beta_).fit(X * phases)
    plain = SPDSparseCoder(alpha=coder.alpha_, beta=coder.kernel_.beta_).fit(X)
    np.testing.assert_allclose(
        turned.complete(queries[:1] * phases), plain.complete(queries[:1]) * phases, atol=1e-6
    )


def test_nothing_known_is_the_mean_of_the_atoms_and_other_kernels_are_refused() -> None:
    X, queries, _ = clusters()
    coder = SPDSparseCoder().fit(X)
    with pytest.warns(NoChannelWarning):
        found = coder.complete(np.full((1, 6, 6), np.nan))
    np.testing.assert_allclose(found[0], mean(X, "jeffrey"), rtol=1e-9)
    with pytest.raises(ValueError, match="complete needs the kernel"):
        LogEuclideanSparseCoder().fit(X).complete(queries)
    with pytest.raises(ValueError, match="4×4 matrices"):
        coder.complete(random_spd(1, 4), channels=[0, 1, 2, 3, 4])
