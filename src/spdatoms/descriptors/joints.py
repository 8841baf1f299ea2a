"""Skeletons in motion: the covariance of joint positions over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.covariance import definite_covariance
from spdatoms.descriptors.transformers import SHRINKAGE, Descriptor

_HEADING = allow.NONE | allow.Allowed(("the indices of two joints",), check.two_joints)


@allow.with_parameters
class JointCovariance(Descriptor):
    """The covariance of the joint positions of a moving skeleton.

    C = Σ_t (f(t) − μ)(f(t) − μ)ᵀ / (T − 1), f(t) = (x_1 … x_K, y_1 … y_K, z_1 … z_K) at frame t.

    One 3K×3K matrix per sequence [1]_; `transform` returns an array (n_sequences, 3K, 3K).

    Parameters
    ----------
    shrinkage : float, default=1e-4
        Makes covariances of sequences shorter than 3K frames definite, which C is not. It is that of
        `region_covariances`, with the sequence in place of the image, so that the matrix of a skeleton
        at rest is definite, too. With 0 the matrices may be singular.
    heading : tuple of int, default=None
        C changes with the direction that a person faces. Give two joints (left, right), such as the hips:
        every sequence is then turned about the vertical axis so that the mean of right − left over
        its frames points along one horizontal axis, the same for all sequences. With None sequences stay as they
        are.
    vertical : int, default=1
        The coordinate that points up, for ``heading``: 0 for x, 1 for y, 2 for z.

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

    With joints 1 and 6 as hips a walk that is turned by a quarter has the same matrix:

    >>> turned = [walk[..., [2, 1, 0]] * [1, 1, -1] for walk in walks]
    >>> aligned = JointCovariance(heading=(1, 6))
    >>> np.allclose(aligned.transform(walks), aligned.transform(turned))
    True
    """

    _what, _ndim = "sequences (frames, joints, 3)", 3
    _advice = "all sequences must have the same joints"

    shrinkage: float = allow.parameter(SHRINKAGE, default=1e-4)
    heading: tuple[int, int] | None = allow.parameter(_HEADING, default=None)
    vertical: int = allow.parameter(allow.integer(0, 2), default=1)

    def _describe(self, item: Any, name: str) -> FloatArray:
        sequence = check.joint_sequence(item, name)
        if self.heading is not None:
            sequence = with_heading(sequence, self.heading, self.vertical, name)
        coordinates = sequence.swapaxes(1, 2).reshape(len(sequence), -1)
        covariance = definite_covariance(coordinates, self.shrinkage)
        return covariance.astype(sequence.dtype, copy=False)


def with_heading(
    sequence: FloatArray, joints: tuple[int, int], vertical: int, name: str
) -> FloatArray:
    """Return a sequence turned about the vertical axis until its mean of right − left points along an axis.

    Of the horizontal components (u, v), in cyclic order after the vertical one, (p, q)/√(p² + q²) becomes
    (1, 0), with (p, q) those of the mean of right − left.
    """
    left, right = joints
    if max(left, right) >= sequence.shape[1]:
        raise ValueError(f"{name} has {sequence.shape[1]} joints, but heading is {joints}.")
    u, v = (vertical + 1) % 3, (vertical + 2) % 3
    across = np.asarray(sequence[:, right] - sequence[:, left], np.float64)
    p, q = across[:, [u, v]].mean(axis=0)
    length = np.hypot(p, q)
    if length <= np.finfo(sequence.dtype).eps * np.abs(across).max(initial=0.0):
        raise ValueError(
            f"The joints {left} and {right} of {name} lie above each other in the mean, so that they give no "
            "heading: choose others, or heading=None."
        )
    cosine, sine = p / length, q / length
    turned = sequence.copy()
    turned[..., u] = cosine * sequence[..., u] + sine * sequence[..., v]
    turned[..., v] = cosine * sequence[..., v] - sine * sequence[..., u]
    return turned
