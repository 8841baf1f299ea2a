"""Feature vectors of pixels made of intensities, positions and derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check

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
