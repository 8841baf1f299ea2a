"""The matrix that a code describes: max_C Σ_j y_j exp(−β·d(C, D_j)), the pre-image of Σ_j y_j φ(D_j).

‖φ(C) − Σ_j y_j φ(D_j)‖² falls where Σ_j y_j k(C, D_j) rises, since k(C, C) = 1. It is stationary where C is the centre
of the atoms with the weights y_j k(C, D_j) (Mika and others, 1999). Steps go towards that centre, only as far as
the sum rises, and begin at the best of the atoms.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from spdatoms._utils.typing import Floats
from spdatoms.divergences import Divergence, PreparedSet
from spdatoms.geometry.geodesics import relative_change, well_conditioned
from spdatoms.kernels.bandwidth import kernel_values

#: Step lengths, longest first.
_STEPS = (1.0, 0.5, 0.125, 0.015625)
#: It has converged if no step changes a matrix by more than this, relative to itself.
_TOLERANCE = 1e-8
_MOST_STEPS = 200
#: The least eigenvalue of a matrix in its unit-diagonal scaling.
_LEAST_EIGENVALUE = 1e-10


def preimages(divergence: Divergence, atoms: Floats, beta: float, codes: Floats) -> Floats:
    """Return the matrix that each code describes, shape (m, n, n).

    Parameters
    ----------
    divergence : Divergence
        The d of the kernel.
    atoms : ndarray of shape (N, n, n)
        The atoms D.
    beta : float
        The β of the kernel.
    codes : ndarray of shape (m, N)
        The codes y, none of them zero.

    Returns
    -------
    ndarray of shape (m, n, n)
    """
    prepared = divergence.prepare(atoms)
    found = atoms[(codes @ kernel_values(divergence.pairwise(prepared), beta)).argmax(axis=1)]
    moving = np.arange(len(codes))
    for _ in range(_MOST_STEPS):
        if not len(moving):
            break
        kernel = _kernel(divergence, prepared, found[moving], beta)
        weights = scipy.sparse.csc_array((codes[moving] * kernel).T)
        sums = divergence.atom_sums(prepared, weights, found[moving])
        geodesics = divergence.towards_centre(sums, found[moving])
        reached = weights.sum(axis=0)
        waiting, moved = np.arange(len(moving)), np.zeros(len(moving), bool)
        for t in _STEPS:
            C = geodesics.points(t)[waiting]
            waiting_codes = codes[moving[waiting]]
            fit = well_conditioned(C, _LEAST_EIGENVALUE)
            values = np.full(len(waiting), -np.inf)
            if fit.any():
                kernel = _kernel(divergence, prepared, C[fit], beta)
                values[fit] = np.einsum("ij,ij->i", waiting_codes[fit], kernel)
            better = values > reached[waiting]
            own = moving[waiting[better]]
            moved[waiting[better]] = relative_change(found[own], C[better]) > _TOLERANCE
            found[own] = C[better]
            waiting = waiting[~better]
            if not len(waiting):
                break
        moving = moving[moved]
    return np.asarray(found)


def _kernel(divergence: Divergence, atoms: PreparedSet, C: Floats, beta: float) -> Floats:
    return kernel_values(divergence.pairwise(divergence.prepare(C), atoms), beta)
