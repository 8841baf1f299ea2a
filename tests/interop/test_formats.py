"""Files of other libraries on the command line: epochs of MNE, NIfTI, HDF5, Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _commands import run, two_classes
from _matrices import random_spd
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.matrices import read_matrices

#: Row and column of the six components, as the documentations of the programs list them.
ORDERS = {
    "fsl": "xx xy xz yy yz zz",
    "mrtrix": "xx yy zz xy xz yz",
    "dipy": "xx xy yy xz yz zz",
}


@pytest.fixture
def epochs(tmp_path):
    mne = pytest.importorskip("mne")
    signals = 1e-6 * np.random.default_rng(0).standard_normal((40, 5, 100))
    signals[20:, :2] *= 3.0
    info = mne.create_info(["C1", "C2", "C3", "C4", "STI"], 100.0, ["eeg"] * 4 + ["stim"])
    events = np.stack([np.arange(40), np.zeros(40), np.repeat([1, 2], 20)], axis=1).astype(int)
    all_epochs = mne.EpochsArray(
        signals, info, events, event_id={"left": 1, "right": 2}, verbose="error"
    )
    path = tmp_path / "subject-epo.fif"
    all_epochs.save(path, fmt="double", verbose="error")
    return path, signals[:, :4]


@pytest.mark.slow
def test_epochs_have_covariances_and_labels(epochs):
    path, signals = epochs
    oas = pytest.importorskip("sklearn.covariance").oas
    expected = [oas(1e6 * trial.T)[0] * 1e-12 for trial in signals]
    np.testing.assert_allclose(read_matrices(path).X, expected, rtol=1e-9)
    assert read_labels(path, None, 40).tolist() == ["left"] * 20 + ["right"] * 20
    said = run("classify", "--train", path, "--cv", 5)
    assert "oas of signals (40, 4, 100), 4 of 5 channels, mean" in said
    assert "accuracy 100.00% ± 0.00% (deviation of 5 folds)" in said
    path.write_bytes(path.read_bytes()[:400])
    assert f"{path}: is not a file of MNE epochs" in run("inspect", path, code=1)


def test_epochs_without_channels_of_data(tmp_path):
    mne = pytest.importorskip("mne")
    info = mne.create_info(["E1", "E2", "C1"], 100.0, ["eog", "eog", "eeg"])
    info["bads"] = ["C1"]
    path = tmp_path / "eyes-epo.fif"
    mne.EpochsArray(np.ones((2, 3, 50)), info, verbose="error").save(path, verbose="error")
    said = run("inspect", path, code=1)
    assert "has no good channel of data, such as EEG or MEG" in said
    assert "of the type eog, eeg, and 1 of 3 are marked as bad." in said


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_tensor_volumes(tmp_path, order):
    nibabel = pytest.importorskip("nibabel")
    tensors = 1e-3 * random_spd(24, 3).reshape(2, 3, 4, 3, 3)
    places = ["xyz".index(letter) for letter in ORDERS[order].replace(" ", "")]
    data = tensors[..., places[::2], places[1::2]]
    data[0, 0, 0] = 0.0
    affine = np.diag([2.0, 2.0, 3.0, 1.0])
    nibabel.save(nibabel.Nifti1Image(data, affine), tmp_path / "dti.nii.gz")
    inside = np.zeros((2, 3, 4), dtype=np.uint8)
    inside[1] = 1
    nibabel.save(nibabel.Nifti1Image(inside, affine), tmp_path / "mask.nii.gz")
    read = read_matrices(tmp_path / "dti.nii.gz", components=order)
    np.testing.assert_allclose(read.X, tensors.reshape(24, 3, 3)[1:])
    volume = (tmp_path / "dti.nii.gz", "--mask", tmp_path / "mask.nii.gz", "--components", order)
    assert "12 of 3×3" in run("inspect", *volume)
    model, maps = tmp_path / "m.spdatoms", tmp_path / "codes.nii.gz"
    run("learn", *volume, "--atoms", 2, "--iterations", 1, "--out", model)
    usage = tmp_path / "usage.nii.gz"
    run("code", *volume, "--model", model, "--out", maps, "--usage", usage)
    run("code", *volume, "--model", model, "--out", tmp_path / "codes.npy")
    image = nibabel.load(maps)
    np.testing.assert_array_equal(image.affine, affine)
    codes = np.asarray(image.dataobj)
    assert codes.shape == (2, 3, 4, 2)
    assert not codes[0].any()
    flat = np.load(tmp_path / "codes.npy")
    np.testing.assert_allclose(codes[1].reshape(12, 2), flat, rtol=1e-6, atol=1e-7)
    largest, share, count = np.asarray(nibabel.load(usage).dataobj)[1].reshape(12, 3).T
    np.testing.assert_array_equal(largest, np.abs(flat).argmax(axis=1) + 1)
    weights = np.abs(flat) / np.abs(flat).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share, weights.max(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(count, np.count_nonzero(flat, axis=1))
    assert "give --components fsl" in run("inspect", tmp_path / "dti.nii.gz", code=1)


@pytest.fixture
def regions(tmp_path, monkeypatch):
    """Tensors that are long along x on one side and round on the other, and a map of these two regions."""
    nibabel = pytest.importorskip("nibabel")
    monkeypatch.chdir(tmp_path)
    tensors = random_spd(64, 3, condition=2.0).reshape(4, 4, 4, 3, 3)
    tensors[:2, ..., 0, 0] += 9.0
    labels = np.full((4, 4, 4), 3, dtype=np.int16)
    labels[2:] = 7
    labels[:, 0] = 0
    rows, columns = np.triu_indices(3)
    for name, data in (("dti", tensors[..., rows, columns]), ("regions", labels)):
        nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), f"{name}.nii.gz")
    return labels


@pytest.mark.slow
def test_volumes_are_classified(regions):
    nibabel = pytest.importorskip("nibabel")
    volumes = ["--train", "dti.nii.gz", "--train-labels", "regions.nii.gz", "--components", "fsl"]
    shown = run("classify", *volumes, "--cv", 3, "--out", "held_out.nii.gz")
    assert "100.00%" in shown
    held_out = np.asarray(nibabel.load("held_out.nii.gz").dataobj)
    np.testing.assert_array_equal(held_out, regions)
    run("classify", *volumes, "--test", "dti.nii.gz", "--out", "all.nii.gz")
    predicted = np.asarray(nibabel.load("all.nii.gz").dataobj)
    np.testing.assert_array_equal(predicted, np.where(np.indices(regions.shape)[0] < 2, 3, 7))
    test = (
        "--test",
        "dti.nii.gz",
        "--test-mask",
        "regions.nii.gz",
        "--test-labels",
        "regions.nii.gz",
    )
    assert "48 100.00%" in " ".join(run("classify", *volumes, *test).split())


def test_a_bad_mask_is_blamed_itself(regions):
    Path("bad.nii").write_bytes(b"no map")
    np.save("mask.npy", regions)
    for mask, words in (
        ("no.nii.gz", "there is no such file."),
        ("bad.nii", "is not a NIfTI map, or a damaged one."),
        ("mask.npy", "is not a NIfTI map, or a damaged one."),
    ):
        given = ("dti.nii.gz", "--components", "fsl", "--mask", mask)
        assert run("inspect", *given, code=1) == f"error: {mask}: {words}"


def test_maps_of_labels_that_do_not_fit(regions, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    volumes = ("--train", "dti.nii.gz", "--components", "fsl", "--cv", 3)
    mask = ("--mask", "regions.nii.gz", "--train-labels", "bad.nii.gz")
    nibabel.save(nibabel.Nifti1Image(regions[1:], np.eye(4)), "bad.nii.gz")
    assert "a map has one label per voxel" in run("classify", *volumes, *mask, code=1)
    nibabel.save(nibabel.Nifti1Image(regions / 2, np.eye(4)), "bad.nii.gz")
    assert "has whole numbers" in run("classify", *volumes, *mask, code=1)
    np.save("X.npy", random_spd(6, 3))
    labels = ("--train-labels", "regions.nii.gz", "--cv", 3, "--train", "X.npy")
    assert "--mask is for tensor volumes" in run("classify", *labels, code=1)


def test_volumes_of_bad_tensors_are_repaired_in_place(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    tensors = random_spd(8, 3).reshape(2, 2, 2, 3, 3)
    tensors[0, 0, 0, 0, 0], tensors[1, 1, 1] = np.nan, -tensors[1, 1, 1]
    nibabel.save(nibabel.Nifti1Image(tensors, np.eye(4)), tmp_path / "t.nii")
    said = run("inspect", tmp_path / "t.nii", "--repaired", tmp_path / "r.nii", "--drop-bad")
    assert "0, voxel (0, 0, 0) is not finite" in said
    assert "7, voxel (1, 1, 1) is not positive definite" in said
    repaired = np.asarray(nibabel.load(tmp_path / "r.nii").dataobj)
    assert not repaired[0, 0, 0].any()
    np.testing.assert_allclose(repaired[0, 1], tensors[0, 1], rtol=1e-6)
    assert (np.linalg.eigvalsh(repaired[1, 1, 1]) > 0).all()


@pytest.mark.slow
def test_hdf5_and_matlab_7_3(tmp_path):
    h5py = pytest.importorskip("h5py")
    X, y = two_classes()
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["group/X"], file["y"] = X, y.astype("S")
    np.testing.assert_array_equal(read_matrices(tmp_path / "d.h5").X, X)
    with h5py.File(tmp_path / "v73.mat", "w", userblock_size=512) as file:
        # As MATLAB writes it: axes reversed, names as characters behind references.
        file["covs"] = np.asfortranarray(X.transpose(1, 2, 0)).T
        file["covs"].attrs["MATLAB_class"] = np.bytes_("double")
        names = [
            file.create_dataset(f"#refs#/{i}", data=[[ord(c)] for c in n]) for i, n in enumerate(y)
        ]
        for name in names:
            name.attrs["MATLAB_class"] = np.bytes_("char")
        cell = file.create_dataset("names", (1, 40), dtype=h5py.ref_dtype)
        cell[0] = [name.ref for name in names]
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
    path = tmp_path / "v73.mat"
    np.testing.assert_array_equal(read_matrices(path).X, X)
    assert read_labels(path, "names", 40).tolist() == y.tolist()
    path.write_bytes(path.read_bytes()[:700])
    assert "is not a MATLAB or HDF5 file" in run("inspect", path, code=1)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = two_classes()
    rows = X.reshape(40, 16)
    for table in ({"cov": list(rows)}, {f"c{i}": column for i, column in enumerate(rows.T)}):
        parquet.write_table(pyarrow.table(table), tmp_path / "X.parquet")
        np.testing.assert_array_equal(read_matrices(tmp_path / "X.parquet").X, X)
    labels = pyarrow.table({"id": np.arange(40), "label": y})
    parquet.write_table(labels, tmp_path / "y.parquet")
    assert read_labels(tmp_path / "y.parquet", "label", 40).tolist() == y.tolist()
    with pytest.raises(ValueError, match="Choose one by --label-key"):
        read_labels(tmp_path / "y.parquet", None, 40)
