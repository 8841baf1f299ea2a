"""Moving skeletons for the baselines."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def motions() -> tuple[list[np.ndarray], np.ndarray]:
    """Sequences of three kinds and of different length, with K = 3 joints."""
    rng = np.random.default_rng(1)
    sequences, labels = [], []
    for i in range(24):
        t = np.linspace(0, 1, 30 + i)[:, None]
        body = np.array([[0.0, 0, 0], [0, 1, 0], [1, 1, 0]])[None].repeat(len(t), axis=0)
        kind = ("wave", "jump", "then still")[i % 3]
        if kind == "wave":
            body[:, 2, 0] += np.sin(12 * t[:, 0])
        elif kind == "jump":
            body[..., 1] += np.abs(np.sin(12 * t))
        else:
            body[:, 2, 0] += np.where(t[:, 0] < 0.5, np.sin(12 * t[:, 0]), 0.0)
        sequences.append((1 + i / 5) * (body + 0.02 * rng.standard_normal(body.shape)) + i)
        labels.append(kind)
    return sequences, np.array(labels)
