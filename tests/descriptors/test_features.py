"""Features of pixels against their formulas, and images of the wrong kind."""

from __future__ import annotations

import numpy as np
import pytest

from _images import COLOUR, GREY, VIDEO
from spdatoms.descriptors import (
    MaterialCovariance,
    face_features,
    gabor_bank,
    gabor_magnitudes,
    kinematic_features,
    material_features,
    person_features,
    texture_features,
)
from spdatoms.descriptors.kinematics import flow_features, optical_flow

RNG = np.random.default_rng(1)


def test_texture_features_by_hand() -> None:
    features = texture_features(GREY)
    r, c = 7, 11
    expected = [
        GREY[r, c],
        abs(GREY[r, c + 1] - GREY[r, c - 1]),
        abs(GREY[r + 1, c] - GREY[r - 1, c]),
        abs(2 * GREY[r, c] - GREY[r, c - 1] - GREY[r, c + 1]),
        abs(2 * GREY[r, c] - GREY[r - 1, c] - GREY[r + 1, c]),
    ]
    np.testing.assert_allclose(features[r, c], expected, rtol=1e-12)
    np.testing.assert_allclose(features[0, 0, 1], abs(GREY[0, 1] - GREY[0, 0]), rtol=1e-12)


def test_texture_of_bytes_does_not_wrap_around() -> None:
    image = (GREY * 255).astype(np.uint8)
    np.testing.assert_array_equal(texture_features(image), texture_features(image.astype(float)))


def test_person_features_by_hand() -> None:
    features = person_features(COLOUR)
    assert features.shape == (40, 48, 17)
    np.testing.assert_array_equal(features[5, 9, :2], [9, 5])
    np.testing.assert_array_equal(features[..., 2:5], COLOUR)
    for c in range(3):
        of_colour = texture_features(COLOUR[..., c])
        np.testing.assert_array_equal(features[..., 5 + 2 * c : 7 + 2 * c], of_colour[..., 1:3])
        np.testing.assert_array_equal(features[..., 11 + 2 * c : 13 + 2 * c], of_colour[..., 3:])


