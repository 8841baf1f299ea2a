"""Motion of a video, pixel by pixel: the twelve kinematic features of Guo et al."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import correlate1d

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.pixels import as_bytes
from spdatoms.descriptors.transformers import RegionDescriptor

# Frames must have room for the patches that are matched.
_LEAST_SIDE = 12
_SIZES = allow.NONE | check.sizes(3)


@same_kind
def kinematic_features(video: ArrayLike) -> FloatArray:
    """Return the twelve kinematic features of every pixel of a video.

    f = (x, y, t, I_t, u, v, u_t, v_t, div, vor, g, s), of the optical flow (u, v) of a video.

    With indices for derivatives, the features of Guo, Ishwar and Konrad [1]_ (after Ali and Shah [2]_):

    - x, y, t: column, row and number of the frame;
    - I_t: the difference to the next frame;
    - u, v: the flow to the next frame, in pixels, by dense inverse search [3]_ (OpenCV);
    - u_t, v_t: its derivatives in time;
    - div = u_x + v_y and vor = v_x − u_y: divergence and vorticity;
    - g = ½(tr²A − tr A²) = u_x v_y − u_y v_x: the second invariant of the gradient A of the flow;
    - s = ½(tr²B − tr B²) = u_x v_y − ¼(u_y + v_x)²: the same of the rate of strain B = ½(A + Aᵀ).

    Parameters
    ----------
    video : array-like of shape (frames, height, width)
        A grey video of at least two frames and 12×12 pixels. The flow is computed from 8 bits, to
        which the range of the whole video is stretched.

    Returns
    -------
    ndarray of shape (frames − 1, height, width, 12)
        There is one frame less, because the last has no next one.

    References
    ----------
    .. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance
       matrices, IEEE Transactions on Image Processing, 2013.
    .. [2] S. Ali, M. Shah, Human action recognition in videos using kinematic features and multiple
       instance learning, IEEE Transactions on Pattern Analysis and Machine Intelligence, 2010.
    .. [3] T. Kroeger, R. Timofte, D. Dai, L. Van Gool, Fast optical flow using dense inverse search,
       ECCV 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import kinematic_features
    >>> kinematic_features(np.zeros((6, 32, 32))).shape
    (5, 32, 32, 12)
    """
    return kinematic(check.grey_video(video, "video", _LEAST_SIDE))


def kinematic(video: FloatArray) -> FloatArray:
    """Return the kinematic features of a checked video."""
    flow = optical_flow(video).astype(video.dtype)
    t, y, x = np.indices(flow.shape[:-1]).astype(video.dtype)
    return np.stack([x, y, t, np.diff(video, axis=0), *flow_features(flow)], axis=-1)


def optical_flow(video: FloatArray) -> FloatArray:
    """Return the flow (u, v) from every frame of a video to the next, (frames − 1, height, width, 2)."""
    cv2 = import_extra("cv2", extra="vision")
    search = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    return np.stack([search.calc(now, then, None) for now, then in pairwise(as_bytes(video))])


def flow_features(flow: FloatArray) -> list[FloatArray]:
    """Return u, v, u_t, v_t, div, vor, g and s of a flow (frames, height, width, 2)."""
    u, v = flow[..., 0], flow[..., 1]
    u_t, u_y, u_x = (_derivative(u, axis) for axis in range(3))
    v_t, v_y, v_x = (_derivative(v, axis) for axis in range(3))
    return [
        u,
        v,
        u_t,
        v_t,
        u_x + v_y,
        v_x - u_y,
        u_x * v_y - u_y * v_x,
        u_x * v_y - 0.25 * (u_y + v_x) ** 2,
    ]


def _derivative(field: FloatArray, axis: int) -> FloatArray:
    """Return half the difference of the neighbours, with the border value repeated outside."""
    return np.asarray(correlate1d(field, (-0.5, 0.0, 0.5), axis=axis, mode="nearest"))


@allow.with_parameters
class KinematicCovariance(RegionDescriptor):
    """12×12 covariances of the kinematic features over space-time volumes of grey videos.

    `transform` returns an array (m, 12, 12) with one matrix per volume, video by video; with ``block=None``
    one per video. ``transform_regions`` returns the volumes of every video by themselves. The features are
    those of `kinematic_features`, for one frame less than the video has.

    Parameters
    ----------
    block : int or (int, int, int) or None, default=(15, 32, 32)
        Frames, height and width of the volumes. The default is that of the paper, for frames of 64×64.
    step : int or (int, int, int) or None, default=8
        The distance between volumes, in frames and pixels; None puts volumes side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size 13.
    shrinkage : float, default=1e-4
        Makes covariances of volumes at rest definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over videos.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import KinematicCovariance
    >>> video = np.random.default_rng(0).random((24, 64, 64))
    >>> KinematicCovariance().transform([video]).shape
    (50, 12, 12)
    """

    _what, _ndim = "grey videos (frames, height, width)", 3

    block: Any = allow.parameter(_SIZES, default=(15, 32, 32))
    step: Any = allow.parameter(_SIZES, default=8)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _features(self, item: Any, name: str) -> FloatArray:
        video = check.grey_video(item, name, _LEAST_SIDE)
        if self.block is not None:
            block = check.lengths(self.block, "block", 3)
            least = (block[0] + 1, *block[1:])  # the last frame has no next one
            if any(length < wanted for length, wanted in zip(video.shape, least, strict=True)):
                raise ValueError(
                    f"{name} has {check.times(video.shape)} frames×height×width, but a block of "
                    f"{check.times(block)} needs {check.times(least)}: motion leads from one frame to the next."
                )
        return kinematic(video)
