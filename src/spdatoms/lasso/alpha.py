"""The automatic penalty α of the codes: one that classifies well, and one that makes codes sparse."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray

#: α where the Gram matrix is positive definite, and where it had to be corrected.
_ALPHA, _ALPHA_CORRECTED = 0.01, 0.05
#: The α of sparse codes, as a share of the least α at which the code of a typical matrix is zero.
_SPARSE_SHARE = 0.05


def automatic_alpha(corrected: bool) -> float:
    """Return the α of classifiers: 0.01, or 0.05 over a corrected Gram matrix.

    Kernel values lie between 0 and 1, so α has a scale of its own: an atom enters a code when its
    kernel value with what is left of the query exceeds α/2. Where the kernel was indefinite, the
    correction moves the values by more than 0.01, and codes should not follow such small details. A
    class is judged by the residual of its atoms, which is the truer the less the penalty weighs.
    """
    return _ALPHA_CORRECTED if corrected else _ALPHA


def choose_alpha(alpha: float | str, corrected: bool) -> float:
    """Return the α that was given, or the automatic one of classifiers."""
    return automatic_alpha(corrected) if isinstance(alpha, str) else float(alpha)


def sparse_alpha(nearest: FloatArray) -> float:
    """Return the α of coders and dictionaries, whose codes are to be looked at: 0.05·λ_max.

    Here λ_max is the median of 2·max_j k(X_i, D_j), from which on a code is zero.

    Parameters
    ----------
    nearest : ndarray of shape (m,)
        The greatest kernel value max_j k(X_i, D_j) of some matrices.

    Returns
    -------
    float
    """
    return _SPARSE_SHARE * 2.0 * float(np.median(nearest))
