"""Probabilities from class scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from spdatoms.classification.calibration import sharpness


@pytest.mark.parametrize("seed", range(3))
def test_sharpness_minimises_the_smoothed_log_loss(seed) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    scores[np.arange(40), labels] += 1.0
    wanted = np.full((40, 3), 1.0 / 42 / 2)
    wanted[np.arange(40), labels] = 1.0 - 1.0 / 42

    def loss(t: float) -> float:
        logits = t * scores
        return -(wanted * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1).mean()

    best = minimize_scalar(loss, bounds=(0.01, 50.0), method="bounded", options={"xatol": 1e-9})
    assert sharpness(scores, labels) == pytest.approx(best.x, rel=1e-5)
