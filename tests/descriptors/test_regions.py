"""Covariances of regions against NumPy: blocks, windows, rectangles, masks, volumes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _images import GREY, direct, ridge_of
from spdatoms import check_spd
from spdatoms.descriptors import region_covariances, texture_features
from spdatoms.descriptors import regions as regions_module

RNG = np.random.default_rng(1)


@pytest.fixture(params=["direct", "integral"])
def way(request, monkeypatch) -> str:
    """Force one of the two ways to compute covariances over boxes."""
    monkeypatch.setattr(regions_module, "_PASSES", {"direct": 10**9, "integral": 0}[request.param])
    return request.param


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
        by_step = region_covariances(stack, block=block, step=step, shrinkage=0.0)
        by_rectangle = region_covariances(stack, rectangles=rectangles, shrinkage=0.0)
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
    C = region_covariances(stack + 1e4, block=8, step=4, shrinkage=0.0)
    expected = direct((stack + 1e4)[:8, :8])
    np.testing.assert_allclose(C[0], expected, rtol=1e-6, atol=1e-12)


def test_volumes_of_a_video(way) -> None:
    stack = RNG.standard_normal((9, 10, 12, 3))
    C = region_covariances(stack, block=(4, 5, 6), step=(2, 5, 3), shrinkage=0.0)
    corners = [(t, r, c) for t in (0, 2, 4) for r in (0, 5) for c in (0, 3, 6)]
    assert len(C) == len(corners)
    for matrix, (t, r, c) in zip(C, corners, strict=True):
        expected = direct(stack[t : t + 4, r : r + 5, c : c + 6])
        np.testing.assert_allclose(matrix, expected, rtol=1e-11, atol=1e-13)


def test_rectangles_of_a_video(way) -> None:
    stack = RNG.standard_normal((6, 7, 8, 2))
    (C,) = region_covariances(stack, rectangles=[[1, 2, 3, 5, 6, 8]], shrinkage=0.0)
    np.testing.assert_allclose(C, direct(stack[1:5, 2:6, 3:8]), rtol=1e-11, atol=1e-13)


def test_masks() -> None:
    stack = RNG.standard_normal((12, 9, 3))
    masks = RNG.random((4, 12, 9)) < 0.4
    C = region_covariances(stack, masks=masks, shrinkage=0.0)
    for matrix, mask in zip(C, masks, strict=True):
        np.testing.assert_allclose(matrix, direct(stack[mask]), rtol=1e-12)
    np.testing.assert_array_equal(region_covariances(stack, masks=masks[1], shrinkage=0.0), C[1:2])
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
        region_covariances(stack, shrinkage=0.0)[0], direct(stack), rtol=1e-12, atol=1e-14
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
    ("options", "message"),
    [
        ({"block": 17}, r"features has 12×16 pixels, fewer than a block of 17×17"),
        ({"block": 0}, "block must be an integer ≥ 1 or a list of 2 such numbers"),
        ({"block": (4, 4, 4)}, "block must be an integer ≥ 1 or a list of 2 such numbers"),
        ({"block": 4, "step": 1.5}, "step must be an integer ≥ 1"),
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
        ({"shrinkage": -1.0}, "shrinkage must be a number ≥ 0"),
    ],
)
def test_bad_regions(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        region_covariances(np.zeros((12, 16, 2)), **options)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 0), (2, 2, 2, 2, 2)])
def test_bad_stacks(shape) -> None:
    with pytest.raises(ValueError, match=r"must have the shape \(height, width, F\)"):
        region_covariances(np.zeros(shape))
