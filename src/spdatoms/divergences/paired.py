"""`divergence`: pairs of SPD matrices that belong together, broadcast against each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import blas_threads_for, block_slices
from spdatoms._utils.typing import FloatArray
from spdatoms.divergences._products import rounded
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.checked_pairs import DOUBTFUL, LARGEST, OPEN, checked_pairs
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import get_divergence
from spdatoms.geometry.functions import as_semidefinite, as_spd
from spdatoms.geometry.hermitian import real_type
from spdatoms.geometry.spectral import as_matrices
from spdatoms.geometry.validation import common_shape
from spdatoms.native import lane_count

#: Matrices that are compared at a time, in bytes, and what groups of lanes they fill at least.
_BLOCK_BYTES, _LEAST_BATCHES = 1 << 19, 4


@same_kind
def divergence(
    A: ArrayLike, B: ArrayLike, metric: str | Divergence = "stein"
) -> FloatArray | np.floating:
    """Return d(A, B) of matrices that belong together; leading dimensions are broadcast as NumPy does.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, or complex Hermitian positive definite ones, broadcast against each other. ``"euclid"`` and
        ``"poweuclid"`` take semidefinite ones, too. For ``"euclid"`` it is checked that matrices are symmetric and
        have no negative variance, but not that they are semidefinite: it would take longer than the distance, which
        is that of any symmetric matrices.
    metric : str or Divergence, default="stein"
        As in `pairwise_divergence`.

    Returns
    -------
    ndarray of shape (...), or a number for two single matrices
        The divergences, in single precision if both arrays are, else in double.

    See Also
    --------
    pairwise_divergence : All pairs of two sets, which is much faster than broadcasting them here.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import divergence
    >>> X = np.array([np.eye(2), 4 * np.eye(2)])
    >>> divergence(X, np.eye(2), metric="stein").round(4)
    array([0.    , 0.4463])
    """
    measure = get_divergence(metric)
    first, second = as_matrices(A, "A"), as_matrices(B, "B")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"A and B must hold matrices of one size, got {first.shape[-1]}×{first.shape[-1]} and "
            f"{second.shape[-1]}×{second.shape[-1]}."
        )

    def check() -> None:
        as_checked = as_semidefinite if measure.semidefinite else as_spd
        as_checked(first, "A")
        as_checked(second, "B")

    n, shape = first.shape[-1], common_shape(first.shape, second.shape, names="A and B")
    kind = measure.pair_kernel if 0 not in shape and n <= LARGEST else None
    if kind is None:
        check()
        return _paired(measure, *(_stack(Z, shape) for Z in (first, second))).reshape(shape[:-2])[
            ()
        ]
    X, Y = (Z.reshape(1, n, n) if Z.size == n * n else _stack(Z, shape) for Z in (first, second))
    values, findings = checked_pairs(kind, X, Y, measure.real_form_factor)
    dtype = real_type(X, Y)
    if findings is not None:
        if (findings & DOUBTFUL).any():
            check()
        if (open_ := (findings & OPEN) != 0).any():
            values[open_] = _paired(measure, *(Z[open_] if len(Z) > 1 else Z for Z in (X, Y)))
    elif dtype == np.float64:  # where the kernel answers, values are well within its range
        return values.reshape(shape[:-2])[()]
    return rounded(values, dtype).reshape(shape[:-2])[()]


def _stack(Z: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return matrices as a stack of as many as the shape has."""
    if Z.shape == shape:
        return Z.reshape(-1, *shape[-2:])
    return np.broadcast_to(Z, shape).reshape(-1, *shape[-2:])


def _paired(measure: Divergence, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return d(X_i, Y_i) of checked matrices, block by block."""
    dtype = np.result_type(X, Y)
    measure = over(measure, dtype)
    X, Y = np.broadcast_arrays(X, Y)
    values = np.empty(len(X), np.finfo(dtype).dtype)
    lanes = lane_count(np.float64)  # a block fills them
    batches = _BLOCK_BYTES // (dtype.itemsize * X.shape[-1] ** 2 * lanes)
    at_once = max(_LEAST_BATCHES, batches) * lanes
    for part in block_slices(len(X), at_once):
        with blas_threads_for(X.shape[-1]):
            values[part] = measure.paired(*(Z[part].astype(dtype, copy=False) for Z in (X, Y)))
    return values
