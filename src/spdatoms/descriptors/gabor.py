"""Magnitudes of Gabor wavelets: the face features of the paper, and those of Gabor SRC."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.pixels import positions

SCALES, ORIENTATIONS = 5, 8

#: The width of the envelopes: their standard deviation is σ / (2π) wave lengths.
SIGMA = float(np.pi)

# The wave number of the finest wavelet, and the ratio from one scale to the next.
_LARGEST_WAVE_NUMBER, _RATIO = np.pi / 2, np.sqrt(2.0)
# The envelope is cut off at this many of its standard deviations.
_REACH = 3


#: With σ = 4π the envelope of the coarsest of five wavelets has a deviation of 32 pixels.
WIDTHS = allow.real(0.1, 4 * np.pi)
_BANK = allow.declare(
    scales=allow.integer(1, 20), orientations=allow.integer(1, 1000), sigma=WIDTHS
)


@allow.checks(**_BANK)
@lru_cache(maxsize=4)
def gabor_bank(
    scales: int = SCALES, orientations: int = ORIENTATIONS, sigma: float = SIGMA
) -> tuple[NDArray[np.complex128], ...]:
    """Return a bank of Gabor wavelets.

    ψ_{u,v}(z) = (|k|²/σ²) exp(−|k|²|z|²/2σ²) [exp(i k·z) − c], k = k_max f^{−v} (cos φ_u, sin φ_u).

    k_max = π/2, f = √2 and φ_u = πu/orientations as usual for faces [1]_; covariances of such magnitudes
    are those of [2]_. c makes the sum of the wavelet zero, so that the response does not depend on the
    brightness of the image.

    Parameters
    ----------
    scales : int, default=5
        The number of scales v = 0, 1, …, from fine to coarse.
    orientations : int, default=8
        The number of orientations u.
    sigma : float, default=π
        The width σ of the envelopes. The default is half the usual value, for which the coarsest
        envelope would have a deviation of 16 pixels, too much for images of 40 to 64.

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
    gabor_kernel = import_extra("skimage.filters", extra="vision").gabor_kernel
    bank = []
    for v in range(scales):
        k = _LARGEST_WAVE_NUMBER / _RATIO**v
        spread = sigma / k
        for u in range(orientations):
            kernel = (
                2
                * np.pi
                * gabor_kernel(
                    k / (2 * np.pi),
                    theta=np.pi * u / orientations,
                    sigma_x=spread,
                    sigma_y=spread,
                    n_stds=_REACH,
                )
            )
            envelope = abs(kernel)
            bank.append(kernel - envelope * (kernel.sum() / envelope.sum()))
    return tuple(bank)


@same_kind
@allow.checks(**_BANK)
def gabor_magnitudes(
    image: ArrayLike,
    *,
    scales: int = SCALES,
    orientations: int = ORIENTATIONS,
    sigma: float = SIGMA,
) -> FloatArray:
    """Return the magnitudes of the responses of an image to Gabor wavelets.

    |I ∗ ψ_{u,v}|: the magnitudes of the responses to the wavelets of `gabor_bank`.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A grey image. It is continued by reflection beyond its border.
    scales : int, default=5
        The number of scales of the wavelets.
    orientations : int, default=8
        The number of orientations of the wavelets.
    sigma : float, default=π
        The width of their envelopes, see `gabor_bank`.

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
    """
    return magnitudes(check.grey_image(image, "image"), scales, orientations, sigma)


def magnitudes(
    image: FloatArray,
    scales: int = SCALES,
    orientations: int = ORIENTATIONS,
    sigma: float = SIGMA,
) -> FloatArray:
    """Return the magnitudes for a checked grey image."""
    height, width = image.shape
    margin = max(kernel.shape[0] // 2 for kernel in gabor_bank(scales, orientations, sigma))
    # The wavelets ignore brightness; without it a flat image gives zeros, not rounding errors.
    values = image - (image.min() + image.max()) / 2
    padded = np.pad(values, margin, mode="symmetric").astype(np.float64)
    spectra = _spectra(padded.shape, scales, orientations, sigma)
    image_spectrum = fft.fft2(padded, s=spectra.shape[1:])
    out = np.empty((height, width, len(spectra)), dtype=image.dtype)
    for i, spectrum in enumerate(spectra):
        response = fft.ifft2(image_spectrum * spectrum, overwrite_x=True)
        out[..., i] = abs(response[margin : margin + height, margin : margin + width])
    return out


@lru_cache(maxsize=4)
def _spectra(
    shape: tuple[int, int], scales: int, orientations: int, sigma: float
) -> NDArray[np.complex128]:
    """Return the Fourier transforms of the wavelets, centred on the first pixel."""
    bank = gabor_bank(scales, orientations, sigma)
    size = tuple(fft.next_fast_len(length) for length in shape)
    spectra = np.empty((len(bank), *size), dtype=np.complex128)
    for i, kernel in enumerate(bank):
        field = np.zeros(size, dtype=np.complex128)
        field[: kernel.shape[0], : kernel.shape[1]] = kernel
        centre = tuple(-(length // 2) for length in kernel.shape)
        spectra[i] = fft.fft2(np.roll(field, centre, axis=(0, 1)))
    return spectra


@same_kind
@allow.checks(sigma=WIDTHS)
def face_features(image: ArrayLike, *, sigma: float = SIGMA) -> FloatArray:
    """Return the 43 features of every pixel of a face.

    f = (I, x, y, |G_{0,0}|, …, |G_{4,7}|): 43 features of a face, 40 of them Gabor magnitudes.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A grey image of a face, closely cropped; 64×64 in the paper.
    sigma : float, default=π
        The width of the envelopes of the wavelets, see `gabor_bank`.

    Returns
    -------
    ndarray of shape (height, width, 43)

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import face_features
    >>> face_features(np.zeros((40, 40))).shape
    (40, 40, 43)
    """
    return face(check.grey_image(image, "image"), sigma)


def face(image: FloatArray, sigma: float = SIGMA) -> FloatArray:
    """Return the face features of a checked grey image."""
    x, y = positions(image)
    wavelets = magnitudes(image, sigma=sigma)
    return np.concatenate([np.stack([image, x, y], axis=-1), wavelets], axis=-1)
