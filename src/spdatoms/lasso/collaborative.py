"""min_y  k(X,X) − 2 yᵀk + yᵀ(K + ρI)y : collaborative representation, one factorisation for all queries.

Without ‖y‖₁ the code is (K + ρI)⁻¹k. Of a query that must not use atom e the code is y − g·y_e/g_e with
the column g = (K + ρI)⁻¹e_e: it solves the equations of all other atoms, and its entry e is zero.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg.lapack
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import Floats
from spdatoms.native import feature_sign

#: Queries that BLAS gets at a time. Always this many, made up by zeros: how BLAS rounds depends on the
#: shape, and the code of a query must not depend on the others.
_PANEL = 64
#: Solutions, each for what the ones before have left. The second is rarely needed.
_SOLUTIONS = 3


class CollaborativeCoder:
    """The Cholesky factor of K + ρI, and the codes that follow from it.

    Attributes
    ----------
    definite : bool
        Whether there is a factor; without one no query can be coded here.
    """

    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        with one_blas_thread():
            self._factor, failed = scipy.linalg.lapack.dpotrf(gram, lower=True, clean=False)
        self.definite = failed == 0

    def code(
        self,
        cross: Floats,
        inverse_scale: Floats,
        tolerance: Floats,
        excluded: NDArray[np.int64],
        codes: Floats,
        report: Floats,
    ) -> None:
        """Write the codes of a block of queries, and the report of `code_block` on each.

        ``inverse_scale`` holds 1/√K_jj, the scale in which errors of h are judged.

        The rounds of the report are solutions: codes of which the error in h is above the tolerance
        after the last are left to the caller.
        """
        h, rounds = np.empty_like(cross), np.empty(len(cross))
        for part in block_slices(len(cross), _PANEL):
            codes[part], h[part], rounds[part] = self._panel(
                cross[part], inverse_scale, tolerance[part], excluded[part]
            )
        error = np.abs(h).max(axis=1)
        report[:, feature_sign.VIOLATION], report[:, feature_sign.PEAK] = error, error  # α is zero
        report[:, feature_sign.EXCESS] = (np.abs(h) * inverse_scale).max(axis=1)
        report[:, feature_sign.ROUNDS] = rounds
        report[:, feature_sign.LINEAR] = (codes * cross).sum(axis=1)
        report[:, feature_sign.QUADRATIC] = (codes * (cross - h)).sum(axis=1)
        report[:, feature_sign.NORM] = np.abs(codes).sum(axis=1)
        report[:, feature_sign.NONZEROS] = np.count_nonzero(codes, axis=1)

    def _panel(
        self, cross: Floats, inverse_scale: Floats, tolerance: Floats, excluded: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Return the codes y of some queries, h = k − (K + ρI)y, and the numbers of solutions."""
        count, n_atoms = cross.shape
        k = np.zeros((_PANEL, n_atoms))
        k[:count] = cross
        without = np.flatnonzero(excluded >= 0)
        atom = excluded[without]
        column = np.zeros_like(k)
        column[without, atom] = 1.0
        column = self._solve(column) if len(without) else column
        y, h = np.zeros_like(k), k.copy()
        rounds = np.zeros(count)
        for _ in range(_SOLUTIONS):
            h[without, atom] = 0.0
            error = (np.abs(h[:count]) * inverse_scale).max(axis=1)
            short = np.flatnonzero(~(error <= tolerance))
            if not len(short):
                break
            step = self._solve(h)
            step[without] -= (
                column[without] * (step[without, atom] / column[without, atom])[:, None]
            )
            step[without, atom] = 0.0
            y[short] += step[short]
            h = k - y @ self._gram
            rounds[short] += 1
        h[without, atom] = 0.0
        return y[:count], h[:count], rounds

    def _solve(self, right: Floats) -> Floats:
        """Return (K + ρI)⁻¹b for each row b."""
        solution: Floats = scipy.linalg.lapack.dpotrs(self._factor, right.T, lower=True)[0].T
        return np.ascontiguousarray(solution)
