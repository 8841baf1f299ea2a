"""Blocks of long arrays, and results that are gathered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import check_spd
from spdatoms.scale import budget
from spdatoms.scale.blocks import blocks, gathered, of_blocks, some_rows


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "X.npy", random_spd(7, 3))
    token = budget._BLOCK.set(2 * 72)
    yield np.load(tmp_path / "X.npy", mmap_mode="r")
    budget._BLOCK.reset(token)


def test_blocks_cover_an_array(mapped):
    found = list(blocks(mapped))
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 2), (2, 4), (4, 6), (6, 7)]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), mapped)
    ((rows, whole),) = blocks(np.asarray(mapped))
    assert rows == slice(0, 7)
    assert whole.base is not None  # not copied


def test_errors_of_blocks(mapped):
    X = np.array(mapped)
    X[5] *= -1
    mapped = np.memmap(mapped.filename, X.dtype, "w+", shape=X.shape)
    mapped[:] = X
    with pytest.raises(ValueError, match=r"^X\[5\] is not positive definite"):
        list(of_blocks(check_spd, mapped))
    with pytest.raises(ValueError, match=r"^X\[5\] is not positive definite"):
        list(of_blocks(check_spd, X))


def test_some_rows(mapped):
    for rows in (np.array([5, 0, 0]), slice(1, 6, 2)):
        np.testing.assert_array_equal(some_rows(mapped, rows), np.asarray(mapped)[rows])
        np.testing.assert_array_equal(some_rows(np.asarray(mapped), rows), mapped[rows])


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_gathered(monkeypatch, tmp_path, limit):
    monkeypatch.setattr("spdatoms.scale.blocks._IN_MEMORY", limit)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X = np.arange(42.0).reshape(7, 3, 2)
    whole = gathered((X[i : i + 2] for i in range(0, 7, 2)), 7)
    np.testing.assert_array_equal(whole, X)
    assert isinstance(whole, np.memmap) == (limit == 0)
    assert not list(Path(tmp_path).iterdir())


def test_what_fails_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr("spdatoms.scale.blocks._IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def failing():
        yield np.zeros((2, 3))
        raise KeyError

    with pytest.raises(KeyError):
        gathered(failing(), 4)
    assert not list(tmp_path.iterdir())
