"""The divergences of this library as the callables that pyRiemann's estimators take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.means import mean
from spdatoms.divergences.pairwise import pairwise_divergence

#: The metrics for which pyRiemann has maps between matrices and tangent vectors.
_MAPS = ("riemann", "logeuclid", "euclid")


def pyriemann_metric(
    metric: str | Divergence = "stein", n_jobs: int | None = None
) -> dict[str, Callable[..., Any] | str]:
    """Return one of our divergences as the ``metric`` of pyRiemann's estimators.

    It is ``{"mean": …, "distance": …, "map": …}``, the ``metric`` of pyRiemann's estimators (MDM, Potato, …).

    These estimators then compute with the divergences of this library: many times faster, and with an
    error for matrices that are not SPD instead of a number.

    Parameters
    ----------
    metric : str or Divergence, default="stein"
        A divergence, see `pairwise_divergence`.
    n_jobs : int, default=None
        The number of threads for distances.

    Returns
    -------
    dict
        The callables ``mean(X, sample_weight=None)`` and ``distance(A, B, squared=False)``, which is √d,
        or d if squared: every divergence here is a squared distance or is used as one. As
        ``mean(A, B, t)`` the first is the mean of A and B with the weights 1 − t and t, because pyRiemann
        calls it in the place of a geodesic. ``"map"`` is pyRiemann's name of the maps between matrices and
        tangent vectors: those of the metric if it has them, else the affine-invariant ones.
        ``"dist"`` is ``"distance"``, for the estimators that ask for it.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.interop import pyriemann_metric
    >>> stein = pyriemann_metric("stein")
    >>> A = np.array([np.eye(2), 4 * np.eye(2)])
    >>> stein["distance"](A, np.eye(2)).round(4)
    array([0.   , 0.668])
    >>> np.diag(stein["mean"](A)).round(4)
    array([2., 2.])
    """
    distance = partial(_distance, metric=metric, n_jobs=n_jobs)
    name = get_divergence(metric).name
    return {
        "mean": partial(_mean, metric=metric),
        "distance": distance,
        "dist": distance,
        "map": name if name in _MAPS else "riemann",
    }


def _mean(
    X: ArrayLike,
    *others: Any,
    sample_weight: ArrayLike | None = None,
    metric: str | Divergence,
    **_ignored: Any,  # pyRiemann's tol, maxiter and init: the mean is exact without them
) -> FloatArray:
    """Return the mean of X, or the point t between A and B if called with A, B and t."""
    if len(others) == 2:
        B, t = others
        X, sample_weight = np.stack([X, B]), [1.0 - t, t]
    elif others:
        (sample_weight,) = others
    return mean(X, metric=metric, sample_weight=sample_weight)


def _distance(
    A: ArrayLike,
    B: ArrayLike,
    squared: bool = False,
    *,
    metric: str | Divergence,
    n_jobs: int | None,
) -> FloatArray:
    """Return the distance of each of A (..., n, n) to B (n, n)."""
    A = np.asarray(A)
    stack = A.reshape(-1, *A.shape[-2:])
    d = pairwise_divergence(stack, np.asarray(B)[None], metric=metric, n_jobs=n_jobs)
    d = d.reshape(A.shape[:-2])
    # [()] turns the distance between two single matrices into a number, as in pyRiemann.
    return np.asarray(d if squared else np.sqrt(d))[()]
