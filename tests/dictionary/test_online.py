"""Online learning: batches come close to the whole, and bad ones change nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import DivergenceKernel, SPDDictionaryLearning, load, save
from spdatoms.divergences import PowerEuclidean

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

METRICS = ["stein", "jeffrey", "logeuclid"]


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_online_learning_comes_close_to_batch_learning(metric, init) -> None:
    X, _ = wishart_classes(12, 250)
    X, held_out = X[:2400], X[2400:]
    learner = SPDDictionaryLearning(24, metric, alpha=0.05, init=init, random_state=0).fit(X)
    online = SPDDictionaryLearning(
        24, metric, beta=learner.beta_, alpha=0.05, init=init, random_state=0
    )
    edges = [0, *range(500, len(X) + 1, 190)]
    for start, stop in pairwise(edges):
        online.partial_fit(X[start:stop])

    loss, least = -online.score(held_out), -learner.score(held_out)
    # Jeffrey's kernel falls faster with the divergence: the centres of the past stand for less of it.
    assert loss <= (1.10 if metric == "jeffrey" else 1.07) * least
    assert online.batch_losses_.shape == (len(edges) - 1,)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_the_order_of_the_stream_hardly_matters(metric) -> None:
    """At the β and α of `benchmarks/streams.py`: with smaller ones losses are smaller and differ more."""
    X, y = wishart_classes(10, 60)
    beta = DivergenceKernel(metric).fit(X).beta_
    by_class = np.argsort(y, kind="stable")
    shuffled = np.random.default_rng(0).permutation(len(X))
    batch = SPDDictionaryLearning(12, metric, beta, 0.1, random_state=0).fit(X)
    for order in (shuffled, by_class, by_class[::-1]):
        learner = SPDDictionaryLearning(12, metric, beta, 0.1, random_state=0)
        for _ in range(2):
            for start in range(0, len(X), 60):
                learner.partial_fit(X[order[start : start + 60]])
            assert learner.score(X) >= 1.07 * batch.score(X)


def test_the_summary_is_small_and_stands_for_all_matrices() -> None:
    X, _ = wishart_classes(10, 60)
    learner = SPDDictionaryLearning(4, "logeuclid", random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    for k in range(6):
        learner.partial_fit(X[100 * k : 100 * (k + 1)], sample_weight=weights)
        summary = learner._memory
        assert len(summary.centres) <= 8 * 4
        assert summary.count == 100 * (k + 1)
        np.testing.assert_allclose(summary.weights.sum(), summary.count)
    assert summary.started < 320 <= 600  # from 80 matrices per atom on nothing begins anew
    forgetful = SPDDictionaryLearning(4, "logeuclid", random_state=0, forgetting=0.5)
    for k in range(3):
        forgetful.partial_fit(X[100 * k : 100 * (k + 1)])
    np.testing.assert_allclose(forgetful._memory.weights.sum(), 100 * (1 + 0.5 + 0.25))


def test_equal_matrices_are_merged_first() -> None:
    X, _ = wishart_classes(3, 10)
    learner = SPDDictionaryLearning(4, random_state=0)
    for _ in range(3):
        learner.partial_fit(np.concatenate([X[:6], X[:6]]))
    np.testing.assert_array_equal(learner._memory.centres, X[:6])
    np.testing.assert_array_equal(learner._memory.weights, np.full(6, 6.0))


def test_a_stream_goes_on_from_a_file(tmp_path) -> None:
    X, _ = wishart_classes(6, 40)
    whole = SPDDictionaryLearning(8, random_state=0).partial_fit(X[:100]).partial_fit(X[100:150])
    save(whole, tmp_path / "model")
    resumed = load(tmp_path / "model").partial_fit(X[150:])
    np.testing.assert_array_equal(resumed.atoms_, whole.partial_fit(X[150:]).atoms_)


def test_partial_fit_goes_on_from_fit_and_survives_bad_batches() -> None:
    X, _ = wishart_classes(6, 40)
    learner = SPDDictionaryLearning(8, alpha=0.05, random_state=0, max_iter=2).fit(X[:100])
    before = {k: np.copy(v) for k, v in vars(learner).items() if isinstance(v, np.ndarray)}
    bad = X[100:150].copy()
    bad[7, 0, 0] = np.nan
    for batch in (bad, -X[:3], X[:5, :3, :3], X[:0]):
        with pytest.raises(ValueError, match=r"X|positive|seen in fit"):
            learner.partial_fit(batch)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(learner, name), value)
    score = learner.score(X[200:])
    for start in range(100, 200, 25):
        learner.partial_fit(X[start : start + 25])
    assert learner.score(X[200:]) > score - 0.01
    assert learner.n_features_in_ == 5
    first = SPDDictionaryLearning(8)
    with pytest.raises(ValueError, match="fewer than n_atoms=8"):
        first.partial_fit(X[:5])
    assert not hasattr(first, "atoms_")


@pytest.mark.parametrize(
    ("metric", "changed", "message"),
    [
        ("stein", {"n_atoms": 5}, "n_atoms=4 again"),
        ("stein", {"metric": "jeffrey"}, "learned with, stein"),
        ("jeffrey", {"metric": "stein"}, "learned with, jeffrey"),
        (PowerEuclidean(0.5), {"metric": PowerEuclidean(2.0)}, "other parameters"),
    ],
)
def test_the_problem_cannot_change_between_batches(metric, changed, message) -> None:
    X, _ = wishart_classes(4, 20)
    learner = SPDDictionaryLearning(4, metric, alpha=0.05, random_state=0).partial_fit(X[:40])
    before, kernel = learner.atoms_.copy(), learner.kernel_
    learner.set_params(**changed)
    with pytest.raises(ValueError, match="call fit to begin anew") as error:
        learner.partial_fit(X[40:])
    assert message in str(error.value)
    np.testing.assert_array_equal(learner.atoms_, before)
    assert learner.kernel_ is kernel


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_another_name_of_the_same_metric_goes_on(metric) -> None:
    X, _ = wishart_classes(4, 20)
    for data in (X, X.astype(complex)):
        learner = SPDDictionaryLearning(4, metric, alpha=0.05, random_state=0).fit(data[:40])
        learner.set_params(metric={"stein": "logdet", "jeffrey": "kullback_sym"}[metric])
        learner.partial_fit(data[40:])
        assert learner.batch_losses_.shape == (1,)
