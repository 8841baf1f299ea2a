"""Sparse-representation classification of images, by their pixels (SRC) or by Gabor features (GSRC)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.progress import watched
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification.scores import ClassRule, warn_of_zero_codes
from spdatoms.descriptors.gabor import SIGMA, WIDTHS, Wavelets, magnitudes
from spdatoms.lasso.alpha import choose_alpha
from spdatoms.lasso.solve import sparse_code
from spdatoms.layout import COUNT, Each, Numbers, Part, holds
from spdatoms.paper.baselines.items import ScoredItemClassifier, grey_images

#: The number of principal components, the share of the variance that they explain, or all.
_COMPONENTS = allow.NONE | allow.integer(1) | allow.real(above=0, below=1)


class ImageSparseClassifier(ScoredItemClassifier):
    """Sparse representation of images by the training images, on the features of a subclass."""

    n_components: int | float | None
    alpha: float | str
    n_jobs: int | None
    _stored = holds(
        "classes_ _atom_classes alpha_ _gram",
        image_shape_=Each(COUNT, "dimensions"),
        pca_=Part(PCA),
        atoms_=Numbers("N k"),
    )

    @checked_fit
    def fit(self, X: Any, y: ArrayLike) -> Any:
        """Take the training images as labelled atoms.

        Parameters
        ----------
        X : array-like of shape (m, height, width)
            Grey images.
        """
        images = _images(X)
        self.classes_, self._atom_classes = check_labels(y, len(images))
        self.image_shape_ = images.shape[1:]
        self.alpha_ = choose_alpha(self.alpha, False)
        vectors = self._vectors(images)
        if (vectors == vectors[0]).all():
            raise ValueError("The training images cannot be distinguished: they are all alike.")
        self.pca_ = PCA(self.n_components, svd_solver="full").fit(vectors)
        self.atoms_ = self._project(vectors)
        self._gram = self.atoms_ @ self.atoms_.T
        return self

    def codes(self, X: Any) -> Floats:
        """Return the sparse codes of images over the training images.

        Parameters
        ----------
        X : array-like of shape (m, height, width)
            Grey images.

        Returns
        -------
        ndarray of shape (m, n_images)
            The codes, one per row.
        """
        return self._coded(X)[0]

    def _coded(self, X: Any) -> tuple[Floats, Floats]:
        """Return codes, and the products of images with the training images, as they are projected and scaled."""
        check_is_fitted(self)
        images = _images(X)
        if images.shape[1:] != self.image_shape_:
            height, width = self.image_shape_
            raise ValueError(
                f"X holds images of {images.shape[1]}×{images.shape[2]} pixels, but those of fit had "
                f"{height}×{width}."
            )
        cross = row_products(self._project(self._vectors(images)), self.atoms_.T)
        codes = sparse_code(self._gram, cross, self.alpha_, check_gram=False, n_jobs=self.n_jobs)
        return codes, cross

    def _scores(self, X: Any) -> Floats:
        codes, cross = self._coded(X)
        rule = ClassRule("residual", self._atom_classes, len(self.classes_))
        # For vectors of length one, −vᵀa and the distance give the same order.
        scores, zero = rule.scores_or_nearest(codes, self._gram, cross, lambda zero: -cross[zero])
        warn_of_zero_codes(int(zero.sum()), len(cross))
        return scores

    @abstractmethod
    def _vectors(self, images: FloatArray) -> Floats:
        """Return the features of images, one row each."""

    def _project(self, vectors: Floats) -> Floats:
        """Return the projections onto the principal components, scaled to length one."""
        projected = row_products(vectors, self.pca_.components_.T)
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        return np.asarray(projected / np.where(lengths > 0.0, lengths, 1.0))


@allow.with_parameters
class PixelSparseClassifier(ImageSparseClassifier):
    """Sparse-representation classification of images by their pixels (SRC).

    The class c with the least ‖v − Σ_{j∈c} y_j a_j‖, y = argmin ‖v − Ay‖² + α‖y‖₁ (SRC).

    v holds the pixels of an image, projected onto the principal components of the training images
    (eigenfaces, without subtracting the mean) and scaled to length one; the columns a_j of A are the
    training images, treated in the same way [1]_.

    Parameters
    ----------
    n_components : int, float or None, default=None
        The number of principal components, or the share of the variance they explain, as in
        `sklearn.decomposition.PCA`; None keeps all.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁; ``"auto"`` is 0.01 as for `SPDSparseClassifier`.

    Attributes
    ----------
    classes_
    pca_ : PCA
        The principal components.
    atoms_ : ndarray of shape (n_images, n_components)
        The training images, projected and scaled.
    alpha_
    image_shape_ : tuple of int
        The height and width of the images.

    References
    ----------
    .. [1] J. Wright, A. Yang, A. Ganesh, S. Sastry, Y. Ma, Robust face recognition via sparse
       representation, IEEE Transactions on Pattern Analysis and Machine Intelligence, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import PixelSparseClassifier
    >>> scenes = np.random.default_rng(0).random((2, 8, 8))
    >>> model = PixelSparseClassifier().fit(scenes, ["attic", "barn"])
    >>> model.predict(0.5 * scenes[::-1] + 0.1)
    array(['barn', 'attic'], dtype='<U5')
    """

    n_components: int | float | None = allow.parameter(_COMPONENTS, default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    def _vectors(self, images: FloatArray) -> Floats:
        """Return a vector for each image, (m, p)."""
        return images.reshape(len(images), -1).astype(np.float64)


@allow.with_parameters
class GaborSparseClassifier(Threaded, ImageSparseClassifier):
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

    Attributes
    ----------
    classes_
    pca_ : PCA
        The principal components.
    atoms_ : ndarray of shape (n_images, n_components)
        The Gabor features of the training images, projected and scaled.
    alpha_
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
    n_components: int | float | None = allow.parameter(_COMPONENTS, default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    sigma: float = allow.parameter(WIDTHS, default=SIGMA)

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


def _images(X: Any) -> FloatArray:
    """Return checked grey images of one size as an array (m, height, width)."""
    images = grey_images(X)
    for i, image in enumerate(images):
        if image.shape != images[0].shape:
            raise ValueError(
                f"X[{i}] has the size {image.shape}, but X[0] {images[0].shape}: resize the images "
                "to one size (skimage.transform.resize)."
            )
    return np.stack(images)
