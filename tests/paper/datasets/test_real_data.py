"""The loaders on the real data, where SPDATOMS_DATA has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from spdatoms import check_spd
from spdatoms.paper.datasets import (
    load_brodatz,
    load_brodatz_mosaics,
    load_covariances,
    load_feret,
    load_hdm05,
    load_randen,
)

pytest.importorskip("PIL.Image", reason="needs the extra vision")


@pytest.fixture
def real():
    folder = os.environ.get("SPDATOMS_DATA")
    if not folder:
        pytest.skip("SPDATOMS_DATA does not say where the real data are")

    def find(name: str) -> Path:
        path = Path(folder) / name
        if not path.is_dir():
            pytest.skip(f"SPDATOMS_DATA has no folder {name}")
        return path

    return find


def test_real_brodatz(real):
    data = load_brodatz(real("brodatz"))
    assert len(data) == 111
    assert load_brodatz_mosaics(real("brodatz"))["16c"].data.shape == (16, 256, 256)


def test_real_randen(real):
    patches = load_randen(real("randen"))
    images = load_randen(real("randen"), kind="images")["5c"]
    assert {name: len(d.target_names) for name, d in patches.items()} == {
        "5c": 5,
        "5v": 5,
        "5v2": 5,
        "5v3": 5,
        "5m": 5,
        "16c": 16,
    }
    # The patches are the left halves of the 49 blocks of the images.
    halves = images.data.reshape(5, 7, 32, 7, 32)[..., :16].transpose(0, 1, 3, 2, 4)
    np.testing.assert_array_equal(patches["5c"].data, halves.reshape(-1, 32, 16))


def test_real_feret(real):
    faces = load_feret(real("feret_b"))
    check_spd(faces.data)
    assert faces.data.shape == (1400, 43, 43)
    images = load_feret(real("feret_b"), kind="images")
    assert images.data.shape == (1400, 40, 40)


def test_real_hdm05(real):
    data = load_hdm05(real("hdm05"))
    assert len(data) == 287
    assert len(set(data.groups)) == 5
    assert set(load_hdm05(real("hdm05"), actions="paper").target_names) == set(data.target_names)


def test_real_covariances(real):
    found = load_covariances(real("covariances"))
    assert found["japanese_vowels"].data.shape == (640, 12, 12)
    assert len(set(found["ssvep"].groups)) == 12