@pytest.mark.parametrize("sigma", [np.pi, 2 * np.pi])
def test_gabor_bank_is_the_formula(sigma) -> None:
    bank = gabor_bank(sigma=sigma)
    assert len(bank) == 40
    for v, u in ((0, 0), (1, 3), (4, 5)):
        kernel = bank[8 * v + u]
        k, phi = np.pi / 2 / np.sqrt(2) ** v, np.pi * u / 8
        y, x = (np.arange(n) - n // 2 for n in kernel.shape)
        envelope = (k / sigma) ** 2 * np.exp(-(k**2) * (x**2 + y[:, None] ** 2) / (2 * sigma**2))
        wave = np.exp(1j * k * (x * np.cos(phi) + y[:, None] * np.sin(phi)))
        np.testing.assert_allclose(kernel, envelope * (wave - np.exp(-(sigma**2) / 2)), atol=2e-4)
        assert abs(kernel.sum()) < 1e-12


@pytest.mark.parametrize("shape", [(40, 48), (9, 7)])
def test_gabor_magnitudes_are_convolutions(shape) -> None:
    from scipy.signal import convolve2d

    image = RNG.random(shape)
    features = gabor_magnitudes(image)
    for i in (0, 5, 18):
        kernel = gabor_bank()[i]
        margins = [(n // 2, n // 2) for n in kernel.shape]
        response = convolve2d(np.pad(image, margins, mode="symmetric"), kernel, mode="valid")
        np.testing.assert_allclose(features[..., i], abs(response), atol=1e-12)


def test_wavelets_of_one_size_are_the_formula() -> None:
    bank = gabor_bank(2, 3, sigma=2.0, size=6)
    assert {kernel.shape for kernel in bank} == {(6, 6)}
    k, phi = np.pi / 2 / np.sqrt(2), np.pi / 3
    x = np.arange(6) - 3
    y = x[:, None]
    envelope = (k / 2) ** 2 * np.exp(-(k**2) * (x**2 + y**2) / 8)
    expected = envelope * (np.exp(1j * k * (x * np.cos(phi) + y * np.sin(phi))) - np.exp(-2))
    np.testing.assert_allclose(bank[4], expected, atol=1e-15)


def test_wavelets_of_scikit_image() -> None:
    gabor_kernel = pytest.importorskip("skimage.filters").gabor_kernel
    for i, wavelet in enumerate(gabor_bank()):
        k = np.pi / 2 / np.sqrt(2) ** (i // 8)
        kernel = gabor_kernel(
            k / (2 * np.pi), np.pi * (i % 8) / 8, sigma_x=np.pi / k, sigma_y=np.pi / k
        )
        kernel *= 2 * np.pi
        kernel -= abs(kernel) * kernel.sum() / abs(kernel).sum()
        np.testing.assert_allclose(wavelet, kernel, atol=1e-15)


@pytest.mark.parametrize("size", [None, 5, 6])
def test_responses_where_wavelets_lie_inside(size) -> None:
    from scipy.signal import convolve2d

    image = RNG.random((30, 28))
    found = gabor_magnitudes(image, scales=2, sigma=2.0, size=size, border="valid")
    bank = gabor_bank(2, sigma=2.0, size=size)
    most = max(kernel.shape[0] for kernel in bank)
    assert found.shape == (31 - most, 29 - most, 16)
    i = max(range(16), key=lambda i: bank[i].shape[0])
    expected = abs(convolve2d(image, bank[i], mode="valid"))
    np.testing.assert_allclose(found[..., i], expected, atol=1e-12)


def test_face_features_where_wavelets_lie_inside() -> None:
    inner = slice(9, -10)  # 20 pixels, half of them before the centre
    features = face_features(GREY, size=20, border="valid")
    whole = face_features(GREY, size=20)
    np.testing.assert_array_equal(features, whole[inner, inner])
    with pytest.raises(ValueError, match=r"has 40×48 pixels and a wavelet 41×41.*border='reflect'"):
        face_features(GREY, size=41, border="valid")


def test_gabor_is_blind_to_brightness() -> None:
    np.testing.assert_array_equal(gabor_magnitudes(np.full((20, 20), 0.1)), 0.0)
    np.testing.assert_allclose(gabor_magnitudes(GREY + 100), gabor_magnitudes(GREY), atol=1e-11)


def test_face_features() -> None:
    features = face_features(GREY)
    np.testing.assert_array_equal(features[..., 0], GREY)
    np.testing.assert_array_equal(features[3, 8, 1:3], [8, 3])
    np.testing.assert_array_equal(features[..., 3:], gabor_magnitudes(GREY))
    wide = gabor_magnitudes(GREY, sigma=2 * np.pi)
    assert abs(wide - features[..., 3:]).max() > 0.01
    np.testing.assert_array_equal(face_features(GREY, sigma=2 * np.pi)[..., 3:], wide)


def test_material_features_colours_and_mask() -> None:
    features = material_features(COLOUR)
    assert features.shape == (8 * 9, 155)
    y, x = 7, 12  # the second row and the third column of the grid
    patch = COLOUR[y - 1 : y + 2, x - 1 : x + 2]
    np.testing.assert_allclose(features[1 * 9 + 2, 128:], patch.ravel())
    mask = np.zeros((40, 48), dtype=bool)
    mask[:20, :17] = True
    inside = material_features(COLOUR, mask)
    rows = [9 * r + c for r in range(4) for c in range(3)]
    np.testing.assert_array_equal(inside, features[rows])


def test_material_features_are_sift() -> None:
    """A step edge from left to right has its gradient in one of the eight directions only."""
    image = np.zeros((60, 60, 3))
    image[:, 30:] = 0.7
    points = material_features(image, spacing=10)
    at_edge = points[np.abs(points[:, :128]).sum(axis=1) > 0][0, :128].reshape(4, 4, 8)
    assert at_edge.sum(axis=(0, 1)).argmax() == 0
    assert at_edge[..., 0].sum() > 0.9 * at_edge.sum()
    brighter = material_features(0.25 * image + 0.5, spacing=10)
    np.testing.assert_array_equal(brighter[:, :128], points[:, :128])


def test_flow_features_of_a_linear_flow() -> None:
    """Flow = A (x, y) + t·(1, 2) has constant derivatives, and the invariants of A are known."""
    A = np.array([[0.3, -0.2], [0.5, 0.1]])
    t, y, x = np.indices((5, 8, 9)).astype(float)
    flow = np.stack([x, y], axis=-1) @ A.T + t[..., None] * [1.0, 2.0]
    u, v, u_t, v_t, div, vor, g, s = (f[2, 3, 4] for f in flow_features(flow))
    B = (A + A.T) / 2
    expected = [
        *flow[2, 3, 4],
        1.0,
        2.0,
        np.trace(A),
        A[1, 0] - A[0, 1],
        (np.trace(A) ** 2 - np.trace(A @ A)) / 2,
        (np.trace(B) ** 2 - np.trace(B @ B)) / 2,
    ]
    np.testing.assert_allclose([u, v, u_t, v_t, div, vor, g, s], expected, atol=1e-12)


def test_kinematic_features_see_motion() -> None:
    from scipy.ndimage import gaussian_filter

    scene = gaussian_filter(RNG.random((60, 60)), 2)
    video = np.stack(
        [scene[10:50, 20 - 2 * t : 60 - 2 * t] for t in range(4)]
    )  # two pixels a frame
    features = kinematic_features(video)
    assert features.shape == (3, 40, 40, 12)
    np.testing.assert_array_equal(features[2, 5, 7, :3], [7, 5, 2])
    np.testing.assert_allclose(features[..., 3], np.diff(video, axis=0))
    middle = features[:, 10:30, 10:30]
    assert np.median(middle[..., 4]) == pytest.approx(2.0, abs=0.2)
    assert np.median(middle[..., 5]) == pytest.approx(0.0, abs=0.2)
    assert abs(np.median(middle[..., 8:10])) < 0.1
    np.testing.assert_array_equal(optical_flow(np.stack([scene, scene])), 0.0)


@pytest.mark.parametrize(
    ("function", "good", "bad", "message"),
    [
        (texture_features, GREY, COLOUR, "image must be a grey image .* skimage.color.rgb2gray"),
        (face_features, GREY, COLOUR, "image must be a grey image"),
        (gabor_magnitudes, GREY, GREY[0], "image must be a grey image"),
        (person_features, COLOUR, GREY, "image must be a colour image .* got a grey one"),
        (person_features, COLOUR, np.dstack([COLOUR, GREY]), "leave out the transparency"),
        (material_features, COLOUR, GREY, "image must be a colour image"),
        (kinematic_features, VIDEO, VIDEO[:1], "video has one frame only"),
        (kinematic_features, VIDEO, VIDEO[:, :9], "frames of 9×32 pixels, but optical flow needs"),
        (kinematic_features, VIDEO, VIDEO[..., None] * np.ones(3), "a colour one of shape"),
    ],
)
def test_wrong_kind_of_image(function, good, bad, message) -> None:
    function(good)
    with pytest.raises(ValueError, match=message):
        function(bad)
    spoilt = good.copy()
    spoilt.flat[7] = np.nan
    with pytest.raises(ValueError, match=r"is not finite: its entry .* is nan"):
        function(spoilt)
    with pytest.raises(TypeError, match="must hold real numbers"):
        function(good.astype(complex))


def test_bad_masks_and_grids() -> None:
    with pytest.raises(ValueError, match="no point of the grid with spacing 5 inside its mask"):
        material_features(COLOUR, np.zeros((40, 48), bool))
    with pytest.raises(ValueError, match="The mask of image must be boolean of shape"):
        material_features(COLOUR, np.ones((48, 40), bool))
    with pytest.raises(ValueError, match="spacing must be an integer from 2"):
        material_features(COLOUR, spacing=1)
    with pytest.raises(ValueError, match=r"X\[1\] has no point"):
        MaterialCovariance().transform([COLOUR, (COLOUR, np.zeros((40, 48), bool))])
