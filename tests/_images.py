"""Images, a video and a skeleton of noise; covariances of their features, by definition."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(0)
GREY = _rng.random((40, 48))
COLOUR = _rng.random((40, 48, 3))
VIDEO = _rng.random((5, 24, 32))
SEQUENCE = _rng.standard_normal((30, 4, 3)).cumsum(axis=0)


def direct(samples) -> np.ndarray:
    return np.cov(samples.reshape(-1, samples.shape[-1]), rowvar=False)


def ridge_of(stack, C, ridge) -> np.ndarray:
    """Return ridge · diag(C_ff + s_f), from the definition in the docstring."""
    flat = stack.reshape(-1, stack.shape[-1])
    scale = flat.var(axis=0) + 1e-6 * (flat**2).mean(axis=0)
    return ridge * np.diag(np.diag(C) + scale)
