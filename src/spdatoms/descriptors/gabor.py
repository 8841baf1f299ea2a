"""Faces: magnitudes of Gabor wavelets, as in the paper, and those of Gabor SRC."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.pixels import positions
from spdatoms.descriptors.transformers import WINDOWS, RegionDescriptor

SCALES, ORIENTATIONS = 5, 8

#: The width of the envelopes: their standard deviation is σ / (2π) wave lengths.
SIGMA = float(np.pi)

# The wave number of the finest wavelet, and the ratio from one scale to the next.
_LARGEST_WAVE_NUMBER, _RATIO = np.pi / 2, np.sqrt(2.0)
# The envelope is cut off at this many of its standard deviations.
_REACH = 3

#: With σ = 4π the envelope of the coarsest of five wavelets has a deviation of 32 pixels.
WIDTHS = allow.real(0.1, 4 * np.pi)
SIZES = allow.NONE | allow.integer(2, 1000)
BORDERS = allow.choice("reflect", "valid")
_BANK = allow.declare(
    scales=allow.integer(1, 20), orientations=allow.integer(1, 1000), sigma=WIDTHS, size=SIZES
)


@allow.checks(**_BANK)
@lru_cache(maxsize=4)
def gabor_bank(
    scales: int = SCALES,
    orientations: int = ORIENTATIONS,
    sigma: float = SIGMA,
    size: int | None = None,
) -> tuple[NDArray[np.complex128], ...]:
    """Return a bank of Gabor wavelets.

    ψ_{u,v}(z) = (|k|²/σ²) exp(−|k|²|z|²/2σ²) [exp(i k·z) − c], k = k_max f^{−v} (cos φ_u, sin φ_u).

    k_max = π/2, f = √2 and φ_u = πu/orientations as usual for faces [1]_; covariances of such magnitudes
    are those of [2]_.

    Parameters
    ----------
    scales : int, default=5
        The number of scales v = 0, 1, …, from fine to coarse.
    orientations : int, default=8
        The number of orientations u.
    sigma : float, default=π
        The width σ of the envelopes. The default is half the usual value, for which the coarsest
        envelope would have a deviation of 16 pixels, too much for images of 40 to 64.
    size : int, default=None
        The height and width of all wavelets, z = −⌊size/2⌋, …, and c = exp(−σ²/2) as in [1]_: the sum of a wavelet
        that is cut off is then not zero, and the response depends on the brightness of the image. With None a
        wavelet reaches three standard deviations of its envelope, and c makes its sum zero, so that the response
        does not depend on brightness.

    Returns
    -------
    tuple of complex ndarray
        The wavelets, all orientations of the finest scale first.

    References
    ----------
    .. [1] C. Liu, H. Wechsler, Gabor feature based classification using the enhanced Fisher linear
       discriminant model for face recognition, IEEE Transactions on Image Processing, 2002.
    .. [2] Y. Pang, Y. Yuan, X. Li, Gabor-based region covariance matrices for face recognition, IEEE
       Transactions on Circuits and Systems for Video Technology, 2008.
    """
    return tuple(
        _wavelet(_LARGEST_WAVE_NUMBER / _RATIO**v, np.pi * u / orientations, sigma, size)
        for v in range(scales)
        for u in range(orientations)
    )


def _wavelet(k: float, angle: float, sigma: float, size: int | None) -> NDArray[np.complex128]:
    direction = np.array([np.cos(angle), np.sin(angle)])
    if size is None:
        reach = int(np.ceil(max(abs(_REACH * (sigma / k) * direction).max(), 1)))
        x = np.arange(-reach, reach + 1)
    else:
        x = np.arange(size) - size // 2
    y = x[:, None]
    envelope = (k / sigma) ** 2 * np.exp(-((k / sigma) ** 2) * (x**2 + y**2) / 2)
    wave = envelope * np.exp(1j * k * (direction[0] * x + direction[1] * y))
    constant = wave.sum() / envelope.sum() if size is None else np.exp(-(sigma**2) / 2)
    return np.asarray(wave - constant * envelope)


@same_kind
@allow.checks(**_BANK, border=BORDERS)
def gabor_magnitudes(
    image: ArrayLike,
    *,
    scales: int = SCALES,
    orientations: int = ORIENTATIONS,
    sigma: float = SIGMA,
    size: int | None = None,
    border: str = "reflect",
) -> FloatArray:
    """Return the magnitudes of the responses of an image to Gabor wavelets.

    |I ∗ ψ_{u,v}|: the magnitudes of the responses to the wavelets of `gabor_bank`.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A grey image.
    scales : int, default=5
        The number of scales of the wavelets.
    orientations : int, default=8
        The number of orientations of the wavelets.
    sigma : float, default=π
        The width of their envelopes, see `gabor_bank`.
    size : int, default=None
        The height and width of the wavelets in pixels, see `gabor_bank`.
    border : {"reflect", "valid"}, default="reflect"
        ``"reflect"`` continues the image by reflection, ``"valid"`` returns only the pixels around which all
        wavelets lie inside the image: with `size` fewer by ``size - 1`` in height and in width.

    Returns
    -------
    ndarray of shape (height, width, scales · orientations)
        All orientations of the finest scale first.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import gabor_magnitudes
    >>> stripes = np.tile(np.cos(np.pi / 2 * np.arange(64)), (64, 1))  # along x, of the finest scale
    >>> int(gabor_magnitudes(stripes)[32, 32].argmax())
    0
    >>> gabor_magnitudes(stripes, size=20, border="valid").shape
    (45, 45, 40)
    """
    wavelets = Wavelets(scales, orientations, sigma, size, border)
    return magnitudes(check.grey_image(image, "image"), wavelets)


class Wavelets(NamedTuple):
    """Which wavelets, and where their responses are wanted: the parameters of `gabor_magnitudes`."""

    scales: int = SCALES
    orientations: int = ORIENTATIONS
    sigma: float = SIGMA
    size: int | None = None
    border: str = "reflect"

    @property
    def bank(self) -> tuple[NDArray[np.complex128], ...]:
        """The wavelets themselves."""
        return gabor_bank(self.scales, self.orientations, self.sigma, self.size)

    def inside(self, shape: tuple[int, ...]) -> tuple[slice, slice]:
        """Return the pixels of an image that have responses."""
        if self.border == "reflect":
            return slice(None), slice(None)
        most = max(kernel.shape[0] for kernel in self.bank)
        if most > min(shape):
            raise ValueError(
                f"The image has {shape[0]}×{shape[1]} pixels and a wavelet {most}×{most}, so it lies nowhere inside. "
                "Take border='reflect', a smaller size, or larger images."
            )
        rows, columns = (slice(most - 1 - most // 2, length - most // 2) for length in shape)
        return rows, columns


def magnitudes(image: FloatArray, wavelets: Wavelets) -> FloatArray:
    """Return the magnitudes for a checked grey image."""
    rows, columns = wavelets.inside(image.shape)
    margin = max(kernel.shape[0] // 2 for kernel in wavelets.bank)
    # Wavelets with the sum zero ignore brightness; without it a flat image gives zeros, not rounding errors.
    values = image - (image.min() + image.max()) / 2 if wavelets.size is None else image
    padded = np.pad(values, margin, mode="symmetric").astype(np.float64)
    spectra = _spectra(padded.shape, wavelets)
    image_spectrum = fft.fft2(padded, s=spectra.shape[1:])
    out = np.empty((*image[rows, columns].shape, len(spectra)), dtype=image.dtype)
    for i, spectrum in enumerate(spectra):
        response = fft.ifft2(image_spectrum * spectrum, overwrite_x=True)
        out[..., i] = abs(
            response[margin:, margin:][: image.shape[0], : image.shape[1]][rows, columns]
        )
    return out


@lru_cache(maxsize=4)
def _spectra(shape: tuple[int, int], wavelets: Wavelets) -> NDArray[np.complex128]:
    """Return the Fourier transforms of the wavelets, centred on the first pixel."""
    size = tuple(fft.next_fast_len(length) for length in shape)
    spectra = np.empty((len(wavelets.bank), *size), dtype=np.complex128)
    for i, kernel in enumerate(wavelets.bank):
        field = np.zeros(size, dtype=np.complex128)
        field[: kernel.shape[0], : kernel.shape[1]] = kernel
        centre = tuple(-(length // 2) for length in kernel.shape)
        spectra[i] = fft.fft2(np.roll(field, centre, axis=(0, 1)))
    return spectra


@same_kind
@allow.checks(sigma=WIDTHS, size=SIZES, border=BORDERS)
def face_features(
    image: ArrayLike, *, sigma: float = SIGMA, size: int | None = None, border: str = "reflect"
) -> FloatArray:
    """Return the 43 features of every pixel of a face.

    f = (I, x, y, |G_{0,0}|, …, |G_{4,7}|): 43 features of a face, 40 of them Gabor magnitudes.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A grey image of a face, closely cropped; 64×64 in the paper.
    sigma : float, default=π
        The width of the envelopes of the wavelets, see `gabor_bank`.
    size : int, default=None
        The height and width of the wavelets in pixels, see `gabor_bank`.
    border : {"reflect", "valid"}, default="reflect"
        What happens where a wavelet reaches beyond the image, see `gabor_magnitudes`.

    Returns
    -------
    ndarray of shape (height, width, 43)
        With ``border="valid"`` of the pixels inside.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import face_features
    >>> face_features(np.zeros((40, 40))).shape
    (40, 40, 43)
    """
    wavelets = Wavelets(sigma=sigma, size=size, border=border)
    return face(check.grey_image(image, "image"), wavelets)


def face(image: FloatArray, wavelets: Wavelets) -> FloatArray:
    """Return the face features of a checked grey image."""
    x, y = positions(image)
    pixels = np.stack([image, x, y], axis=-1)[wavelets.inside(image.shape)]
    return np.concatenate([pixels, magnitudes(image, wavelets)], axis=-1)


@allow.with_parameters
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

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import FaceCovariance
    >>> FaceCovariance().transform(np.random.default_rng(0).random((2, 40, 40))).shape
    (2, 43, 43)
    """

    _what = "grey images (height, width)"

    block: Any = allow.parameter(WINDOWS, default=None)
    step: Any = allow.parameter(WINDOWS, default=None)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)
    _: KW_ONLY
    sigma: float = allow.parameter(WIDTHS, default=SIGMA)
    size: int | None = allow.parameter(SIZES, default=None)
    border: str = allow.parameter(BORDERS, default="reflect")

    def _features(self, item: Any, name: str) -> FloatArray:
        wavelets = Wavelets(sigma=self.sigma, size=self.size, border=self.border)
        return face(check.grey_image(item, name), wavelets)
