"""The squared log-Cholesky distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.divergences.checked_pairs import LOG_CHOLESKY
from spdatoms.divergences.cholesky import Cholesky


class LogCholesky(Cholesky):
    """The squared log-Cholesky distance.

    d(X, Y) = ‖⌊L_X⌋ − ⌊L_Y⌋‖²_F + ‖log diag L_X − log diag L_Y‖², for X = L_X L_Xᵀ with the part ⌊L_X⌋ below the
    diagonal [1]_.

    It is the geodesic distance of a metric on the cone, so that means never leave it, and as quick as a Cholesky
    decomposition. The kernel exp(−β·d) is that of Gauss, positive definite at every β.

    References
    ----------
    .. [1] Z. Lin, Riemannian geometry of symmetric positive definite matrices via Cholesky decomposition, 2019.
    """

    name: ClassVar[str] = "logchol"
    pair_kernel: ClassVar[int | None] = LOG_CHOLESKY

    @staticmethod
    def _diagonal_slope(values: Floats) -> Floats:
        return 1.0 / values

    @staticmethod
    def _diagonal(values: Floats) -> Floats:
        return np.log(values)

    @staticmethod
    def _positive(values: Floats) -> Floats:
        return np.exp(values)
