"""How the child process copies numbers, and which it leaves where they are."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms._utils import array_files, reading_child
from spdatoms._utils.array_files import read_apart
from spdatoms._utils.reading_child import Stored
from spdatoms._utils.untrusted_files import RefusedError


class Noted:
    """Numbers that note which rows are read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.reads: list[slice] = []

    def __getitem__(self, rows):
        self.reads.append(rows)
        return self.array[rows]


@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_copied_once_by_whole_chunks(tmp_path, monkeypatch, turned):
    monkeypatch.setattr(reading_child, "_COPIED", 1000)
    source = Noted(np.arange(17 * 24.0).reshape(17, 4, 6).astype(">f8"))
    Stored(source, chunk=3, turned=turned).write(str(tmp_path / "0"))
    starts = [rows.start for rows in source.reads]
    assert starts == [0, 3, 6, 9, 12, 15]  # 1000 bytes are five rows, and so one chunk
    found = np.load(tmp_path / "0.npy")
    np.testing.assert_array_equal(found, source.array.T if turned else source.array)
    source.reads.clear()
    monkeypatch.setattr(reading_child, "_COPIED", 1200)
    Stored(source, chunk=2).write(str(tmp_path / "1"))
    assert [rows.start for rows in source.reads] == [0, 6, 12]


def test_a_full_disk_is_said_before(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(reading_child.shutil, "disk_usage", lambda folder: usage)
    source = Noted(np.zeros((5, 10)))
    with pytest.raises(RefusedError, match=r"needs 0\.0 GB for a temporary copy.* TMPDIR"):
        Stored(source, 1).write(str(tmp_path / "0"))
    assert not source.reads


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2", "<c16", "?"])
def test_plain_hdf5_stays_where_it_is(tmp_path, monkeypatch, dtype):
    h5py = pytest.importorskip("h5py")
    monkeypatch.setattr(array_files, "_MAPPED", 0)
    X = np.arange(7 * 9).reshape(7, 3, 3).astype(dtype)
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=0) as file:
        file["plain"] = X
        file.create_dataset("packed", data=X, chunks=(2, 3, 3), compression="gzip")
        file["turned"] = X
        file["turned"].attrs["MATLAB_class"] = np.bytes_("double")
        file["empty"], file["scalar"] = X[:0], X[1, 1, 1]
        file.create_dataset("unwritten", X.shape, dtype)
    arrays = read_apart(tmp_path / "x.h5")
    in_place = [
        name for name, a in arrays.items() if getattr(a, "filename", "") == tmp_path / "x.h5"
    ]
    assert in_place == ([] if dtype == "?" else ["plain", "turned"])
    for name in ("plain", "packed"):
        np.testing.assert_array_equal(arrays[name], X)
        assert arrays[name].dtype == X.dtype
    np.testing.assert_array_equal(arrays["turned"], X.T)
    assert arrays["empty"].shape == (0, 3, 3)
    assert arrays["scalar"] == X[1, 1, 1]
    assert not arrays["unwritten"].any()


def test_a_user_block_moves_numbers(tmp_path):
    h5py = pytest.importorskip("h5py")
    X = np.arange(18.0).reshape(2, 3, 3)
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file["X"] = X
    np.testing.assert_array_equal(read_apart(tmp_path / "x.h5")["X"], X)
