"""The transformers from images, videos and skeletons to covariances."""

from __future__ import annotations

import inspect
import re
from functools import partial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import spdatoms.descriptors as descriptors
from _images import COLOUR, GREY, SEQUENCE, VIDEO, direct, ridge_of
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
    kinematic_features,
    material_features,
    person_features,
    region_covariances,
    texture_features,
)

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
    with pytest.raises(ValueError, match="shrinkage must be"):
        clone(transformer).set_params(shrinkage=np.nan).fit([item])
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
        FaceCovariance(sigma=2.0): (GREY, partial(face_features, sigma=2.0)),
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
    (C,) = JointCovariance(shrinkage=0.0).transform([SEQUENCE])
    ordered = np.hstack([SEQUENCE[..., 0], SEQUENCE[..., 1], SEQUENCE[..., 2]])
    np.testing.assert_allclose(C, np.cov(ordered, rowvar=False), rtol=1e-12)


def test_regions_of_every_item_and_all_in_one_stack() -> None:
    images = [GREY, GREY[:32, :32]]
    transformer = TextureCovariance(block=16, step=8)
    stacks = transformer.transform_regions(images)
    np.testing.assert_array_equal(transformer.transform(images), np.concatenate(stacks))
    assert [s.shape for s in stacks] == [(4 * 5, 5, 5), (3 * 3, 5, 5)]
    np.testing.assert_allclose(
        stacks[1], region_covariances(texture_features(images[1]), block=16, step=8), rtol=1e-12
    )
    volumes = KinematicCovariance(block=(2, 16, 16), step=(1, 8, 16)).transform_regions(
        [VIDEO, VIDEO[:3]]
    )
    assert [v.shape for v in volumes] == [(3 * 2 * 2, 12, 12), (1 * 2 * 2, 12, 12)]


@pytest.mark.parametrize("block", [None, 16])
def test_one_kind_of_array_whatever_the_block_is(block) -> None:
    for transformer in (TextureCovariance(block), FaceCovariance(block)):
        matrices = transformer.transform([GREY, GREY])
        assert isinstance(matrices, np.ndarray)
        assert matrices.ndim == 3
        assert [len(one) for one in transformer.transform_regions([GREY, GREY])] == [
            len(matrices) // 2
        ] * 2


def test_images_may_be_paths_of_files(tmp_path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(pixels).save(path)
    grey = np.asarray(Image.fromarray(pixels).convert("L"))
    np.testing.assert_array_equal(
        TextureCovariance(None).transform([path, str(path)]),
        TextureCovariance(None).transform([grey, grey]),
    )
    np.testing.assert_array_equal(
        PersonCovariance().transform([path]), PersonCovariance().transform([pixels])
    )
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(ValueError, match=r"X\[1\], the file .*notes.txt, is not an image"):
        TextureCovariance(None).transform([path, tmp_path / "notes.txt"])
    with pytest.raises(ValueError, match=r"X\[0\], the file .*cannot be read"):
        TextureCovariance(None).transform([tmp_path / "absent.png"])
    with pytest.raises(TypeError, match=r"for a single file use \[X\]"):
        TextureCovariance().transform(path)


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
    assert len(KinematicCovariance().transform([film])) == 1
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
    with pytest.raises(ValueError, match="features must be None or a function"):
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


def _turned(sequence: np.ndarray, angle: float, vertical: int) -> np.ndarray:
    axis = np.eye(3)[vertical]
    return sequence @ Rotation.from_rotvec(angle * axis).as_matrix().T


@pytest.mark.parametrize("vertical", [0, 1, 2])
def test_heading_makes_joint_covariance_invariant_to_turns(vertical) -> None:
    turned = [_turned(SEQUENCE, angle, vertical) for angle in (0.0, 0.3, np.pi / 2, np.pi, -2.0)]
    C = JointCovariance(shrinkage=0.0, heading=(0, 2), vertical=vertical).transform(turned)
    np.testing.assert_allclose(C, C[[0] * 5], rtol=1e-10, atol=1e-12 * np.abs(C).max())
    # It is the covariance of one of these turns, and without a heading they all differ.
    angles = np.linspace(0.0, 2 * np.pi, 721)
    every = [_turned(SEQUENCE, angle, vertical) for angle in angles]
    plain = JointCovariance(shrinkage=0.0).transform(every)
    errors = np.abs(plain - C[0]).max(axis=(1, 2)) / np.abs(C).max()
    assert errors.min() < 0.02 < 0.1 < errors.max()
    # The mean of right − left points along the axis after the vertical one.
    across = (every[errors.argmin()][:, 2] - every[errors.argmin()][:, 0]).mean(axis=0)
    assert across[(vertical + 1) % 3] > 0
    assert abs(across[(vertical + 2) % 3]) < 0.02 * across[(vertical + 1) % 3]


def test_headings_that_cannot_be() -> None:
    for wrong in ((1, 1), (1,), 3, (0, -1), (0.5, 1)):
        with pytest.raises(ValueError, match="heading must be None or the indices of two joints"):
            JointCovariance(heading=wrong).fit([SEQUENCE])
    with pytest.raises(ValueError, match="vertical must be an integer from 0 to 2"):
        JointCovariance(vertical=3).fit([SEQUENCE])
    with pytest.raises(ValueError, match=r"X\[0\] has 4 joints, but heading is \(1, 6\)"):
        JointCovariance(heading=(1, 6)).transform([SEQUENCE])
    upright = SEQUENCE.copy()
    upright[:, 1] = upright[:, 0] + [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match=r"The joints 0 and 1 of X\[1\] lie above each other"):
        JointCovariance(heading=(0, 1)).transform([SEQUENCE, upright])
