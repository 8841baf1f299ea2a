"""ETHZ: people in three sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import all_or_nothing, noise, save_image, truncate
from spdatoms.paper.datasets import DatasetWarning, load_ethz


def pedestrians(folder: Path) -> Path:
    for seq, people in (("seq1", 3), ("seq2", 2), ("seq3", 2)):
        for person in range(1, people + 1):
            for i in range(4):
                shape = (130 + i, 60, 3)
                save_image(
                    folder / seq / f"p{person:03d}" / f"{i:05d}.png", noise(*shape, seed=person)
                )
    return folder


def test_ethz(tmp_path):
    pedestrians(tmp_path)
    with pytest.raises(ValueError, match="people in seq1: 83 were expected, 3 are there"):
        load_ethz(tmp_path)
    data = load_ethz(tmp_path, on_error="ignore")
    assert len(data) == 28
    assert data.target_names[3] == "seq2/p001"
    assert {image.shape for image in data.data} == {(64, 32, 3)}
    third = load_ethz(tmp_path, sequence=3, size=None, on_error="ignore")
    assert set(third.groups) == {"seq3"}
    np.testing.assert_array_equal(third.data[1], noise(131, 60, 3, seed=1))
    with pytest.raises(ValueError, match="sequence must be None or an integer from 1 to 3"):
        load_ethz(tmp_path, sequence=4)


def test_ethz_damaged(tmp_path):
    pedestrians(tmp_path)
    truncate(tmp_path / "seq2" / "p001" / "00002.png")
    (tmp_path / "seq2" / "p003").mkdir()
    data = all_or_nothing(load_ethz, tmp_path, "seq2/p001/00002.png", "cannot be read", sequence=2)
    assert len(data) == 7
    with pytest.warns(DatasetWarning, match="seq2/p003: is a folder without images"):
        load_ethz(tmp_path, sequence=2, on_error="warn")
