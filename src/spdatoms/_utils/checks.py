"""Checks of arrays that several rooms share; what parameters may be is in `spdatoms._utils.parameters`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray, Floats


def check_size(X: FloatArray, n: int, name: str = "X") -> FloatArray:
    """Refuse matrices that do not have the size of those seen in fit."""
    if X.shape[-1] != n:
        raise ValueError(
            f"{name} holds {X.shape[-1]}×{X.shape[-1]} matrices, but those seen in fit are {n}×{n}."
        )
    return X


def check_weights(sample_weight: ArrayLike | None, count: int) -> Floats:
    """Return weights that sum to 1."""
    if sample_weight is None:
        return np.full(count, 1.0 / count)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must be an array of real numbers.") from error
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have the shape ({count},), got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere.")
    # Divided by the greatest first: the sum of huge weights overflows.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())
