"""Data sets: samples that are read when used, subsets, labels."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.datasets import Dataset, Samples, load_textures

pytest.importorskip("PIL.Image", reason="needs the extra vision")


def test_samples_are_indexed_like_an_array():
    reads = []

    def read(length: int) -> np.ndarray:
        reads.append(length)
        return np.arange(length)

    samples = Samples([1, 2, 3, 4], read)
    assert len(samples) == 4
    assert not reads
    assert samples[-1].tolist() == [0, 1, 2, 3]
    assert [len(a) for a in samples[1:3]] == [2, 3]
    assert [len(a) for a in samples[np.array([3, 0])]] == [4, 1]
    assert [len(a) for a in samples[np.array([True, False, False, True])]] == [1, 4]
    assert reads[0] == 4
    assert "read when used" in repr(samples)
    with pytest.raises(IndexError):
        samples[4]


def test_subset_and_labels():
    data = load_textures(per_class=4)
    part = data.subset(data.labels == "grass")
    assert len(part) == 4
    assert set(part.labels) == {"grass"}
    np.testing.assert_array_equal(
        part.data, data.data[data.target == data.target_names.index("grass")]
    )
    assert all(name.startswith("grass") for name in part.names)
    assert "4 samples, (4, 32, 32) uint8, 6 classes" in repr(part)
    assert data.subset(3).names == data.subset([3]).names == (data.names[3],)
    np.testing.assert_array_equal(data.subset(-1).data, data.data[-1:])
    for nothing in ([], (), np.zeros(len(data), bool)):
        assert len(data.subset(nothing)) == 0
        assert data.subset(nothing).data.shape == (0, 32, 32)


def test_parts_must_have_one_length():
    with pytest.raises(ValueError, match="groups has 1 entries for 2 samples"):
        Dataset(np.zeros((2, 1)), np.zeros(2, int), ("a",), np.zeros(1), ("x", "y"), "")
