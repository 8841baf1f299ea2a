"""The size of matrices: that of those seen in fit."""

from __future__ import annotations

from spdatoms._utils.typing import FloatArray


def check_size(X: FloatArray, n: int, name: str = "X") -> FloatArray:
    """Refuse matrices that do not have the size of those seen in fit."""
    if X.shape[-1] != n:
        raise ValueError(
            f"{name} holds {X.shape[-1]}×{X.shape[-1]} matrices, but those seen in fit are {n}×{n}."
        )
    return X
