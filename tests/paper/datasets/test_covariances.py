"""Files of ready covariances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import all_or_nothing, truncate
from spdatoms.paper.datasets import load_covariances


def matrices(count: int = 6) -> np.ndarray:
    G = np.random.default_rng(0).standard_normal((count, 3, 9))
    return G @ G.swapaxes(1, 2)


def save(folder: Path, name: str = "trials.npz", **arrays: object) -> Path:
    kept = {"X": matrices(), "y": np.array([10, 2, 2, 10, 2, 10]), "g": np.array(list("aabbcc"))}
    np.savez(folder / name, **{k: v for k, v in (kept | arrays).items() if v is not None})
    return folder / name


def test_labels_and_groups(tmp_path):
    save(tmp_path)
    save(tmp_path, "others.npz", g=None)
    found = load_covariances(tmp_path)
    assert list(found) == ["others", "trials"]
    trials = found["trials"]
    np.testing.assert_array_equal(trials.data, matrices())
    # Classes have the order of the labels, which is not that of their names.
    assert trials.target_names == ("2", "10")
    assert trials.labels.tolist() == ["10", "2", "2", "10", "2", "10"]
    assert trials.groups.tolist() == list("aabbcc")
    assert trials.names[1] == "trials.npz[1]"
    assert found["others"].groups.tolist() == [0] * 6


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": None}, "has no array 'X'"),
        ({"y": None}, "has no array 'y'"),
        ({"X": matrices()[:, :2]}, "shape"),
        ({"X": -matrices()}, "not positive definite"),
        ({"y": np.arange(5)}, r"y has the shape \(5,\) for 6 matrices"),
        ({"g": np.zeros((6, 2))}, r"g has the shape \(6, 2\) for 6 matrices"),
    ],
)
def test_wrong_files_are_named(tmp_path, arrays, words):
    save(tmp_path)
    save(tmp_path, "wrong.npz", **arrays)
    found = all_or_nothing(load_covariances, tmp_path, "wrong.npz", words)
    assert list(found) == ["trials"]


def test_damaged_file(tmp_path):
    save(tmp_path)
    truncate(save(tmp_path, "torn.npz"))
    all_or_nothing(load_covariances, tmp_path, "torn.npz", "not an .npz file")
