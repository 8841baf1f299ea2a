"""The automatic penalty α of the codes, one rule per purpose: classifiers, coders and dictionaries, regressors."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.lasso.solve import solve_queries

#: α where the Gram matrix is positive definite, and where it had to be corrected.
_ALPHA, _ALPHA_CORRECTED = 0.01, 0.05
#: The α of coders and dictionaries, as a share of the spread of φ(X). Less than the other share of a norm is rounding.
_SPREAD_SHARE, _LEAST_SPREAD = 0.05, 1e-12
#: It grows by this factor until codes use no more than this share of the atoms, or this many, but not beyond this share
#: of the spread.
_ALPHA_STEP, _MOST_ATOMS, _LEAST_ATOMS, _LARGEST_SHARE = 1.2, 0.2, 5, 0.5
#: The α of regressors, as a share of the least α at which the code of a typical matrix is zero.
_SPARSE_SHARE = 0.05
#: The automatic α of a regression is found from this many matrices at most.
_SUBSAMPLE = 500


def choose_alpha(alpha: float | str, corrected: bool) -> float:
    """Return the α that was given, or the automatic one of classifiers: 0.01, or 0.05 over a corrected Gram matrix.

    Kernel values lie between 0 and 1, so α has a scale of its own: an atom enters a code when its
    kernel value with what is left of the query exceeds α/2. Where the kernel was indefinite, the
    correction moves the values by more than 0.01, and codes should not follow such small details. A
    class is judged by the residual of its atoms, which is the truer the less the penalty weighs.
    """
    automatic = _ALPHA_CORRECTED if corrected else _ALPHA
    return automatic if isinstance(alpha, str) else float(alpha)


def coding_alpha(
    spread: float,
    gram: FloatArray,
    cross: FloatArray,
    *,
    ridge: float = 0.0,
    positive: bool = False,
    exclude: Indices | None = None,
) -> float:
    """Return the α of coders and dictionaries: the least 0.05·s·1.2^k whose codes are sparse enough, at most s/2.

    s is the spread of matrices in the feature space, the trace of the *centred* kernel. What all matrices share makes
    kernel values and λ_max large, but tells nothing apart, so it must not set the scale. Codes are sparse enough if
    they use at most a fifth of the atoms, or five of them if that is more, in the mean over some matrices. Entries of a
    code that are not negative and sum to one have the same ‖y‖₁ however many they are, so few atoms may never be sparse
    enough: then a larger α makes codes smaller, and those of different matrices alike.

    Parameters
    ----------
    spread : float
        s, see `kernel_spread`.
    gram : ndarray of shape (N, N)
        The kernel values between atoms.
    cross : ndarray of shape (m, N)
        Those between some matrices and the atoms.
    ridge : float, default=0.0
        The penalty of ‖y‖².
    positive : bool, default=False
        Whether codes are not negative.
    exclude : ndarray of int of shape (m,), default=None
        The atom that a matrix is, and that its code must not use.

    Returns
    -------
    float
    """
    alpha, largest = _SPREAD_SHARE * spread, _LARGEST_SHARE * spread
    most = max(_LEAST_ATOMS, _MOST_ATOMS * len(gram)) * len(cross)

    def nonzeros() -> int:
        codes, _ = solve_queries(
            gram, cross, alpha, ridge=ridge, positive=positive, exclude=exclude
        )
        return int(np.count_nonzero(codes))

    while alpha < largest and nonzeros() > most:
        alpha *= _ALPHA_STEP
    return min(alpha, largest)


def kernel_spread(gram: FloatArray) -> float:
    """Return mean_i k(X_i, X_i) − mean_{i≠j} k(X_i, X_j), the variance of φ(X); k(X, X) if there is none.

    For exp(−β·d) it is 1 − k̄, with the mean k̄ of the kernel between two matrices.
    """
    m = len(gram)
    diagonal = float(gram.diagonal().mean())
    pairs = (float(gram.sum()) - m * diagonal) / max(1, m * (m - 1))
    spread = diagonal - pairs
    return spread if spread > _LEAST_SPREAD * diagonal else diagonal


def regression_alpha(gram: FloatArray) -> float:
    """Return the α of regressors: 0.05·λ_max, where codes of atoms over the other atoms are sparse.

    Here λ_max is the median of 2·max_j k(D_i, D_j), j ≠ i, from which on a code is zero.
    """
    some = evenly_spaced(len(gram), _SUBSAMPLE)
    others = gram[some].copy()
    np.fill_diagonal(others[:, some], 0.0)
    nearest = others.max(axis=1) if len(gram) > 1 else np.ones(1)
    return _SPARSE_SHARE * 2.0 * float(np.median(nearest))
