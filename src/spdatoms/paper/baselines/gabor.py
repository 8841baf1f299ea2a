"""Sparse-representation classification of images by Gabor features (GSRC)."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import watched
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.descriptors.gabor import SIGMA, WIDTHS, Wavelets, magnitudes
from spdatoms.paper.baselines.pixels import COMPONENTS, ImageSparseClassifier


@allow.with_parameters
class GaborSparseClassifier(ImageSparseClassifier):
    """Sparse-representation classification of images by Gabor features (GSRC).

    The class c with the least ‖v − Σ_{j∈c} y_j a_j‖, y = argmin ‖v − Ay‖² + α‖y‖₁ (GSRC).

    As `PixelSparseClassifier`, but v holds Gabor features [1]_: the magnitudes of the 40 wavelets of
    `gabor_bank`, averaged over squares of ``spacing`` pixels, each wavelet's with norm one; or those of every
    ``spacing``-th pixel, each wavelet's with mean 0 and standard deviation 1 over the image. (There is no
    dictionary for occluded parts.)

    Parameters
    ----------
    spacing : int, default=8
        The side of the squares, or the distance between the pixels that are kept.
    pooling : bool, default=True
        Average over squares; False keeps single pixels, as [2]_ does.
    n_components : int, float or None, default=None
        The number of principal components, or the share of the variance they explain, as in
        `sklearn.decomposition.PCA`; None keeps all.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁; ``"auto"`` is 0.01 as for `SPDSparseClassifier`.
    sigma : float, default=π
        The width of the envelopes of the wavelets, see `gabor_bank`.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    pca_ : PCA
        The principal components.
    atoms_ : ndarray of shape (n_images, n_components)
        The Gabor features of the training images, projected and scaled.
    alpha_ : float
        The α in use.
    image_shape_ : tuple of int
        The height and width of the images.

    References
    ----------
    .. [1] M. Yang, L. Zhang, Gabor feature based sparse representation for face recognition with Gabor
       occlusion dictionary, ECCV 2010.
    .. [2] C. Liu, H. Wechsler, Gabor feature based classification using the enhanced Fisher linear
       discriminant model for face recognition, IEEE Transactions on Image Processing, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import GaborSparseClassifier
    >>> scenes = np.random.default_rng(0).random((2, 24, 24))
    >>> model = GaborSparseClassifier().fit(scenes, ["attic", "barn"])
    >>> model.predict(0.5 * scenes[::-1] + 0.1)
    array(['barn', 'attic'], dtype='<U5')
    """

    spacing: int = allow.parameter(allow.integer(1), default=8)
    pooling: bool = allow.parameter(allow.BOOLEAN, default=True)
    n_components: int | float | None = allow.parameter(COMPONENTS, default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    sigma: float = allow.parameter(WIDTHS, default=SIGMA)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    def _vectors(self, images: FloatArray) -> Floats:
        features = self._pooled if self.pooling else self._sampled
        return np.stack(
            [features(image).ravel() for image in watched(list(images), "Gabor features")]
        )

    def _pooled(self, image: FloatArray) -> Floats:
        """Return the means of Gabor magnitudes over squares, each wavelet's with norm one or 0."""
        values = self._magnitudes(image)
        for axis in (0, 1):
            starts = np.arange(0, image.shape[axis], self.spacing)
            counts = np.diff(starts, append=image.shape[axis])
            shape = np.where(np.arange(3) == axis, -1, 1)
            values = np.add.reduceat(values, starts, axis=axis) / counts.reshape(shape)
        return _divided(values, np.sqrt(np.sum(values**2, axis=(0, 1))))

    def _sampled(self, image: FloatArray) -> Floats:
        """Return the magnitudes of some pixels, each wavelet's with mean 0 and deviation 1 or 0 over the image."""
        values = self._magnitudes(image)
        values -= values.mean(axis=(0, 1))
        rows, columns = (slice(min(self.spacing, n) // 2, None, self.spacing) for n in image.shape)
        return _divided(values, values.std(axis=(0, 1)))[rows, columns]

    def _magnitudes(self, image: FloatArray) -> Floats:
        return magnitudes(image, Wavelets(sigma=self.sigma)).astype(np.float64)


def _divided(values: Floats, sizes: Floats) -> Floats:
    """Return values over their sizes, those of size 0 as they are."""
    return np.asarray(values / np.where(sizes > 0.0, sizes, 1.0))
