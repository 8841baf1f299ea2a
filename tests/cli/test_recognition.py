"""Commands say what they read, and what a file probably holds that they cannot read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from _commands import invoke, run, two_classes
from spdatoms.geometry import logm, unvech, vech

LOGARITHMS = logm(two_classes()[0])


def saved(path, array):
    np.save(path, array)
    return path


def tensors(m: int = 60) -> np.ndarray:
    traces = np.random.default_rng(1).standard_normal((m, 3, 30))
    return traces @ traces.swapaxes(1, 2) / 30


def test_one_line_says_what_was_read(files):
    said = run("inspect", files / "X.npy")
    assert f"read {files / 'X.npy'}: NumPy array, (40, 4, 4) float64, mean eigenvalue" in said
    assert "full rank" in said
    signals = np.random.default_rng(0).standard_normal((20, 3, 50))
    said = run("inspect", saved(files / "s.npy", signals), "--covariance", "lwf")
    assert "covariances by lwf of signals (20, 3, 50)" in said
    singular = two_classes()[0]
    singular[:, 3] = singular[:, :, 3] = 0.0
    said = run("inspect", saved(files / "low.npy", singular), code=1)
    assert "rank 3," not in said
    assert "rank 3" in said


def test_half_vectors_are_read_in_the_order_that_is_given(tmp_path):
    X, _ = two_classes()
    rows = vech(X, order="upper")
    said = run("inspect", saved(tmp_path / "v.npy", rows), code=1)
    assert (
        "half-vectors of 4×4 matrices: give --components fsl (upper triangle: 100% positive definite)"
        in said
    )
    read = json.loads(invoke("inspect", tmp_path / "v.npy", "--components", "fsl", "--json").stdout)
    assert read["read"][0]["shape"] == [40, 4, 4]
    assert read["positive_definite"] == 40


def test_vectors_of_nilearn_are_the_matrices_that_were_vectorised(tmp_path):
    X, _ = two_classes()
    deviations = np.sqrt(np.einsum("mii->mi", X))
    C = X / deviations[:, None] / deviations[:, :, None]
    rows = vech(C, weighted=True) / np.sqrt(2)
    saved(tmp_path / "v.npy", rows)
    run("inspect", tmp_path / "v.npy", "--components", "nilearn", "--repaired", tmp_path / "C.npy")
    np.testing.assert_allclose(np.load(tmp_path / "C.npy"), C, rtol=1e-12)
    said = run("inspect", tmp_path / "v.npy", "--components", "dipy", code=1)
    assert "nilearn (lower triangle, diagonal over √2: 100% positive definite)" in said


def test_the_wrong_order_of_components_is_named(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    components = vech(tensors(), order="fsl").reshape(3, 4, 5, 6)
    path = tmp_path / "dti.nii.gz"
    nibabel.save(nibabel.Nifti1Image(components, np.eye(4)), path)
    run("inspect", path, "--components", "fsl")
    said = run("inspect", path, "--components", "dipy", code=1)
    assert "positive definite in the order of dipy" in said
    assert "fsl (xx, xy, xz, yy, yz, zz: 100% positive definite)" in said
    assert "fsl (xx, xy, xz, yy, yz, zz: 100% positive definite)" in run("inspect", path, code=1)


def test_raw_diffusion_images_are_named(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    path = tmp_path / "dwi.nii.gz"
    images = np.random.default_rng(0).uniform(1, 9, (2, 2, 2, 33))
    nibabel.save(nibabel.Nifti1Image(images, np.eye(4)), path)
    assert "fit tensors first" in run("inspect", path, code=1)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (LOGARITHMS - LOGARITHMS.mean(axis=0), "They look like tangent vectors"),
        (unvech(vech(tensors(), order="mrtrix"), order="dipy"), "read in the order of dipy"),
        (np.stack([two_classes()[0]] * 2, axis=1), "X[:, 0] for one band"),
    ],
)
def test_what_matrices_look_like(tmp_path, array, words):
    path = saved(tmp_path / "X.npy", array)
    assert words in run("inspect", path, code=1)
    assert words in run("learn", path, "--out", tmp_path / "m.spdatoms", code=1)


def test_epochs_are_not_averages(tmp_path):
    mne = pytest.importorskip("mne")
    info = mne.create_info(3, 100.0, "eeg", verbose="error")
    epochs = mne.EpochsArray(
        np.random.default_rng(0).standard_normal((4, 3, 50)), info, verbose="error"
    )
    epochs.average().save(tmp_path / "x-ave.fif", verbose="error")
    assert "holds an average of trials" in run("inspect", tmp_path / "x-ave.fif", code=1)


def test_parquet_with_nested_lists_beside_labels(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = two_classes()
    table = {"label": (y == "left").astype(int).tolist(), "cov": X.tolist()}
    path = tmp_path / "X.parquet"
    parquet.write_table(arrow.table(table), path)
    result = invoke("inspect", path, "--json")
    assert json.loads(result.stdout)["read"][0]["shape"] == [40, 4, 4]
    run("classify", "--train", path, "--train-labels", path, "--label-key", "label", "--cv", "2")
    parquet.write_table(arrow.table(table | {"other": X.tolist()}), path)
    assert "several columns of lists (cov, other)" in run("inspect", path, code=1)
    parquet.write_table(arrow.table({"label": table["label"]}), path)
    assert "more probably labels" in run("inspect", path, code=1)


def test_a_table_with_a_column_of_text(tmp_path):
    X, y = two_classes()
    rows = [
        ",".join(map(repr, x.ravel().tolist())) + f",{label}" for x, label in zip(X, y, strict=True)
    ]
    names = ",".join([*(f"x{i}" for i in range(16)), "label"])
    (tmp_path / "X.csv").write_text("\n".join([names, *rows]))
    found = json.loads(invoke("inspect", tmp_path / "X.csv", "--json").stdout)
    assert found["read"][0]["shape"] == [40, 4, 4]


@pytest.mark.parametrize("missing", ["", "NaN"])
def test_an_empty_label_is_no_class(files, missing):
    labels = ["a", "b"] * 20
    labels[7] = missing
    text = "id,label\n" + "\n".join(f"{i},{label}" for i, label in enumerate(labels))
    (files / "holes.csv").write_text(text)
    options = ("--train-labels", files / "holes.csv", "--label-key", "label", "--cv", "2")
    said = run("classify", "--train", files / "X.npy", *options, code=1)
    assert "the label of matrix 7 is empty" in said


def test_the_line_on_what_was_read_says_how_many_were_looked_at(tmp_path):
    X = np.repeat(np.eye(3)[None], 60, axis=0)
    np.save(tmp_path / "few.npy", X[:20])
    assert "looked at" not in run("inspect", tmp_path / "few.npy")
    np.save(tmp_path / "many.npy", X)
    assert "full rank (of 30 that were looked at)" in run("inspect", tmp_path / "many.npy")
    X[4, 0, 0] = np.nan
    np.save(tmp_path / "bad.npy", X[:20])
    assert "full rank (of 19 that were looked at)" in run("inspect", tmp_path / "bad.npy", code=1)
