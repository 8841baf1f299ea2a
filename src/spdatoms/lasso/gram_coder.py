"""min_y yᵀ(K + ρI)y − 2 yᵀk + α‖y‖₁ for kernel values k that come block after block.

What is the same for all blocks is found once. A code that the search has brought as near to the optimum as it aims
at needs no certificate: its violations are small against α, and so is its duality gap. All others go the way of
`sparse_code`.
"""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import Floats, Indices
from spdatoms.lasso._coding import alike_together
from spdatoms.lasso._input import as_double, with_ridge
from spdatoms.lasso.solve import sparse_code
from spdatoms.lasso.units import atom_scales, unit_exponent, unit_exponents, within_penalty
from spdatoms.native import kernel
from spdatoms.native.feature_sign import EXCESS, REPORT, SOLVED, AtomScales, code_block

#: The tolerance and the rounds that `sparse_code` allows.
_TOLERANCE, _ROUNDS = 1e-8, 500

_row_sizes = kernel("row_sizes", "DqqD")


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
        found = quick_codes(
            [self._matrix], [len(cross)], cross, self._alpha, self._scales, self._ridge, exclude
        )
        if found is not None:
            return found
        return np.asarray(
            sparse_code(
                self._gram,
                cross,
                self._alpha,
                ridge=self._ridge,
                exclude=exclude,
                check_gram=False,
            )
        )


def quick_codes(
    grams: Floats | list[Floats],
    ends: list[int],
    cross: Floats,
    alpha: float,
    scales: AtomScales,
    ridge: float,
    exclude: Indices | None = None,
) -> Floats | None:
    """Return codes over several Gram matrices K + ρI with the same diagonal; None if they need more care.

    Parameters
    ----------
    grams : sequence of ndarray of shape (N, N)
        The matrices.
    ends : list of int
        Where the queries of each of them end.
    cross : ndarray of shape (m, N)
        The kernel values of all queries.
    alpha : float
        α.
    scales : AtomScales
        Those of the diagonal.
    ridge : float
        ρ, which the matrices have already.
    exclude : ndarray of int of shape (m,) or None
        An atom that a query must not use, or −1.
    """
    cross = as_double(cross)
    count, length = cross.shape
    sizes, report, codes = np.empty(count), np.empty((count, REPORT)), np.empty((count, length))
    if not (count and alpha > 0.0 and scales.uniform and _row_sizes(cross, count, length, sizes)):
        return None
    scale = float(scales.inverse[0])
    if unit_exponent(max(alpha, scale)) or unit_exponents(sizes).any():
        return None
    largest, alphas = sizes * scale, np.full(count, alpha)
    aims = within_penalty(_TOLERANCE * largest, alphas, ridge, largest, scales)
    aims *= 0.5
    alphas *= 0.5
    excluded = np.full(count, -1) if exclude is None else exclude
    begin = 0
    for gram, end in zip(grams, ends, strict=True):
        rows = alike_together(cross[begin:end])
        rows += begin
        failed = code_block(
            gram, cross, alphas, aims, False, _ROUNDS, scales, excluded, False, codes, report, rows
        )
        if failed != SOLVED:
            return None
        begin = end
    return codes if (report[:, EXCESS] <= aims).all() else None
