"""min_y yᵀ(K + ρI)y − 2 yᵀk + α‖y‖₁ for kernel values k that come block after block.

What is the same for all blocks is found once. A code that the search has brought as near to the optimum as it aims
at needs no certificate: its violations are small against α, and so is its duality gap. All others go the way of
`sparse_code`.
"""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats, Indices
from spdatoms.lasso._input import as_double, with_ridge
from spdatoms.lasso.gradients import code_vjp
from spdatoms.lasso.solve import solve_queries
from spdatoms.lasso.units import FREE, LEAST_ERROR, OF_PENALTY, atom_scales
from spdatoms.native import kernel
from spdatoms.native.feature_sign import AtomScales

#: The tolerance and the rounds that `sparse_code` allows.
_TOLERANCE, _ROUNDS = 1e-8, 500

#: Kernel values between these need no unit of their own.
_LEAST, _MOST = 2.0**-FREE, 2.0**FREE

_code_quickly = kernel("code_quickly", "DDqqdddddDddqIddD")


class GramCoder:
    """Codes over one Gram matrix, which need not be checked.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K, positive semidefinite.
    alpha, ridge : float
        α and ρ.
    """

    def __init__(self, gram: Floats, alpha: float, ridge: float = 0.0) -> None:
        self._gram, self._alpha, self._ridge = gram, alpha, ridge
        self._matrix = with_ridge(as_double(gram), ridge)
        self._scales = atom_scales(self._matrix.diagonal().copy())

    def codes(self, cross: Floats, exclude: Indices | None = None) -> Floats:
        """Return the codes (m, N) of queries with kernel values k, of which each may have to do without one atom."""
        found = self.quickly(cross, exclude)
        if found is not None:
            return found
        codes, _ = solve_queries(self._gram, cross, self._alpha, ridge=self._ridge, exclude=exclude)
        return np.asarray(codes)

    def vjp(self, cross: Floats, codes: Floats, weights: Floats) -> Floats:
        """Return the gradient of Σ w·y in the kernel values k, for the codes y of k; see `code_vjp`."""
        return code_vjp(self._gram, cross, codes, self._alpha, self._ridge, weights)

    def quickly(self, cross: Floats, exclude: Indices | None = None) -> Floats | None:
        """Return `codes`, or None if they need more care."""
        cross = as_double(cross)
        found = np.empty(cross.shape)
        done = quick_codes(self._matrix, cross, self._alpha, self._scales, exclude, found)
        return found if done else None


def quick_codes(
    gram: Floats,
    cross: Floats,
    alpha: float,
    scales: AtomScales,
    exclude: Indices | None,
    codes: Floats,
) -> bool:
    """Write the codes of queries over K + ρI; return whether that was possible without more care.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        K + ρI.
    cross : ndarray of shape (m, N)
        The kernel values of the queries.
    alpha : float
        α.
    scales : AtomScales
        Those of the diagonal of the matrix.
    exclude : ndarray of int of shape (m,) or None
        An atom that a query must not use, or −1.
    codes : ndarray of shape (m, N)
        Where to write.
    """
    inverse, uniform, limits = scales
    scale = float(inverse[0])
    if not (uniform and alpha > 0.0 and _LEAST < alpha < _MOST and _LEAST < scale < _MOST):
        return False
    return bool(
        _code_quickly(
            gram, cross, *reversed(cross.shape), alpha, scale, _TOLERANCE, OF_PENALTY, LEAST_ERROR,
            inverse, *limits, _ROUNDS, exclude, _LEAST, _MOST, codes,
        )
    )  # fmt: skip
