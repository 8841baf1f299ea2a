"""Textures and persons: feature vectors of pixels made of intensities, positions and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.transformers import WINDOWS, RegionDescriptor

# ∂I/∂x ≈ I(x+1) − I(x−1) and ∂²I/∂x² ≈ −I(x−1) + 2I(x) − I(x+1), up to factors that no
# affine-invariant divergence depends on.
_FIRST, _SECOND = (-1, 0, 1), (-1, 2, -1)


@same_kind
def texture_features(image: ArrayLike) -> FloatArray:
    """Return the five texture features of every pixel of a grey image.

    f = (I, |∂I/∂x|, |∂I/∂y|, |∂²I/∂x²|, |∂²I/∂y²|), the five texture features of the paper.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A grey image. Beyond the border its last pixel is repeated.

    Returns
    -------
    ndarray of shape (height, width, 5)

    Examples
    --------
    >>> from spdatoms.descriptors import texture_features
    >>> texture_features([[0, 1, 4], [0, 1, 4]])[0, 1]
    array([1., 4., 0., 2., 0.])
    """
    return texture(check.grey_image(image, "image"))


def texture(image: FloatArray) -> FloatArray:
    """Return the texture features of a checked grey image."""
    return np.stack([image, *absolute_derivatives(image)], axis=-1)


@same_kind
def person_features(image: ArrayLike) -> FloatArray:
    """Return the 17 features of every pixel of a colour image of a person.

    f = (x, y, R, G, B, |∂R/∂x|, |∂R/∂y|, …, |∂B/∂y|, |∂²R/∂x²|, …, |∂²B/∂y²|), 17 features.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)
        A colour image. Beyond the border its last pixel is repeated.

    Returns
    -------
    ndarray of shape (height, width, 17)

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import person_features
    >>> person_features(np.zeros((64, 32, 3))).shape
    (64, 32, 17)
    """
    return person(check.colour_image(image, "image"))


def person(image: FloatArray) -> FloatArray:
    """Return the person features of a checked colour image."""
    colours = [image[..., c] for c in range(3)]
    derivatives = [absolute_derivatives(colour) for colour in colours]
    first = [d for four in derivatives for d in four[:2]]
    second = [d for four in derivatives for d in four[2:]]
    return np.stack([*positions(image), *colours, *first, *second], axis=-1)


def absolute_derivatives(image: FloatArray) -> list[FloatArray]:
    """Return |∂I/∂x|, |∂I/∂y|, |∂²I/∂x²| and |∂²I/∂y²| of an image (height, width)."""
    return [
        np.abs(correlate1d(image, weights, axis=axis, mode="nearest"))
        for weights in (_FIRST, _SECOND)
        for axis in (1, 0)
    ]


def as_bytes(values: FloatArray) -> NDArray[np.uint8]:
    """Return values stretched to the range from 0 to 255 and rounded, zero if all are equal."""
    low, high = values.min(), values.max()
    scale = 255.0 / (high - low) if high > low else 0.0
    return np.asarray(np.rint((values - low) * scale), np.uint8)


def positions(image: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates x (column) and y (row) of every pixel, in the type of the image."""
    y, x = np.indices(image.shape[:2]).astype(image.dtype)
    return x, y


@allow.with_parameters
class TextureCovariance(RegionDescriptor):
    """Covariances of grey value and derivatives, of blocks of grey images.

    5×5 covariances of (I, |I_x|, |I_y|, |I_xx|, |I_yy|) over the blocks of grey images.

    `transform` returns an array (m, 5, 5) with one matrix per block, in reading order, image by image;
    with ``block=None`` one per image. ``transform_regions`` returns the blocks of every image by
    themselves. Images may be arrays or paths of files; colours are then turned to grey.

    Parameters
    ----------
    block : int or (int, int) or None, default=32
        The height and width of windows; None stands for the whole image.
    step : int or (int, int), default=None
        The distance between windows; None stands for their size, which puts blocks side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size 6.
    shrinkage : float, default=1e-4
        Makes covariances of flat and tiny regions definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over images.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import TextureCovariance
    >>> images = np.random.default_rng(0).random((2, 256, 256))
    >>> TextureCovariance(block=32).transform(images).shape
    (128, 5, 5)
    """

    _what = "grey images (height, width)"

    block: Any = allow.parameter(WINDOWS, default=32)
    step: Any = allow.parameter(WINDOWS, default=None)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _features(self, item: Any, name: str) -> FloatArray:
        return texture(check.grey_image(item, name))


@allow.with_parameters
class PersonCovariance(RegionDescriptor):
    """The 17×17 covariance of position, colour and absolute derivatives of colour images of persons.

    `transform` returns an array (m, 17, 17): one matrix per image, or per window with `block`. The
    features are those of `person_features`; images of the paper have 64×32 pixels. Images may be arrays or
    paths of files.

    Parameters
    ----------
    block : int or (int, int), default=None
        The height and width of windows; None stands for the whole image.
    step : int or (int, int), default=None
        The distance between windows; None stands for their size, which puts blocks side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size 18.
    shrinkage : float, default=1e-4
        Makes covariances of flat and tiny regions definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over images.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import PersonCovariance
    >>> PersonCovariance().transform(np.random.default_rng(0).random((2, 64, 32, 3))).shape
    (2, 17, 17)
    """

    _what, _ndim = "colour images (height, width, 3)", 3

    block: Any = allow.parameter(WINDOWS, default=None)
    step: Any = allow.parameter(WINDOWS, default=None)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _features(self, item: Any, name: str) -> FloatArray:
        return person(check.colour_image(item, name))
