"""Labelled matrices of several subjects, who differ by a congruence."""

from __future__ import annotations

import numpy as np

SUBJECTS = ("ann", "bob", "eve", "kim")


def subjects_with_labels(
    per_class: int = 12, mixing: float = 0.25, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return covariances 3×3 of three classes, labels and the names of four subjects."""
    rng = np.random.default_rng(seed)
    m = 3 * per_class * len(SUBJECTS)
    y, names = np.arange(m) % 3, np.repeat(SUBJECTS, 3 * per_class)
    signals = rng.standard_normal((m, 3, 40))
    signals[np.arange(m), y] *= 2.5
    for name in SUBJECTS:
        G = np.eye(3) + mixing * rng.standard_normal((3, 3))
        signals[names == name] = rng.uniform(0.1, 10.0) * G @ signals[names == name]
    return signals @ signals.swapaxes(1, 2) / 40, np.array(["fist", "open", "rest"])[y], names
