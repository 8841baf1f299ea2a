"""Classification by log-Euclidean sparse codes: linear [1]_ and with a Gaussian kernel.

.. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance matrices,
   2013.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms.classification.scores import RULES
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.kernels.log_cosine import WithLogCosineKernel


@allow.with_parameters
class LogEuclideanSparseClassifier(Threaded, WithLogCosineKernel, SPDSparseClassifier):
    """Classification by sparse codes of logarithms.

    The class c with the least ‖v − Σ_{j∈c} y_j d_j‖, for y as in `LogEuclideanSparseCoder`.

    The training matrices are the atoms.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁. ``"auto"`` is 0.01.
    rescale : bool, default=True
        As in `LogEuclideanSparseCoder`.
    rule : {"residual", "sum", "max"}, default="residual"
        Judge a class as in `SPDSparseClassifier`; the formula above is that of ``"residual"``.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    atoms_ : ndarray of shape (N, n, n)
        The labelled atoms.
    atom_labels_ : ndarray of shape (N,)
        Their labels.
    atom_weights_ : ndarray of shape (N,) or None
        Their weights, relative to their mean. None if they are all the same.
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    See Also
    --------
    kernel_log_euclidean_classifier : The same with a Gaussian kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import LogEuclideanSparseClassifier
    >>> G = np.random.default_rng(0).standard_normal((40, 3, 20))
    >>> G[20:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat(["round", "long"], 20)
    >>> LogEuclideanSparseClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.95
    """

    metric = "logeuclid"  # finds the nearest atom where a code is zero
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    rescale: bool = allow.parameter(allow.BOOLEAN, default=True)
    _: KW_ONLY
    rule: str = allow.parameter(allow.choice(*RULES), default="residual")


def kernel_log_euclidean_classifier(**parameters: Any) -> SPDSparseClassifier:
    """Return a sparse classifier with the Gaussian kernel of logarithms.

    It is ``SPDSparseClassifier(metric="logeuclid")``, with the kernel exp(−β‖log X − log Y‖²_F).

    This is the log-Euclidean sparse coding of the paper's tables.

    Parameters
    ----------
    **parameters
        Those of `SPDSparseClassifier`, except ``metric``.

    Returns
    -------
    SPDSparseClassifier
        The classifier, not fitted.
    """
    return SPDSparseClassifier(metric="logeuclid", **parameters)
