"""Images in, region covariances out: textures, faces, persons, and any features of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors._base import RegionDescriptor
from spdatoms.descriptors.gabor import BORDERS, SIGMA, SIZES, WIDTHS, Wavelets, face
from spdatoms.descriptors.pixels import person, texture


class RegionCovariance(RegionDescriptor):
    """Covariances of features of your own, of whole images or their windows.

    C_R = covariance of the features f_p of the pixels p ∈ R, for each image or its windows R.

    `transform` returns an array (m, n, n): without `block` one matrix per image, with it one per window,
    image by image. ``transform_regions`` returns the windows of every image by themselves.

    Parameters
    ----------
    features : callable, default=None
        Takes one item of X and returns its features (height, width, F). Without it the items of X
        are such features themselves.
    block : int or (int, int), default=None
        The height and width of windows; None stands for the whole image.
    step : int or (int, int), default=None
        The distance between windows; None stands for their size, which puts blocks side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size n = F + 1 instead of n = F.
    shrinkage : float, default=1e-4
        Makes covariances of flat and tiny regions definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over images.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import RegionCovariance
    >>> images = np.random.default_rng(0).random((3, 32, 32))
    >>> RegionCovariance(lambda image: np.stack([image, image**2], axis=-1)).transform(images).shape
    (3, 2, 2)
    """

    _parameters = allow.declare(
        features=allow.NONE | allow.FUNCTION, **RegionDescriptor._parameters
    )

    def __init__(
        self,
        features: Callable[[Any], Any] | None = None,
        block: Any = None,
        step: Any = None,
        mean: bool = False,
        *,
        shrinkage: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(block, step, mean, shrinkage=shrinkage, n_jobs=n_jobs, verbose=verbose)
        self.features = features

    def _features(self, item: Any, name: str) -> FloatArray:
        if self.features is not None:
            item, name = self.features(item), f"features({name})"
        stack = check.feature_stack(item, name)
        if stack.ndim != 3:
            raise ValueError(f"{name} must have the shape (height, width, F), got {stack.shape}.")
        return stack


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
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import TextureCovariance
    >>> images = np.random.default_rng(0).random((2, 256, 256))
    >>> TextureCovariance(block=32).transform(images).shape
    (128, 5, 5)
    """

    _what = "grey images (height, width)"

    def __init__(
        self,
        block: Any = 32,
        step: Any = None,
        mean: bool = False,
        *,
        shrinkage: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(block, step, mean, shrinkage=shrinkage, n_jobs=n_jobs, verbose=verbose)

    def _features(self, item: Any, name: str) -> FloatArray:
        return texture(check.grey_image(item, name))


class FaceCovariance(RegionDescriptor):
    """The 43×43 covariance of intensity, position and 40 Gabor magnitudes of grey images of faces.

    `transform` returns an array (m, 43, 43): one matrix per image, or per window with `block`. The
    features are those of `face_features`. Images may be arrays or paths of files.

    Parameters
    ----------
    block : int or (int, int), default=None
        The height and width of windows; None stands for the whole image.
    step : int or (int, int), default=None
        The distance between windows; None stands for their size, which puts blocks side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size 44.
    sigma : float, default=π
        The width of the envelopes of the wavelets, see `gabor_bank`.
    size : int, default=None
        The height and width of the wavelets in pixels, see `gabor_bank`.
    border : {"reflect", "valid"}, default="reflect"
        What happens where a wavelet reaches beyond the image, see `gabor_magnitudes`. The windows of `block` are those
        of the pixels that remain.
    shrinkage : float, default=1e-4
        Makes covariances of flat and tiny regions definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over images.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import FaceCovariance
    >>> FaceCovariance().transform(np.random.default_rng(0).random((2, 40, 40))).shape
    (2, 43, 43)
    """

    _what = "grey images (height, width)"
    _parameters = allow.declare(
        **{name: RegionDescriptor._parameters[name] for name in ("block", "step", "mean")},
        sigma=WIDTHS,
        size=SIZES,
        border=BORDERS,
        shrinkage=allow.real(0),
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        block: Any = None,
        step: Any = None,
        mean: bool = False,
        *,
        sigma: float = SIGMA,
        size: int | None = None,
        border: str = "reflect",
        shrinkage: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(block, step, mean, shrinkage=shrinkage, n_jobs=n_jobs, verbose=verbose)
        self.sigma = sigma
        self.size = size
        self.border = border

    def _features(self, item: Any, name: str) -> FloatArray:
        wavelets = Wavelets(sigma=self.sigma, size=self.size, border=self.border)
        return face(check.grey_image(item, name), wavelets)


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
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import PersonCovariance
    >>> PersonCovariance().transform(np.random.default_rng(0).random((2, 64, 32, 3))).shape
    (2, 17, 17)
    """

    _what, _ndim = "colour images (height, width, 3)", 3

    def _features(self, item: Any, name: str) -> FloatArray:
        return person(check.colour_image(item, name))
