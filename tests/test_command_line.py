"""`benchmarks/command_line.py`: files that are there are whole, and those that are missing are written."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="needs the folder benchmarks")


@pytest.fixture(name="script")
def _script(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import command_line

    # Python warns of the fork of a process that has threads.
    monkeypatch.setattr(command_line, "multiprocessing", multiprocessing.get_context("spawn"))
    return command_line


@pytest.mark.slow
def test_files_that_are_missing_are_written(script, tmp_path):
    zarr = pytest.importorskip("zarr")
    script.write_missing(tmp_path, 5, [])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["X.npy", "y.npy"]
    X = np.load(tmp_path / "X.npy")
    assert len(X) == len(np.load(tmp_path / "y.npy")) == 5
    script.write_missing(tmp_path, 7, ["npy", "zarr"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["X.npy", "X.zarr", "y.npy"]
    np.testing.assert_array_equal(zarr.open(tmp_path / "X.zarr")[:], X)


@pytest.mark.slow
def test_nothing_is_left_of_files_that_could_not_be_written(script, tmp_path):
    with pytest.raises(RuntimeError, match="Writing the files failed with the status 1"):
        script.write_missing(tmp_path, -1, ["npy"])
    assert not any(tmp_path.iterdir())
