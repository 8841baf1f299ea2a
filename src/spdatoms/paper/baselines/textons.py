"""Textons of small patches: the texture classifier of Varma and Zisserman."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import watched
from spdatoms._utils.sampling import generator
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification.scores import nearest_atom_scores
from spdatoms.layout import Numbers, holds
from spdatoms.paper.baselines.items import ScoredItemClassifier, grey_images


@allow.with_parameters
class TextonClassifier(ScoredItemClassifier):
    """Classification of textures by histograms of textons (VZ, joint patches).

    The class of the nearest histogram by χ²(h, g) = ½ Σ_t (h_t − g_t)² / (h_t + g_t).

    Every image is brought to mean 0 and deviation 1, every patch of it to length one. The centres of k-means
    of the patches of each class are its textons; those of all classes together are the dictionary. An image
    becomes the histogram of the nearest textons of its patches [1]_.

    Parameters
    ----------
    patch : int, default=7
        The side of a patch, in pixels.
    n_textons : int, default=10
        The number of textons per class.
    max_patches : int, default=5000
        The greatest number of patches of a class that k-means gets to see, drawn at random.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for patches and k-means.

    Attributes
    ----------
    classes_
    textons_ : ndarray of shape (n_classes · n_textons, patch²)
        The dictionary.
    histograms_ : ndarray of shape (n_images, n_classes · n_textons)
        Those of the training images; every row sums to one.

    References
    ----------
    .. [1] M. Varma, A. Zisserman, A statistical approach to material classification using image patch exemplars,
       IEEE Transactions on Pattern Analysis and Machine Intelligence, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import TextonClassifier
    >>> noise = np.random.default_rng(0).standard_normal((8, 24, 24))
    >>> noise[1::2] = noise[1::2].cumsum(axis=2)
    >>> model = TextonClassifier(3, 4, random_state=0).fit(noise[:4], ["dots", "stripes"] * 2)
    >>> model.predict(noise[4:])
    array(['dots', 'stripes', 'dots', 'stripes'], dtype='<U7')
    """

    _stored = holds("classes_ _labels", textons_=Numbers("t pixels"), histograms_=Numbers("N t"))
    patch: int = allow.parameter(allow.integer(1), default=7)
    n_textons: int = allow.parameter(allow.integer(1), default=10)
    max_patches: int = allow.parameter(allow.integer(1), default=5000)
    _: KW_ONLY
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(self, X: Any, y: ArrayLike) -> TextonClassifier:
        """Find the textons of every class, and the histograms of the training images.

        Parameters
        ----------
        X : sequence of array-like of shape (height, width)
            Grey images, which may differ in size.
        """
        patches = self._patches(X)
        self.classes_, self._labels = check_labels(y, len(patches))
        rng = generator(self.random_state)
        textons = []
        for c in watched(range(len(self.classes_)), "textons"):
            own = np.concatenate([patches[i] for i in np.flatnonzero(self._labels == c)])
            seen = own[rng.permutation(len(own))[: self.max_patches]]
            kmeans = KMeans(
                min(self.n_textons, len(seen)), n_init=1, random_state=int(rng.integers(2**31))
            )
            textons.append(kmeans.fit(seen).cluster_centers_)
        self.textons_ = np.concatenate(textons)
        self.histograms_ = self._histograms(patches)
        return self

    def _scores(self, X: Any) -> Floats:
        distances = chi_squared(self._histograms(self._patches(X)), self.histograms_)
        return nearest_atom_scores(distances, self._labels, len(self.classes_))

    def _patches(self, X: Any) -> list[Floats]:
        images = grey_images(X)
        for i, image in enumerate(images):
            if min(image.shape) < self.patch:
                raise ValueError(
                    f"X[{i}] has {image.shape[0]}×{image.shape[1]} pixels, fewer than a patch of "
                    f"{self.patch}×{self.patch}: give a smaller patch."
                )
        return [normalised_patches(image, self.patch) for image in images]

    def _histograms(self, patches: list[Floats]) -> Floats:
        count = len(self.textons_)
        rows = [nearest_rows(of, self.textons_) for of in watched(patches, "histograms")]
        return np.stack([np.bincount(row, minlength=count) / len(row) for row in rows])


def normalised_patches(image: FloatArray, side: int) -> Floats:
    """Return all patches of an image of mean 0 and deviation 1, each of length one (or zero), (count, side²)."""
    values = np.asarray(image, np.float64)
    values = values - values.mean()
    deviation = values.std()
    values /= deviation if deviation > 0.0 else 1.0
    patches = sliding_window_view(values, (side, side)).reshape(-1, side * side)
    lengths = np.linalg.norm(patches, axis=1, keepdims=True)
    return np.asarray(patches / np.where(lengths > 0.0, lengths, 1.0))


def nearest_rows(P: Floats, T: Floats) -> Indices:
    """Return argmin_t ‖p − t‖² = argmax_t ⟨p, t⟩ − ½‖t‖² for every row p of P over the rows t of T."""
    values = P @ T.T
    values -= 0.5 * (T**2).sum(axis=1)
    return np.asarray(values.argmax(axis=1))


def chi_squared(H: Floats, G: Floats) -> Floats:
    """Return ½ Σ_t (h_t − g_t)² / (h_t + g_t) for all pairs of rows; terms with h_t = g_t = 0 are zero."""
    out = np.empty((len(H), len(G)))
    for row, h in zip(out, H, strict=True):
        total = h + G
        np.divide((h - G) ** 2, total, out=total, where=total > 0.0)
        row[:] = 0.5 * total.sum(axis=1)
    return out
