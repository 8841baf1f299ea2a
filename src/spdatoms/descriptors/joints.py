"""Skeletons in motion: the covariance of joint positions over time."""

from __future__ import annotations

from typing import Any

from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors._base import Descriptor
from spdatoms.descriptors.covariance import definite_covariance


class JointCovariance(Descriptor):
    """C = Σ_t (f(t) − μ)(f(t) − μ)ᵀ / (T − 1), f(t) = (x_1 … x_K, y_1 … y_K, z_1 … z_K) at frame t.

    One 3K×3K matrix per sequence [1]_; `transform` returns an array (n_sequences, 3K, 3K).

    Parameters
    ----------
    ridge : float, default=1e-4
        A sequence is often shorter than 3K frames, and then C is singular. The ridge is that of
        `region_covariances`, with the sequence in place of the image, so that the matrix of a skeleton
        at rest is definite, too. With 0 the matrices may be singular.
    n_jobs : int, default=None
        The number of threads over sequences.

    References
    ----------
    .. [1] M. Hussein, M. Torki, M. Gowayyed, M. El-Saban, Human action recognition using a temporal
       hierarchy of covariance descriptors on 3D joint locations, IJCAI 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import JointCovariance
    >>> rng = np.random.default_rng(0)
    >>> walks = [rng.standard_normal((frames, 31, 3)).cumsum(axis=0) for frames in (120, 80)]
    >>> JointCovariance().transform(walks).shape
    (2, 93, 93)
    """

    _what, _ndim = "sequences (frames, joints, 3)", 3
    _advice = "all sequences must have the same joints"

    def __init__(self, ridge: float = 1e-4, n_jobs: int | None = None) -> None:
        self.ridge = ridge
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check.check_ridge(self.ridge)

    def _describe(self, item: Any, name: str) -> FloatArray:
        sequence = check.joint_sequence(item, name)
        coordinates = sequence.swapaxes(1, 2).reshape(len(sequence), -1)
        covariance = definite_covariance(coordinates, self.ridge)
        return covariance.astype(sequence.dtype, copy=False)
