"""Descriptors against direct computations: features, regions, and the transformers made of them."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import spdatoms.descriptors as descriptors
from spdatoms import SPDSparseClassifier, check_spd
from spdatoms.descriptors import (
    FaceCovariance,
    JointCovariance,
    KinematicCovariance,
    MaterialCovariance,
    PersonCovariance,
    RegionCovariance,
    TextureCovariance,
    face_features,
    gabor_bank,
    gabor_magnitudes,
    kinematic_features,
    material_features,
    person_features,
    region_covariances,
    texture_features,
)
from spdatoms.descriptors import regions as regions_module
from spdatoms.descriptors.kinematics import flow_features, optical_flow

RNG = np.random.default_rng(0)
GREY = RNG.random((40, 48))
COLOUR = RNG.random((40, 48, 3))
VIDEO = RNG.random((5, 24, 32))
SEQUENCE = RNG.standard_normal((30, 4, 3)).cumsum(axis=0)

TRANSFORMERS = [
    (RegionCovariance(texture_features), GREY, 5),
    (TextureCovariance(block=None), GREY, 5),
    (FaceCovariance(), GREY, 43),
    (PersonCovariance(), COLOUR, 17),
    (MaterialCovariance(), COLOUR, 155),
    (KinematicCovariance(block=None, step=None), VIDEO, 12),
    (JointCovariance(), SEQUENCE, 12),
]
every_transformer = pytest.mark.parametrize(
    ("transformer", "item", "size"), TRANSFORMERS, ids=[type(t[0]).__name__ for t in TRANSFORMERS]
)


def direct(samples) -> np.ndarray:
    return np.cov(samples.reshape(-1, samples.shape[-1]), rowvar=False)


def ridge_of(stack, C, ridge) -> np.ndarray:
    """Return ridge · diag(C_ff + s_f), from the definition in the docstring."""
    flat = stack.reshape(-1, stack.shape[-1])
    scale = flat.var(axis=0) + 1e-6 * (flat**2).mean(axis=0)
    return ridge * np.diag(np.diag(C) + scale)


@pytest.fixture(params=["direct", "integral"])
def way(request, monkeypatch) -> str:
    """Force one of the two ways to compute covariances over boxes."""
    monkeypatch.setattr(regions_module, "_PASSES", {"direct": 10**9, "integral": 0}[request.param])
    return request.param


# --- regions -----------------------------------------------------------------------------------------


def test_blocks_side_by_side(way) -> None:
    stack = RNG.standard_normal((20, 33, 4)) * [1, 1e3, 1e-3, 5] + [5, 1e3, 0, -40]
    C = region_covariances(stack, block=(10, 8))
    assert C.shape == (8, 4, 4)
    for i, (r, c) in enumerate((r, c) for r in (0, 10) for c in (0, 8, 16, 24)):
        expected = direct(stack[r : r + 10, c : c + 8])
        expected += ridge_of(stack, expected, 1e-4)
        root = np.sqrt(np.diag(expected))
        np.testing.assert_allclose(C[i] / root / root[:, None], expected / root / root[:, None],
                                   rtol=1e-11, atol=1e-11)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_sliding_windows_and_rectangles_agree_with_numpy(data) -> None:
    height, width = data.draw(st.integers(3, 30)), data.draw(st.integers(3, 30))
    block = (data.draw(st.integers(1, height)), data.draw(st.integers(1, width)))
    step = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    offset = 10.0 ** data.draw(st.integers(-3, 6))
    stack = np.random.default_rng(data.draw(st.integers(0, 99))).random((height, width, 3)) + offset
    corners = [
        (r, c)
        for r in range(0, height - block[0] + 1, step[0])
        for c in range(0, width - block[1] + 1, step[1])
    ]
    rectangles = [(r, c, r + block[0], c + block[1]) for r, c in corners]
    shifted = stack - offset
    passes = regions_module._PASSES
    try:
        regions_module._PASSES = 0
        by_step = region_covariances(stack, block=block, step=step, ridge=0.0)
        by_rectangle = region_covariances(stack, rectangles=rectangles, ridge=0.0)
    finally:
        regions_module._PASSES = passes
    np.testing.assert_array_equal(by_step, by_rectangle)
    for C, (top, left, bottom, right) in zip(by_step, rectangles, strict=True):
        region = shifted[top:bottom, left:right].reshape(-1, 3)
        expected = np.cov(region, rowvar=False) if len(region) > 1 else np.zeros((3, 3))
        # The features have a variance of 1/12; the offset has cost its digits before we see them.
        np.testing.assert_allclose(C, expected, atol=1e-13 + 1e-15 * offset)


def test_integral_images_keep_the_digits_of_quiet_regions(way) -> None:
    """A bright offset and a loud neighbourhood must not drown a region that hardly varies."""
    stack = RNG.standard_normal((64, 64, 2))
    stack[:32, :32] *= 1e-3
    C = region_covariances(stack + 1e4, block=8, step=4, ridge=0.0)
    expected = direct((stack + 1e4)[:8, :8])
    np.testing.assert_allclose(C[0], expected, rtol=1e-6, atol=1e-12)


def test_volumes_of_a_video(way) -> None:
    stack = RNG.standard_normal((9, 10, 12, 3))
    C = region_covariances(stack, block=(4, 5, 6), step=(2, 5, 3), ridge=0.0)
    corners = [(t, r, c) for t in (0, 2, 4) for r in (0, 5) for c in (0, 3, 6)]
    assert len(C) == len(corners)
    for matrix, (t, r, c) in zip(C, corners, strict=True):
        expected = direct(stack[t : t + 4, r : r + 5, c : c + 6])
        np.testing.assert_allclose(matrix, expected, rtol=1e-11, atol=1e-13)


def test_rectangles_of_a_video(way) -> None:
    stack = RNG.standard_normal((6, 7, 8, 2))
    (C,) = region_covariances(stack, rectangles=[[1, 2, 3, 5, 6, 8]], ridge=0.0)
    np.testing.assert_allclose(C, direct(stack[1:5, 2:6, 3:8]), rtol=1e-11, atol=1e-13)


def test_masks() -> None:
    stack = RNG.standard_normal((12, 9, 3))
    masks = RNG.random((4, 12, 9)) < 0.4
    C = region_covariances(stack, masks=masks, ridge=0.0)
    for matrix, mask in zip(C, masks, strict=True):
        np.testing.assert_allclose(matrix, direct(stack[mask]), rtol=1e-12)
    np.testing.assert_array_equal(region_covariances(stack, masks=masks[1], ridge=0.0), C[1:2])
    rectangle = np.zeros((12, 9), dtype=np.uint8)
    rectangle[2:7, 3:8] = 255
    np.testing.assert_allclose(
        region_covariances(stack, masks=rectangle),
        region_covariances(stack, rectangles=[[2, 3, 7, 8]]),
        rtol=1e-12,
    )


def test_whole_image_is_the_default() -> None:
    stack = RNG.standard_normal((12, 9, 3))
    np.testing.assert_allclose(
        region_covariances(stack, ridge=0.0)[0], direct(stack), rtol=1e-12, atol=1e-14
    )


def test_form_with_the_mean(way) -> None:
    stack = RNG.standard_normal((16, 16, 3)) + np.array([3.0, -2.0, 0.5])
    plain = region_covariances(stack, block=8, step=4)
    augmented = region_covariances(stack, block=8, step=4, mean=True)
    mu = stack[4:12, 8:16].reshape(-1, 3).mean(axis=0)
    i = 1 * 3 + 2
    np.testing.assert_allclose(augmented[i, :3, 3], mu, rtol=1e-12)
    np.testing.assert_allclose(augmented[i, :3, :3], plain[i] + np.outer(mu, mu), rtol=1e-12)
    np.testing.assert_array_equal(augmented[:, 3, 3], 1.0)
    np.testing.assert_allclose(np.linalg.det(augmented), np.linalg.det(plain), rtol=1e-9)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(
    "image",
    [
        np.zeros((24, 24)),
        np.full((24, 24), 0.1),
        np.full((24, 24), 1e-9),
        np.pad(np.ones((3, 3)), ((0, 21), (0, 21))),
        np.tile(np.arange(24.0), (24, 1)),
        1e6 + GREY[:24, :24],
    ],
    ids=["black", "flat", "dark and flat", "one bright spot", "ramp", "bright"],
)
def test_flat_and_tiny_regions_are_definite(way, image, mean) -> None:
    stack = texture_features(image)
    for block, step in ((1, 1), (2, 3), (8, 4), (24, 1)):
        C = check_spd(region_covariances(stack, block=block, step=step, mean=mean))
        if not mean:
            root = np.sqrt(np.einsum("kii->ki", C))
            least = np.linalg.eigvalsh(C / root[:, :, None] / root[:, None, :])[:, 0].min()
            assert least >= 0.99e-4 / (1 + 1e-4)


def test_more_features_than_pixels_is_definite() -> None:
    stack = RNG.standard_normal((3, 4, 60))
    check_spd(region_covariances(stack))
    check_spd(region_covariances(stack.astype(np.float32)))


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_units_of_features_do_not_matter(way, factor) -> None:
    stack = RNG.standard_normal((16, 16, 3))
    stack[:8, :8] = 1.0
    units = np.array([1.0, factor, 3.0])
    C = region_covariances(stack, block=4, step=2)
    scaled = region_covariances(stack * units, block=4, step=2)
    np.testing.assert_allclose(scaled / np.outer(units, units), C, rtol=1e-9, atol=1e-12)


def test_single_precision_and_input_untouched(way) -> None:
    stack = RNG.standard_normal((16, 16, 3)).astype(np.float32)
    before = stack.copy()
    stack.flags.writeable = False
    C = region_covariances(stack, block=8, step=2)
    assert C.dtype == np.float32
    np.testing.assert_array_equal(stack, before)
    double = region_covariances(stack.astype(np.float64), block=8, step=2)
    np.testing.assert_allclose(C, double, rtol=1e-5, atol=1e-6)
    strided = np.asfortranarray(stack)[::-1]
    np.testing.assert_allclose(
        region_covariances(strided, block=8, step=4),
        region_covariances(strided.copy(), block=8, step=4),
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"block": 17}, r"features has 12×16 pixels, fewer than a block of 17×17"),
        ({"block": 0}, "block must be a positive whole number or 2 of them"),
        ({"block": (4, 4, 4)}, "block must be a positive whole number or 2 of them"),
        ({"block": 4, "step": 1.5}, "step must be a positive whole number"),
        ({"step": 2}, "give block"),
        ({"block": 4, "masks": np.ones((12, 16), bool)}, "only one of block"),
        (
            {"rectangles": [[0, 0, 4, 4], [0, 0, 13, 4]]},
            r"rectangles\[1\] = \[0, 0, 13, 4\] leaves",
        ),
        ({"rectangles": [[-1, 0, 4, 4]]}, r"rectangles\[0\] .* leaves the image"),
        ({"rectangles": [[0, 0, 4, 4], [2, 2, 2, 5]]}, r"rectangles\[1\] .* holds no pixel"),
        ({"rectangles": [[0.0, 0.0, 4.0, 4.0]]}, "whole numbers of shape"),
        ({"rectangles": [0, 0, 4, 4]}, "whole numbers of shape"),
        ({"masks": np.stack([np.ones((12, 16)), np.zeros((12, 16))]) > 0}, r"masks\[1\] holds no"),
        ({"masks": np.ones((3, 16, 12), bool)}, "masks must be boolean, of shape"),
        ({"ridge": -1.0}, "ridge must be finite and not negative"),
    ],
)
def test_bad_regions(options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        region_covariances(np.zeros((12, 16, 2)), **options)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 0), (2, 2, 2, 2, 2)])
def test_bad_stacks(shape) -> None:
    with pytest.raises(ValueError, match=r"must have the shape \(height, width, F\)"):
        region_covariances(np.zeros(shape))


# --- features of pixels ------------------------------------------------------------------------------


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


def test_gabor_bank_is_the_formula() -> None:
    bank = gabor_bank()
    assert len(bank) == 40
    for v, u in ((0, 0), (1, 3), (4, 5)):
        kernel = bank[8 * v + u]
        k, phi = np.pi / 2 / np.sqrt(2) ** v, np.pi * u / 8
        y, x = (np.arange(n) - n // 2 for n in kernel.shape)
        envelope = (k / np.pi) ** 2 * np.exp(-(k**2) * (x**2 + y[:, None] ** 2) / (2 * np.pi**2))
        wave = np.exp(1j * k * (x * np.cos(phi) + y[:, None] * np.sin(phi)))
        np.testing.assert_allclose(kernel, envelope * (wave - np.exp(-(np.pi**2) / 2)), atol=2e-4)
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


def test_gabor_is_blind_to_brightness() -> None:
    np.testing.assert_array_equal(gabor_magnitudes(np.full((20, 20), 0.1)), 0.0)
    np.testing.assert_allclose(gabor_magnitudes(GREY + 100), gabor_magnitudes(GREY), atol=1e-11)


def test_face_features() -> None:
    features = face_features(GREY)
    np.testing.assert_array_equal(features[..., 0], GREY)
    np.testing.assert_array_equal(features[3, 8, 1:3], [8, 3])
    np.testing.assert_array_equal(features[..., 3:], gabor_magnitudes(GREY))


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
    ("function", "good", "bad", "sentence"),
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
def test_wrong_kind_of_image(function, good, bad, sentence) -> None:
    function(good)
    with pytest.raises(ValueError, match=sentence):
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
    with pytest.raises(ValueError, match="spacing must be at least 2"):
        material_features(COLOUR, spacing=1)
    with pytest.raises(ValueError, match=r"X\[1\] has no point"):
        MaterialCovariance().transform([COLOUR, (COLOUR, np.zeros((40, 48), bool))])


# --- transformers ------------------------------------------------------------------------------------


@every_transformer
def test_transformers_make_definite_matrices(transformer, item, size) -> None:
    X = [item, 0.5 * item, np.zeros_like(item)]
    C = check_spd(transformer.fit(X).transform(X))
    assert C.shape == (3, size, size)
    single = transformer.transform([item.astype(np.float32), np.zeros_like(item, np.float32)])
    assert check_spd(single).dtype == np.float32
    np.testing.assert_array_equal(clone(transformer).set_params(n_jobs=2).transform(X), C)


@every_transformer
def test_transformers_keep_to_conventions(transformer, item, size) -> None:
    signature = inspect.signature(type(transformer).__init__)
    given = {name: object() for name in list(signature.parameters)[1:]}
    assert type(transformer)(**given).get_params() == given
    with pytest.raises(ValueError, match="ridge must be"):
        clone(transformer).set_params(ridge=np.nan).fit([item])
    with pytest.raises(ValueError, match="X is empty"):
        transformer.transform([])
    with pytest.raises(TypeError, match="X must be a list or an array"):
        transformer.transform(3)
    spoilt = item.copy()
    spoilt.flat[3] = np.inf
    with pytest.raises(ValueError, match=r"X\[1\] is not finite|image is not finite"):
        transformer.transform([item, spoilt])
    if not isinstance(transformer, RegionCovariance):
        with pytest.raises(ValueError, match=r"for a single one use \[X\]"):
            transformer.transform(item)


def test_what_the_transformers_compute() -> None:
    stacks = {
        TextureCovariance(None): (GREY, texture_features),
        FaceCovariance(): (GREY, face_features),
        PersonCovariance(): (COLOUR, person_features),
        MaterialCovariance(): (COLOUR, material_features),
        KinematicCovariance(None, None): (VIDEO, kinematic_features),
    }
    for transformer, (item, features) in stacks.items():
        stack = features(item)
        expected = direct(stack)
        expected += ridge_of(stack, expected, 1e-4)
        (C,) = transformer.transform([item])
        np.testing.assert_allclose(C, expected, rtol=1e-9, atol=1e-12 * abs(expected).max())


def test_joint_covariance_is_in_the_order_of_the_paper() -> None:
    (C,) = JointCovariance(ridge=0.0).transform([SEQUENCE])
    ordered = np.hstack([SEQUENCE[..., 0], SEQUENCE[..., 1], SEQUENCE[..., 2]])
    np.testing.assert_allclose(C, np.cov(ordered, rowvar=False), rtol=1e-12)


def test_regions_come_as_a_list() -> None:
    images = [GREY, GREY[:32, :32]]
    stacks = TextureCovariance(block=16, step=8).transform(images)
    assert [s.shape for s in stacks] == [(4 * 5, 5, 5), (3 * 3, 5, 5)]
    np.testing.assert_allclose(
        stacks[1], region_covariances(texture_features(images[1]), block=16, step=8), rtol=1e-12
    )
    volumes = KinematicCovariance(block=(2, 16, 16), step=(1, 8, 16)).transform([VIDEO, VIDEO[:3]])
    assert [v.shape for v in volumes] == [(3 * 2 * 2, 12, 12), (1 * 2 * 2, 12, 12)]


def test_errors_name_the_item() -> None:
    with pytest.raises(ValueError, match=r"X\[1\] must be a grey image"):
        TextureCovariance().transform([GREY, COLOUR])
    with pytest.raises(ValueError, match=r"X\[2\] has 8×8 pixels, fewer than a block of 16×16"):
        TextureCovariance(16).transform([GREY, GREY, GREY[:8, :8]])
    with pytest.raises(
        ValueError, match=r"several colour images \(height, width, 3\), got one array"
    ):
        PersonCovariance().transform(np.zeros((3, 40, 40)))
    with pytest.raises(
        ValueError, match=r"several colour images \(height, width, 3\), got one array"
    ):
        MaterialCovariance().transform(np.zeros((3, 40, 40)))
    with pytest.raises(ValueError, match=r"X\[1\] has one frame or none"):
        JointCovariance().transform([SEQUENCE, SEQUENCE[:1]])
    with pytest.raises(ValueError, match=r"X\[1\] must be a sequence of joint positions"):
        JointCovariance().transform([SEQUENCE, SEQUENCE[..., :2]])
    with pytest.raises(ValueError, match=r"X\[1\] gives matrices of size 9.*the same joints"):
        JointCovariance().transform([SEQUENCE, SEQUENCE[:, :3]])
    with pytest.raises(ValueError, match=r"X\[1\] has one frame only"):
        KinematicCovariance(None, None).transform([VIDEO, VIDEO[:1]])
    film = np.zeros((16, 32, 32))
    assert len(KinematicCovariance().transform([film])[0]) == 1
    with pytest.raises(
        ValueError,
        match=r"X\[1\] has 15×32×32 frames×height×width, but a block of 15×32×32 needs 16×32×32",
    ):
        KinematicCovariance().transform([film, film[1:]])
    with pytest.raises(
        ValueError, match="has 7×8×8 frames×height×width, fewer than a block of 9×9×9"
    ):
        region_covariances(np.zeros((7, 8, 8, 2)), block=9)
    with pytest.raises(ValueError, match=r"features\(X\[0\]\) must have the shape"):
        RegionCovariance(lambda image: image).transform([GREY])
    with pytest.raises(TypeError, match="features must be a function"):
        RegionCovariance(features=3).fit([GREY])
    with pytest.raises(ValueError, match="give block"):
        FaceCovariance(step=3).fit([GREY])


def test_in_a_pipeline() -> None:
    """Stripes along x against stripes along y."""
    rng = np.random.default_rng(1)
    wave = np.cos(np.arange(32) / 1.5)
    images = np.stack([np.tile(wave, (32, 1)), np.tile(wave[:, None], (1, 32))])[np.arange(20) % 2]
    images = images + 0.3 * rng.standard_normal(images.shape)
    y = np.array(["along", "across"])[np.arange(20) % 2]
    model = make_pipeline(TextureCovariance(block=None), SPDSparseClassifier()).fit(
        images[:10], y[:10]
    )
    assert model.score(images[10:], y[10:]) == 1.0


@pytest.mark.parametrize("name", descriptors.__all__)
def test_docstrings_and_signatures_agree(name) -> None:
    thing = getattr(descriptors, name)
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", inspect.getdoc(thing), flags=re.S | re.M
    )
    heads = re.findall(r"^(\w[^:\n]*?) ?:.*$", section.group(1), flags=re.M)
    documented = [part.strip() for head in heads for part in head.split(",")]
    assert sorted(documented) == sorted(inspect.signature(thing).parameters)
