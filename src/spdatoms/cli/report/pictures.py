"""Matrices as small pictures: correlations, and log variances on the diagonal, a byte per entry.

A picture has the upper triangle of X_ab/√(X_aa·X_bb), and on its diagonal how far log X_aa lies from its mean over all
pictures, in deviations, both between −1 and 1. Of large matrices, means of blocks of channels are shown.
"""

from __future__ import annotations

import base64

import numpy as np

from spdatoms._utils.typing import Array, Floats

#: All pictures of a page take at most this number of bytes, and one has at most this number of rows.
_BYTES, _LARGEST = 900_000, 24
#: What stands for −1 … 1, and for an entry that is missing.
_ZERO, _MISSING = 127, 255
#: Log variances are shown up to this number of deviations.
_DEVIATIONS = 2.5


class Pictures:
    """Pictures of matrices of one size, each of which is drawn once however often it is shown."""

    def __init__(self) -> None:
        self._matrices: list[Array] = []
        self._places: dict[bytes, int] = {}

    def add(self, matrix: Array) -> int:
        """Return the number of the picture of a matrix (n, n)."""
        place = self._places.setdefault(matrix.tobytes(), len(self._matrices))
        if place == len(self._matrices):
            self._matrices.append(matrix)
        return place

    def encoded(self) -> dict[str, object]:
        """Return the number of rows of a picture, and the upper triangles of all of them in base64."""
        if not self._matrices:
            return {"side": 0, "values": ""}
        shown = _between_minus_one_and_one(np.real(np.array(self._matrices)))
        side = min(shown.shape[1], _LARGEST)
        while side > 1 and len(shown) * side * (side + 1) * 2 / 3 > _BYTES:
            side -= 1
        small = _block_means(shown, side)[:, *np.triu_indices(side)]
        values = np.where(np.isnan(small), _MISSING, np.round(_ZERO + _ZERO * small))
        return {
            "side": side,
            "values": base64.b64encode(values.astype(np.uint8).tobytes()).decode(),
        }


def _between_minus_one_and_one(X: Floats) -> Floats:
    variances = np.diagonal(X, axis1=1, axis2=2)
    deviations = np.sqrt(variances)
    shown = X / deviations[:, :, None] / deviations[:, None, :]
    logs = np.log(variances)
    logs = logs - np.nanmean(logs)
    spread = np.nanstd(logs) or 1.0
    rows = np.arange(X.shape[1])
    shown[:, rows, rows] = logs / (_DEVIATIONS * spread)
    return np.clip(shown, -1.0, 1.0)


def _block_means(X: Floats, side: int) -> Floats:
    """Return the means of side × side blocks of each matrix; blocks without any entry are NaN."""
    starts = np.linspace(0, X.shape[1], side + 1).astype(int)[:-1]
    totals, counts = (
        np.add.reduceat(np.add.reduceat(Z, starts, axis=1), starts, axis=2)
        for Z in (np.nan_to_num(X), (~np.isnan(X)).astype(float))
    )
    return np.where(counts > 0, totals / np.maximum(counts, 1.0), np.nan)
