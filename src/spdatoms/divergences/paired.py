"""`divergence`: pairs of SPD matrices that belong together, broadcast against each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import get_divergence
from spdatoms.geometry.functions import as_semidefinite, as_spd
from spdatoms.geometry.validation import common_shape

#: Matrices that are compared at a time.
_BLOCK_BYTES = 2 << 20


@same_kind
def divergence(
    A: ArrayLike, B: ArrayLike, metric: str | Divergence = "stein"
) -> FloatArray | np.floating:
    """Return d(A, B) of matrices that belong together; leading dimensions are broadcast as NumPy does.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, or complex Hermitian positive definite ones, broadcast against each other.
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
    as_checked = as_semidefinite if measure.semidefinite else as_spd
    first, second = as_checked(A, "A"), as_checked(B, "B")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"A and B must hold matrices of one size, got {first.shape[-1]}×{first.shape[-1]} and "
            f"{second.shape[-1]}×{second.shape[-1]}."
        )
    dtype = np.result_type(first, second)
    measure = over(measure, dtype)
    shape = common_shape(first.shape, second.shape)
    X, Y = (np.broadcast_to(Z, shape).reshape(-1, *shape[-2:]) for Z in (first, second))
    values = np.empty(len(X), np.finfo(dtype).dtype)
    for part in block_slices(len(X), max(1, _BLOCK_BYTES // (dtype.itemsize * shape[-1] ** 2))):
        values[part] = measure.paired(*(Z[part].astype(dtype, copy=False) for Z in (X, Y)))
    return values.reshape(shape[:-2])[()]
