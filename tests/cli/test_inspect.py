"""The command that inspects matrices, and repairs them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from _commands import bad_matrices, run, two_classes
from spdatoms import DivergenceKernel, check_spd
from spdatoms.exceptions import IndefiniteKernelWarning


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.npy", b"", "x.npy"),
        ("x.npy", b"\x93NUMPY\x01\x00 broken", "x.npy"),
        ("x.npz", b"PK broken", "not an .npz file"),
        ("x.mat", b"broken", "not a MATLAB or HDF5 file"),
        ("x.tif", b"", "has the ending '.tif'; these are read: .npy, .npz, .mat"),
        ("x.csv", b"1,2", "has 1 rows of 2 numbers"),
    ],
)
def test_damaged_files(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in run("inspect", tmp_path / name, code=1)


def test_inspect_good_matrices(files):
    said = run("inspect", files / "X.npy")
    assert "40 of 4×4, float64" in said
    assert "40 (all)" in said
    assert "4 (full)" in said
    for metric in ("stein", "jeffrey"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            kernel = DivergenceKernel(metric).fit(two_classes()[0])
        assert f"{metric} {kernel.beta_:.4g}" in said
        assert f"{kernel.min_eigenvalue_ / kernel.max_eigenvalue_:.2g}" in said
        assert not kernel.corrected_ or "indefinite" in said


def test_inspect_names_all_bad_matrices_and_repairs_them(tmp_path):
    X = bad_matrices()
    np.save(tmp_path / "X.npy", X)
    said = run("inspect", tmp_path / "X.npy", code=1)
    assert "37, 3 are not" in said
    assert "3 is not positive definite" in said
    assert "9 is singular to working precision" in said
    assert "11 is not symmetric" in said
    assert "1 to 4" in said  # ranks
    run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy")
    repaired = check_spd(np.load(tmp_path / "R.npy"))
    untouched = np.setdiff1d(np.arange(40), [3, 9, 11])
    np.testing.assert_array_equal(repaired[untouched], X[untouched])
    np.testing.assert_array_equal(repaired[11], (X[11] + X[11].T) / 2)


def test_inspect_not_finite(tmp_path):
    X = two_classes()[0]
    X[7, 0, 0] = np.nan
    np.save(tmp_path / "X.npy", X)
    assert "7 is not finite: its entry (0, 0) is NaN" in run("inspect", tmp_path / "X.npy", code=1)
    said = run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy", code=1)
    assert "error: X.npy[7] is not finite" in said
    assert "cannot be repaired: --drop-bad leaves it out" in said
    assert not (tmp_path / "R.npy").exists()


def test_inspect_zero_matrix(tmp_path):
    X = two_classes()[0]
    X[5] = 0.0
    np.save(tmp_path / "X.npy", X)
    said = run("inspect", tmp_path / "X.npy", code=1)
    assert "39, 1 is not" in said
    assert "1 is zero leave it out" in said.replace("\n", " ")
    assert "project" not in said
    said = run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy", code=1)
    assert "error: X.npy[5] is zero; it cannot be repaired" in said


def test_what_cannot_be_repaired_is_dropped(tmp_path):
    X = bad_matrices()
    X[7, 0, 0], X[5] = np.nan, 0.0
    np.save(tmp_path / "X.npy", X)
    said = run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npz", "--drop-bad")
    assert "Left out: 2 (index 5, 7). Leave their labels out, too." in said
    with np.load(tmp_path / "R.npz") as arrays:
        kept, repaired = arrays["kept"], check_spd(arrays["matrices"])
    assert kept.tolist() == [i for i in range(40) if i not in (5, 7)]
    fit = np.isin(kept, [3, 9, 11], invert=True)
    np.testing.assert_array_equal(repaired[fit], X[kept][fit])
    assert "--drop-bad needs --repaired" in run("inspect", tmp_path / "X.npy", "--drop-bad", code=2)


def test_long_lists_say_how_many_more(tmp_path):
    np.save(tmp_path / "X.npy", -two_classes()[0])
    assert "… and 30 more" in run("inspect", tmp_path / "X.npy", code=1)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((0, 3, 3)), "holds no matrix"),
        (np.zeros((3, 0, 0)), "holds no matrix"),
        (np.zeros((2, 3, 3), complex), "is zero"),
        (np.zeros((2, 3)), "give --components"),
        (np.full((1, 3, 3), np.inf), "0, 1 is not"),
    ],
)
def test_inspect_odd_arrays(tmp_path, array, words):
    np.save(tmp_path / "X.npy", array)
    assert words in run("inspect", tmp_path / "X.npy", code=1)


@pytest.mark.parametrize(
    ("place", "value", "repair"),
    [
        ((7, 0, 0), np.nan, ("--repaired", "r.npy", "--drop-bad")),
        (7, np.nan, ("--repaired", "r.npy", "--drop-bad")),
        (7, 0.0, ("--repaired", "r.npy", "--drop-bad")),
        (7, -1.0, ("--repaired", "r.npy")),
    ],
)
def test_errors_quote_an_inspection_that_works(files, monkeypatch, place, value, repair):
    monkeypatch.chdir(files)
    X = two_classes()[0]
    X[place] *= value
    np.savez("some.npz", X=X, Z=X)
    said = run("learn", "some.npz", "--key", "X", "--out", "m.spdatoms", code=1)
    inspect = "inspect some.npz --key X"
    assert f"'spdatoms {inspect}' lists all such matrices, and --repaired " in said
    assert ("with --drop-bad" in said) == ("--drop-bad" in repair)
    run(*inspect.split(), *repair)
