"""The divergences of this library as the callables that pyRiemann's estimators take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray
from spdatoms.divergences import Divergence
from spdatoms.divergences.means import mean
from spdatoms.divergences.pairwise import pairwise_divergence


def pyriemann_metric(
    metric: str | Divergence = "stein", n_jobs: int | None = None
) -> dict[str, Callable[..., Any]]:
    """Return ``{"mean": …, "distance": …}``, the ``metric`` of pyRiemann's MDM, Kmeans, Potato and others.

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
        or d if squared: every divergence here is a squared distance or is used as one.

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
    return {
        "mean": partial(_mean, metric=metric),
        "distance": partial(_distance, metric=metric, n_jobs=n_jobs),
    }


def _mean(
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    metric: str | Divergence,
    **_ignored: Any,  # pyRiemann's tol, maxiter and init: the mean is exact without them
) -> FloatArray:
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
