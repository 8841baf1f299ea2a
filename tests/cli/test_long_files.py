"""Files that are longer than the budget are read in parts, and results are the same to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from _commands import bad_matrices, run, two_classes
from spdatoms.scale import budget

#: Two matrices 4×4 in double precision.
BYTES = 256


@pytest.fixture
def reads(monkeypatch) -> list[int]:
    """Let two matrices be the budget, and results lie in files; return how many bytes of maps were read at a time."""
    found: list[int] = []
    whole = np.memmap.__getitem__

    def noted(self, index):
        part = whole(self, index)
        if isinstance(part, np.ndarray):
            found.append(part.nbytes)
        return part

    def shorten() -> list[int]:
        monkeypatch.setattr("spdatoms.scale.blocks._IN_MEMORY", 0)
        monkeypatch.setattr("spdatoms._utils.array_files._MAPPED", 0)
        monkeypatch.setattr(np.memmap, "__getitem__", noted)
        return found

    token = budget._BLOCK.set(None)
    yield lambda: (shorten(), budget._BLOCK.set(BYTES))[0]
    budget._BLOCK.reset(token)


@pytest.fixture
def stored(tmp_path):
    """Write 40 matrices to files of all formats, with unfit ones in those called "bad"."""
    h5py, zarr, pa = (pytest.importorskip(name) for name in ("h5py", "zarr", "pyarrow"))
    import pyarrow.parquet as pq

    X, y = two_classes()
    for name, matrices in (("X", X), ("bad", bad_matrices())):
        np.save(tmp_path / f"{name}.npy", matrices)
        zarr.create_array(
            str(tmp_path / f"{name}.zarr"), shape=X.shape, chunks=(3, 4, 4), dtype="f8"
        )[...] = matrices
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file.create_dataset("X", data=matrices, chunks=(3, 4, 4), compression="gzip")
        with h5py.File(tmp_path / f"{name}_plain.h5", "w") as file:
            file.create_dataset("X", data=matrices)
        rows = pa.array(matrices.reshape(40, 16).tolist())
        pq.write_table(pa.table({"X": rows}), tmp_path / f"{name}.parquet", row_group_size=3)
    (tmp_path / "y.csv").write_text("\n".join(y))
    return tmp_path


FORMATS = [".npy", ".zarr", ".h5", "_plain.h5", ".parquet"]


def same_files(folder, commands, reads):
    """Run commands with the whole in memory, and then in parts; return what they wrote."""
    written = []
    for part in ("whole", "parts"):
        if part == "parts":
            found = reads()
        (folder / part).mkdir()
        # Where lines break depends on how long the paths are.
        said = ["".join(run(*command(folder / part)).split()) for command in commands]
        written.append([text.replace(f"/{part}/", "/") for text in said])
    assert written[0] == written[1]
    assert 40 * 128 not in found
    assert found
    return folder / "whole", folder / "parts"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_read_in_parts(stored, suffix, reads):
    commands = [lambda to: ("inspect", stored / f"bad{suffix}", "--repaired", to / "good.npy")]
    whole, parts = same_files(stored, commands, reads)
    np.testing.assert_array_equal(np.load(parts / "good.npy"), np.load(whole / "good.npy"))


@pytest.mark.slow
def test_commands_read_parts(stored, reads):
    X = stored / "X.npy"
    train = ("--train", X, "--train-labels", stored / "y.csv")
    few = ("--atoms", 4, "--iterations", 2, "--init", "random")
    commands = [
        lambda to: ("learn", X, *few, "--out", to / "model.spdatoms"),
        lambda to: ("code", X, "--model", to / "model.spdatoms", "--out", to / "codes.npz"),
        lambda to: ("classify", *train, "--test", X, "--out", to / "predicted.npz"),
        lambda to: ("classify", *train, "--cv", 4, "--out", to / "held_out.csv"),
    ]
    whole, parts = same_files(stored, commands, reads)
    for name in ("codes.npz", "predicted.npz"):
        for key, array in np.load(whole / name).items():
            np.testing.assert_array_equal(np.load(parts / name)[key], array)
    assert (parts / "held_out.csv").read_text() == (whole / "held_out.csv").read_text()


@pytest.mark.slow
def test_singular_matrices_in_parts(tmp_path, reads):
    X, _ = two_classes()
    B = np.eye(4) - 0.25
    np.save(tmp_path / "X.npy", B @ X @ B)
    few = ("--atoms", 4, "--iterations", 2, "--init", "random")
    commands = [
        lambda to: ("learn", tmp_path / "X.npy", *few, "--out", to / "m.spdatoms"),
        lambda to: (
            *("code", tmp_path / "X.npy", "--model", to / "m.spdatoms", "--out", to / "c.npy"),
            *("--usage", to / "u.npy"),
        ),
    ]
    whole, parts = same_files(tmp_path, commands, reads)
    for name in ("c.npy", "u.npy"):
        np.testing.assert_array_equal(np.load(parts / name), np.load(whole / name))


def test_errors_have_the_index_in_the_file(tmp_path, reads):
    X = bad_matrices()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "D.npy", X[20:])
    out = ("--out", tmp_path / "c.npy")
    reads()
    said = run("code", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", *out, code=1)
    assert "error: X.npy[3] is not positive definite" in said
    X[3] = np.eye(4)
    X[5, 1] = X[5, :, 1] = np.nan
    X[9] = X[11] = np.eye(4)
    np.save(tmp_path / "X.npy", X)
    said = run("code", tmp_path / "X.npy", "--dictionary", tmp_path / "D.npy", *out)
    assert "note: 1 of 40 matrices lack channels" in said
