"""Dense SIFT and colour on a grid of points inside a mask: the material features of the paper."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import FloatArray, Indices
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.covariance import definite_covariance
from spdatoms.descriptors.pixels import as_bytes
from spdatoms.descriptors.transformers import SHRINKAGE, Descriptor

SPACING, PATCH = 5, 16
# Points need 3×3 pixels around them.
_SPACING, _PATCH = allow.integer(2, 10_000), allow.integer(1, 10_000)

# OpenCV describes a key point of size s by 4×4 bins that are 3s/2 pixels wide.
_PATCH_OF_SIZE_ONE = 6.0


@same_kind
@allow.checks(spacing=_SPACING, patch=_PATCH)
def material_features(
    image: ArrayLike, mask: ArrayLike | None = None, *, spacing: int = SPACING, patch: int = PATCH
) -> FloatArray:
    """Return dense SIFT and colour features on a grid of points.

    f = (128 SIFT values, 27 colours of the 3×3 pixels around), at the points of a grid.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)
        A colour image. SIFT [1]_, always upright, is computed from its luminance, stretched to the
        8 bits that OpenCV needs (SIFT does not depend on brightness and contrast).
    mask : array-like of bool of shape (height, width), default=None
        Where the object is: points outside are left out.
    spacing : int, default=5
        The distance between points. The first is spacing // 2 pixels from the border.
    patch : int, default=16
        The width of the square that SIFT describes, in pixels.

    Returns
    -------
    ndarray of shape (n_points, 155)

    References
    ----------
    .. [1] D. Lowe, Distinctive image features from scale-invariant keypoints, International Journal
       of Computer Vision, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import material_features
    >>> material_features(np.random.default_rng(0).random((50, 40, 3))).shape
    (80, 155)
    """
    image = check.colour_image(image, "image")
    return material(image, checked_mask(mask, image.shape[:2], "image"), spacing, patch, "image")


def checked_mask(
    mask: ArrayLike | None, shape: tuple[int, int], name: str
) -> NDArray[np.bool_] | None:
    """Return the mask of the image called ``name`` as booleans of the same shape."""
    if mask is None:
        return None
    values = np.asarray(mask)
    if values.shape != shape or values.dtype.kind not in "biu":
        raise ValueError(
            f"The mask of {name} must be boolean of shape {shape} like the image, got the dtype "
            f"{values.dtype} and the shape {values.shape}."
        )
    inside: NDArray[np.bool_] = values != 0
    return inside


def material(
    image: FloatArray, mask: NDArray[np.bool_] | None, spacing: int, patch: int, name: str
) -> FloatArray:
    """Return the material features of a checked image."""
    height, width, _ = image.shape
    first = spacing // 2
    rows, columns = np.arange(first, height - 1, spacing), np.arange(first, width - 1, spacing)
    y, x = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
    if mask is not None:
        kept = mask[y, x]
        y, x = y[kept], x[kept]
    if not len(y):
        where = "" if mask is None else " inside its mask"
        raise ValueError(f"{name} has no point of the grid with spacing {spacing}{where}.")
    around = np.arange(-1, 2)
    colours = image[y[:, None, None] + around[:, None], x[:, None, None] + around]
    return np.hstack([_sift(image, x, y, patch), colours.reshape(len(y), 27)])


def _sift(image: FloatArray, x: Indices, y: Indices, patch: int) -> NDArray[np.float32]:
    cv2 = import_extra("cv2", extra="vision")
    grey = import_extra("skimage.color", extra="vision").rgb2gray(image)
    size = patch / _PATCH_OF_SIZE_ONE
    points = [cv2.KeyPoint(float(a), float(b), size, 0.0) for a, b in zip(x, y, strict=True)]
    _, descriptors = cv2.SIFT_create().compute(as_bytes(grey), points)
    return np.asarray(descriptors, dtype=np.float32)


@allow.with_parameters
class MaterialCovariance(Descriptor):
    """The 155×155 covariance of dense SIFT and colour inside the mask of colour images of materials.

    The items of X are images (height, width, 3) or pairs (image, mask); `transform` returns an array
    (n_images, 155, 155). The features are those of `material_features`.

    Parameters
    ----------
    spacing : int, default=5
        The distance between the points of the grid.
    patch : int, default=16
        The width of the square that SIFT describes, in pixels.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size 156.
    shrinkage : float, default=1e-4
        Makes the covariance definite where there are few points or flat features, as in
        `region_covariances`, with the points in place of the whole image.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import MaterialCovariance
    >>> image = np.random.default_rng(0).random((60, 80, 3))
    >>> mask = np.arange(80) < np.full((60, 1), 40)
    >>> MaterialCovariance().transform([image, (image, mask)]).shape
    (2, 155, 155)
    """

    _what, _ndim = "colour images (height, width, 3)", 3

    spacing: int = allow.parameter(_SPACING, default=SPACING)
    patch: int = allow.parameter(_PATCH, default=PATCH)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)
    _: KW_ONLY
    shrinkage: float = allow.parameter(SHRINKAGE, default=1e-4)

    def _describe(self, item: Any, name: str) -> FloatArray:
        picture, mask = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        image = check.colour_image(picture, name)
        inside = checked_mask(mask, image.shape[:2], name)
        features = material(image, inside, self.spacing, self.patch, name)
        out = definite_covariance(features, self.shrinkage, self.mean)
        return out.astype(image.dtype, copy=False)
