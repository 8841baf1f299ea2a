"""Checks of arrays that several rooms share; what parameters may be is in `spdatoms._utils.parameters`."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Array, FloatArray


def check_size(X: FloatArray, n: int, name: str = "X") -> FloatArray:
    """Refuse matrices that do not have the size of those seen in fit."""
    if X.shape[-1] != n:
        raise ValueError(
            f"{name} holds {X.shape[-1]}×{X.shape[-1]} matrices, but those seen in fit are {n}×{n}."
        )
    return X


def check_characters(texts: Array, name: str) -> None:
    """Refuse texts from a file whose numbers are no characters: NumPy reads them, Python does not."""
    if texts.dtype.kind != "U" or not texts.dtype.itemsize:
        return
    numbers = np.ascontiguousarray(texts).view(np.dtype("u4").newbyteorder(texts.dtype.byteorder))
    surrogates = (numbers >= 0xD800) & (numbers <= 0xDFFF)
    if (surrogates | (numbers > 0x10FFFF)).any():
        raise ValueError(f"{name} holds numbers that are no characters")
