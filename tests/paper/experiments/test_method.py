"""Methods that are refitted to channels: how often that happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from _matrices import wishart_classes
from spdatoms import MinimumDistanceToMean
from spdatoms.paper.experiments import LabelledViews, Method, Setting
from spdatoms.paper.experiments.method import Refitted


def test_equal_training_matrices_and_channels_share_a_model():
    made = []

    def make(setting):
        made.append(MinimumDistanceToMean())
        return made[-1]

    X, y = wishart_classes(2, 6, n=3)
    train = LabelledViews(y, {"covariances": X})
    Q = X.copy()
    Q[::2, 0] = Q[::2, :, 0] = np.nan
    models = Refitted(Method("MDM", make), Setting(seed=0))
    expected = models.predict(train, Q)
    assert len(made) == 2  # all channels, and two of them
    own = MinimumDistanceToMean().fit(X[:, 1:, 1:], y).predict(X[::2, 1:, 1:])
    np.testing.assert_array_equal(expected[::2], own)
    copied = LabelledViews(y.copy(), {"covariances": X.copy()})
    np.testing.assert_array_equal(models.predict(copied, Q), expected)
    assert len(made) == 2
    models.predict(replace(train, y=y[::-1]), Q[1::2])
    models.predict(train.with_covariances(2.0 * X), Q[1::2])
    assert len(made) == 4
