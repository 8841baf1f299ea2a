"""No file of other libraries runs code, reads other files or takes more memory than there is."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest

from _commands import run
from _evil_files import Payload
from spdatoms._utils import untrusted_files
from spdatoms._utils.array_files import read_all_apart
from spdatoms.cli.formats.matrices import read_matrices

pytestmark = pytest.mark.slow

HDF5 = {
    "external link": "the content of '/group/X' lies in another file",
    "virtual": "the content of '/X' lies in another file",
    "external storage": "the content of '/X' lies in another file",
    "plug-in": "is packed by a plug-in of HDF5, and none is loaded",
    "bomb": "needs more memory than there is",
    "circle": "is not a MATLAB or HDF5 file, or a damaged one",
}


def write_hdf5(kind, folder):
    """Write a file that wants more than its own bytes; beside it lies one that is well."""
    h5py = pytest.importorskip("h5py")
    path, other = folder / f"{kind}.h5", folder / "other.h5"
    with h5py.File(other, "w") as file:
        file["X"] = np.eye(3)
    with h5py.File(path, "w") as file:
        match kind:
            case "external link":
                file["group/X"] = h5py.ExternalLink(other.name, "/X")
            case "virtual":
                layout = h5py.VirtualLayout((3, 3), "f8")
                layout[...] = h5py.VirtualSource(other.name, "X", (3, 3))
                file.create_virtual_dataset("X", layout)
            case "external storage":
                file.create_dataset("X", (3, 3), "f8", external=[(other.name, 0, 72)])
            case "plug-in":
                properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                properties.set_chunk((3, 3))
                properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
                space = h5py.h5s.create_simple((3, 3))
                h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, properties)
            case "bomb":
                file.create_dataset("X", (10**6,) * 3, "f8", chunks=(1, 100, 100))
            case "circle":
                cell = file.create_dataset("X", (1,), h5py.ref_dtype)
                cell[0] = cell.ref
    return path


def test_hdf5_stays_in_its_file_and_its_library(tmp_path):
    paths = [write_hdf5(kind, tmp_path) for kind in HDF5]
    for kind, found in zip(HDF5, read_all_apart(paths), strict=True):
        assert isinstance(found, ValueError), kind
        assert HDF5[kind] in str(found), kind
    said = run("inspect", paths[0], code=1)
    assert said.startswith(f"error: {paths[0]}: the content of '/group/X'")
    assert "Copy it into this one" in said


def test_what_is_no_array_in_hdf5_is_left_out(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["X"], file["names"] = np.eye(3), ["a", "bc"]
        file["packed"] = np.eye(2)
        file["records"] = np.zeros(3, [("a", "f8"), ("b", "i4")])
        file.create_dataset("lists", (2,), h5py.vlen_dtype(np.float64))
        file["opaque"] = np.frombuffer(pickle.dumps(Payload(tmp_path / "marker")), "V1")
        file["soft"] = h5py.SoftLink("/X")
    (arrays,) = read_all_apart([tmp_path / "x.h5"])
    assert sorted(arrays) == ["X", "names", "packed"]
    assert not (tmp_path / "marker").exists()


def test_parquet_runs_no_code(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    payload = Payload(tmp_path / "marker")

    class Pickled(pyarrow.ExtensionType):
        """What Arrow before 14.0.1 reads as a pickle."""

        def __init__(self):
            super().__init__(pyarrow.float64(), "arrow.py_extension_type")

        def __arrow_ext_serialize__(self):
            return pickle.dumps(payload)

    column = pyarrow.ExtensionArray.from_storage(Pickled(), pyarrow.array([1.0]))
    parquet.write_table(pyarrow.table({"X": column}), tmp_path / "evil.parquet")
    said = run("inspect", tmp_path / "evil.parquet", code=1)
    assert said.startswith(f"error: {tmp_path / 'evil.parquet'}: has a column of Python objects")
    assert "Write it anew" in said
    assert not payload.marker.exists()


def test_parquet_leaves_out_what_is_no_number_or_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"X": [[1.0, 0.0, 0.0, 1.0]], "record": [{"a": 1}], "raw": [b"\x80"]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    np.testing.assert_array_equal(read_matrices(tmp_path / "x.parquet").X, [np.eye(2)])


def test_parquet_does_not_unpack_to_more_than_memory(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": np.zeros(10**6)})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 10**5
    monkeypatch.setattr(untrusted_files, "memory", lambda: 1e6)
    with pytest.raises(ValueError, match="needs more memory than there is"):
        read_matrices(tmp_path / "x.parquet")


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
@pytest.mark.parametrize("version", ["Nifti1Image", "Nifti2Image"])
def test_nifti_holds_what_it_promises(tmp_path, monkeypatch, suffix, version):
    nibabel = pytest.importorskip("nibabel")
    path = tmp_path / f"x{suffix}"
    image = getattr(nibabel, version)(np.zeros((2, 2, 2, 6), np.float32), np.eye(4))
    header = image.header.copy()
    header.set_data_shape((2000, 2000, 2000, 6))
    content = header.binaryblock + image.to_bytes()[len(header.binaryblock) :]
    path.write_bytes(gzip.compress(content) if suffix == ".nii.gz" else content)
    said = run("inspect", path, "--components", "fsl", code=1)
    assert said.startswith(f"error: {path}: is damaged: it promises more numbers than it can hold")
    nibabel.save(image, path)
    monkeypatch.setattr(untrusted_files, "memory", lambda: 100.0)
    assert "needs more memory than there is" in run("inspect", path, code=1)


def test_nifti_holds_numbers(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    colours = np.zeros((2, 2, 2), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    nibabel.save(nibabel.Nifti1Image(colours, np.eye(4)), tmp_path / "x.nii")
    assert "not numbers" in run("inspect", tmp_path / "x.nii", code=1)


def test_parts_of_epochs_lie_in_one_folder(tmp_path):
    mne = pytest.importorskip("mne")
    signals = 1e-6 * np.random.default_rng(0).standard_normal((30, 4, 5000))
    info = mne.create_info(4, 100.0, "eeg")
    path = tmp_path / "subject-epo.fif"
    epochs = mne.EpochsArray(signals, info, verbose="error")
    epochs.save(path, split_size="2MB", verbose="error")
    assert len(list(tmp_path.iterdir())) > 1
    assert len(read_matrices(path).X) == 30
    content, name = path.read_bytes(), b"subject-epo-1.fif"
    assert name in content
    path.write_bytes(content.replace(name, b"../ject-epo-1.fif"))
    said = run("inspect", path, code=1)
    assert said.startswith(f"error: {path}: continues in ")
    assert "only parts in the same folder are read" in said
    path.write_bytes(content)
    (tmp_path / name.decode()).write_bytes(content)  # its next part is itself
    assert "each once" in run("inspect", path, code=1)
    path.write_bytes(pickle.dumps(Payload(tmp_path / "marker")))
    assert "is not a file of MNE epochs" in run("inspect", path, code=1)
    assert not (tmp_path / "marker").exists()
