"""Novelty by the residuals of codes: their formula, the rate of false alarms, and the channels to blame."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.base import is_outlier_detector

from spdatoms import (
    LogEuclideanSparseCoder,
    SPDDictionaryLearning,
    SPDNovelty,
    SPDSparseCoder,
    load,
    pairwise_divergence,
    save,
)


def usual(count: int, n: int = 5, seed: int = 0) -> np.ndarray:
    """Return covariances of 40 samples of correlated channels."""
    rng = np.random.default_rng(seed)
    L = np.real(sqrtm(0.3 * np.eye(n) + 0.7))
    G = L @ rng.standard_normal((count, n, 40))
    return G @ G.swapaxes(1, 2) / 40


def with_gain(X: np.ndarray, channel: int, gain: float) -> np.ndarray:
    gains = np.ones(X.shape[-1])
    gains[channel] = gain
    return X * gains[:, None] * gains


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "logeuclid", "jeffrey"])
@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_scores_are_minus_squared_distances_in_the_space_of_the_kernel(metric, scale) -> None:
    X, queries = scale * usual(20), scale * usual(7, seed=1)
    coder = SPDSparseCoder(metric=metric, beta=0.5, alpha=0.05, correction="shift").fit(X)
    k = np.exp(-0.5 * pairwise_divergence(queries, X, metric=metric))
    y, K = coder.transform(queries), coder.kernel_.gram_
    expected = [2 * y[i] @ k[i] - y[i] @ K @ y[i] - 1.0 for i in range(7)]
    np.testing.assert_allclose(coder.score_samples(queries), expected, rtol=1e-9)


def test_scores_on_logarithms_are_those_of_vectors() -> None:
    X = usual(12)
    coder = LogEuclideanSparseCoder(alpha=0.05, rescale=False).fit(X[:8])
    vectors = np.array([np.real(_log(one)).ravel() for one in X])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    left = vectors - coder.transform(X) @ vectors[:8]
    np.testing.assert_allclose(coder.score_samples(X), -(left**2).sum(axis=1), rtol=1e-8)


def _log(A: np.ndarray) -> np.ndarray:
    w, U = np.linalg.eigh(A)
    return (U * np.log(w)) @ U.T


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.OtherUnitsWarning")
@pytest.mark.parametrize("landmarks", [None, 10])
def test_a_matrix_far_from_everything_has_the_score_of_an_empty_code(landmarks) -> None:
    """In the span of landmarks it has no features at all, and is novel for it."""
    X = usual(40)
    learner = SPDDictionaryLearning(6, beta=2.0, landmarks=landmarks, random_state=0).fit(X)
    far, near = learner.score_samples(np.concatenate([1e6 * X[:1], X[:1]]))
    assert far == pytest.approx(-1.0, abs=1e-6)
    assert near > -0.9


def test_left_out_scores_are_those_of_coders_without_the_matrix() -> None:
    X = usual(15)
    detector = SPDNovelty(beta=0.5, alpha=0.05).fit(X)
    for i in (0, 7, 14):
        without = SPDSparseCoder(beta=0.5, alpha=0.05).fit(np.delete(X, i, 0))
        own = without.score_samples(X[i : i + 1])[0]
        assert detector.left_out_scores_[i] == pytest.approx(own, rel=1e-7)


@pytest.mark.parametrize(("count", "rank"), [(19, 1), (20, 1), (39, 4), (199, 20)])
def test_the_offset_is_a_left_out_score(count, rank) -> None:
    """Of the ranks of a new score all are equally likely: it is below the k-th of m with probability k/(m + 1)."""
    detector = SPDNovelty(false_alarms=0.1 if rank > 1 else 0.01).fit(usual(count))
    assert detector.offset_ == np.sort(detector.left_out_scores_)[rank - 1]


@pytest.mark.parametrize("n_atoms", [None, 10])
def test_false_alarms_are_as_many_as_asked_for(n_atoms) -> None:
    alarms = [
        SPDNovelty(n_atoms, false_alarms=0.1, random_state=0).fit(X[:100]).predict(X[100:]) < 0
        for X in (usual(200, seed=seed) for seed in range(5))
    ]
    assert 0.04 < np.mean(alarms) < 0.17


@pytest.mark.parametrize("n_atoms", [None, 8])
def test_artefacts_are_found_and_their_channels_are_named(n_atoms) -> None:
    X = usual(160)
    detector = SPDNovelty(n_atoms, random_state=0).fit(X[:120])
    assert is_outlier_detector(detector)
    spoilt = with_gain(X[120:], 3, 4.0)
    assert (detector.predict(spoilt) == -1).mean() > 0.95
    assert (detector.score_channels(spoilt).argmax(axis=1) == 3).mean() > 0.95
    p = detector.p_values(X[120:])
    np.testing.assert_array_equal(
        p,
        [
            (1 + (detector.left_out_scores_ <= s).sum()) / 121
            for s in detector.score_samples(X[120:])
        ],
    )
    assert (detector.p_values(spoilt) <= 2 / 121).mean() > 0.95


def test_decisions_follow_from_scores() -> None:
    X = usual(80)
    detector = SPDNovelty(false_alarms=0.2).fit(X[:50])
    values = detector.decision_function(X)
    np.testing.assert_array_equal(values, detector.score_samples(X) - detector.offset_)
    np.testing.assert_array_equal(detector.predict(X), np.where(values < 0, -1, 1))


def test_missing_channels_and_files(tmp_path) -> None:
    X = usual(60)
    detector = SPDNovelty().fit(X[:50])
    some = [0, 2, 3]
    cut = SPDNovelty().fit(X[:50][:, some][:, :, some])
    np.testing.assert_array_equal(
        detector.predict(X[50:], channels=some), cut.predict(X[50:][:, some][:, :, some])
    )
    learned = SPDNovelty(5, random_state=0).fit(X[:50])
    cut = SPDNovelty(5, random_state=0).fit(X[:50][:, some][:, :, some])
    np.testing.assert_array_equal(
        learned.predict(X[50:], channels=some), cut.predict(X[50:][:, some][:, :, some])
    )
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), detector.predict(X))
    np.testing.assert_array_equal(again.score_channels(X), detector.score_channels(X))


def test_too_few_matrices_or_channels() -> None:
    X = usual(3)
    with pytest.raises(ValueError, match="at least 2"):
        SPDNovelty().fit(X[:1])
    with pytest.raises(ValueError, match="too few"):
        SPDNovelty().fit(X).score_channels(X)
