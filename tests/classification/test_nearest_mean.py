"""Nearest class means, against pyRiemann and against means and divergences."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms import MinimumDistanceToMean, mean, pairwise_divergence


def three_classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(90) % 3
    samples = np.random.default_rng(seed).standard_normal((90, 5, 12))
    samples[:, 0] *= (1.0 + 0.3 * y)[:, None]
    return samples @ samples.swapaxes(1, 2) / 12, y


@pytest.mark.parametrize(
    ("metric", "theirs"),
    [("riemann", "riemann"), ("logeuclid", "logeuclid"), ("euclid", "euclid"), ("stein", "logdet")],
)
def test_predictions_are_those_of_pyriemanns_mdm(metric, theirs) -> None:
    MDM = pytest.importorskip("pyriemann.classification").MDM
    X, y = three_classes()
    ours = MinimumDistanceToMean(metric).fit(X[::2], y[::2])
    other = MDM(metric=theirs).fit(X[::2], y[::2])
    predicted = ours.predict(X[1::2])
    np.testing.assert_array_equal(predicted, other.predict(X[1::2]))
    assert 0.4 < np.mean(predicted == y[1::2]) < 1.0  # a problem with mistakes to agree on


def test_probabilities_are_those_of_pyriemanns_mdm() -> None:
    MDM = pytest.importorskip("pyriemann.classification").MDM
    X, y = three_classes()
    other = MDM(metric="riemann").fit(X, y)
    ours = MinimumDistanceToMean("riemann").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"])
def test_any_divergence(metric) -> None:
    X, y = three_classes(1)
    weight = np.random.default_rng(2).uniform(0.1, 2.0, 90)
    model = MinimumDistanceToMean(metric).fit(X, y, sample_weight=weight)
    means = np.stack([mean(X[y == c], metric, weight[y == c]) for c in range(3)])
    expected = -pairwise_divergence(X, means, metric=metric)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)


def test_weights_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError, match=r"sample_weight must have the shape \(90,\)"):
        MinimumDistanceToMean().fit(*three_classes(), sample_weight=[1.0, 2.0])


def test_queries_that_lack_channels_are_compared_with_these_channels_of_the_means() -> None:
    X, y = three_classes()
    model = MinimumDistanceToMean().fit(X, y)
    known = np.ix_(range(3), [0, 2], [0, 2])
    distances = pairwise_divergence(
        X[:, [0, 2]][:, :, [0, 2]], model.means_[known], metric="riemann"
    )
    nearest = model.classes_[distances.argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X, channels=[0, 2]), nearest)
