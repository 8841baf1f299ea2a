"""Formats that need no extra: tables, signals, MATLAB output; and what is said of the others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
from pyriemann.geometry.covariance import covariances as reference

from _commands import run, two_classes
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.matrices import read_matrices
from spdatoms.cli.formats.samples import covariances
from spdatoms.cli.formats.writing import write_arrays


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".csv", ";"), (".tsv", "\t")])
@pytest.mark.parametrize("header", [False, True])
def test_tables_of_matrices(tmp_path, suffix, delimiter, header):
    X = two_classes(m=4)[0]
    path = tmp_path / f"X{suffix}"
    names = delimiter.join(f"c{i}" for i in range(16)) if header else ""
    np.savetxt(path, X.reshape(4, 16), delimiter=delimiter, header=names, comments="")
    np.testing.assert_array_equal(read_matrices(path).X, X)
    np.savetxt(path, X[0], delimiter=delimiter)
    np.testing.assert_array_equal(read_matrices(path).X, X[:1])


def test_tables_that_are_no_matrices(tmp_path):
    path = tmp_path / "X.csv"
    for content, words in (
        ("1,2,3\n4,5,6\n", "has 2 rows of 3 numbers"),
        ("1,2\n3\n", "rows of different lengths"),
        ("a,b\n", "has no numbers"),
        ("1,2,2,1\n1,x,2,1\n", "entries that are not numbers"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=words):
            read_matrices(path)


def test_labels_in_tables_with_tabs_and_semicolons(tmp_path):
    for name, text in (
        ("y.tsv", "id\tgroup\n1\tleft, up\n2\tright\n"),
        ("y.csv", "id;group\n1;left, up\n2;right\n"),
    ):
        (tmp_path / name).write_text(text)
        labels = read_labels(tmp_path / name, "group", 2)
        assert labels.tolist() == ["left, up", "right"]
        with pytest.raises(ValueError, match="Choose one by --label-key"):
            read_labels(tmp_path / name, None, 2)
        with pytest.raises(ValueError, match="no column is called 'age'; there are id, group"):
            read_labels(tmp_path / name, "age", 2)


@pytest.mark.parametrize("estimator", ["oas", "lwf", "scm"])
def test_covariances_of_signals(tmp_path, estimator):
    signals = 1e-6 * np.random.default_rng(0).standard_normal((5, 3, 40))
    expected = reference(signals * 1e6, estimator={"scm": "cov"}.get(estimator, estimator))
    expected = expected * 1e-12 * (39 / 40 if estimator == "scm" else 1)
    np.testing.assert_allclose(covariances(signals, estimator), expected, rtol=1e-10)
    np.save(tmp_path / "S.npy", signals)
    np.savez(tmp_path / "S.npz", signals=signals, y=np.arange(5))
    for name in ("S.npy", "S.npz"):
        said = run("inspect", tmp_path / name, code=1)
        assert "signals of 5 trials with 3 channels, give --covariance oas" in said
        assert "5 of 3×3" in run("inspect", tmp_path / name, "--covariance", estimator)
    signals[2, 0, 0] = np.nan
    np.save(tmp_path / "S.npy", signals)
    said = run("inspect", tmp_path / "S.npy", "--covariance", "oas", code=1)
    assert "the signals of trial 2 are not finite" in said


@pytest.mark.slow
def test_matlab_files_are_written(tmp_path):
    X = two_classes(m=4)[0]
    arrays = {"X": X, "names": np.array(["left", "right"]), "b": np.arange(3.0)}
    write_arrays(tmp_path / "o.mat", arrays)
    assert scipy.io.loadmat(tmp_path / "o.mat")["X"].shape == (4, 4, 4)
    np.testing.assert_array_equal(read_matrices(tmp_path / "o.mat", "X").X, X)
    assert read_labels(tmp_path / "o.mat", "names", 2).tolist() == ["left", "right"]


@pytest.mark.slow
def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    X, y = two_classes()
    zarr.save(str(tmp_path / "X.zarr"), X)
    np.testing.assert_array_equal(read_matrices(tmp_path / "X.zarr").X, X)
    zarr.save(str(tmp_path / "two.zarr"), X=X, y=(y == "left").astype(int))
    np.testing.assert_array_equal(read_matrices(tmp_path / "two.zarr").X, X)
    assert len(read_labels(tmp_path / "two.zarr", "y", 40)) == 40


@pytest.mark.parametrize(
    ("name", "extra"), [("x.nii.gz", "mri"), ("x.fif", "eeg"), ("x.parquet", "tables")]
)
def test_errors_name_the_extra(tmp_path, monkeypatch, name, extra):
    for module in ("nibabel", "mne", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    (tmp_path / name).write_bytes(b"")
    said = run("inspect", tmp_path / name, code=1)
    assert f"{name}: This needs '" in said
    assert f"pip install 'spdatoms[{extra}]'" in said


def test_options_that_do_nothing_are_refused(files):
    for option, words in (
        (("--mask", files / "m.nii"), "--mask is for tensor volumes"),
        (("--components", "fsl"), "--components is for half-vectors"),
    ):
        assert words in run("inspect", files / "X.npy", *option, code=1)
    said = run(
        "code", files / "X.npy", "--dictionary", files / "Z.npy", "--out", files / "c.nii", code=1
    )
    assert "only results of a tensor volume" in said
