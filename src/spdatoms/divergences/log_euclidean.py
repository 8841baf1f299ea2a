"""The squared log-Euclidean distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences._products import PREPARE_BYTES, HalfVectorSet, squared_distances
from spdatoms.divergences.base import Divergence
from spdatoms.geometry import batched
from spdatoms.geometry.functions import expm, logm


class LogEuclidean(Divergence):
    """d(X, Y) = ‖log X − log Y‖²_F, the squared distance of the logarithms."""

    name: ClassVar[str] = "logeuclid"
    closed_form: ClassVar[bool] = True

    def prepare(self, X: FloatArray) -> HalfVectorSet:
        """Return the half-vectors of the logarithms."""
        n = X.shape[-1]
        half = np.empty((len(X), n * (n + 1) // 2))
        for part in block_slices(len(X), max(1, PREPARE_BYTES // (8 * n * n))):
            batched.half_vectors(logm(X[part].astype(np.float64)), half[part])
        return HalfVectorSet(n, half, X.dtype)

    def pairwise(
        self, X: HalfVectorSet, Y: HalfVectorSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the squared distances of all pairs."""
        out = squared_distances(X.half, None if Y is None else Y.half, n_jobs)
        return out.astype(X.dtype, copy=False)

    def centre(self, Z: HalfVectorSet, weights: Floats, current: Floats) -> Floats:
        """Return exp(Σ w_i log Z_i / Σ w_i), the stationary point."""
        return np.asarray(expm(Z.mean(weights)))
