"""No file of data runs code, reads other files or takes more memory than there is: formats without extras, and Zarr."""

from __future__ import annotations

import base64
import json
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from _commands import run, two_classes
from _evil_files import Payload, refused
from spdatoms._utils import array_files
from spdatoms._utils.array_files import read_all_apart
from spdatoms._utils.untrusted_files import RefusedError
from spdatoms._utils.zarr_metadata import check_zarr
from spdatoms.cli.formats.matrices import read_matrices

pytestmark = pytest.mark.slow

PICKLE = {"id": "pickle", "protocol": 5}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def array_2(**changes: object) -> dict[str, object]:
    """Return the metadata of a 2×2×2 array of Zarr 2."""
    plain = {"zarr_format": 2, "shape": [2, 2, 2], "chunks": [2, 2, 2], "dtype": "<f8"}
    more = {"compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    return {**plain, **more, **changes}


def array_3(**changes: object) -> dict[str, object]:
    """Return the metadata of a 2×2×2 array of Zarr 3."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [2, 2, 2]}}
    plain = {"zarr_format": 3, "node_type": "array", "shape": [2, 2, 2], "chunk_grid": grid}
    keys = {"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "attributes": {}}
    return {**plain, **keys, "data_type": "float64", "codecs": [BYTES], **changes}


def sharded(*inner: object) -> dict[str, object]:
    shape = {"chunk_shape": [1, 2, 2], "index_codecs": [BYTES]}
    return {"name": "sharding_indexed", "configuration": {**shape, "codecs": [BYTES, *inner]}}


def write_zarr(folder: Path, documents: dict[str, object], payload: bytes = bytes(64)) -> Path:
    """Write a Zarr folder whose documents are as given, and whose chunks all hold the payload."""
    for name, document in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(document))
        if name.endswith((".zarray", "zarr.json")):
            (folder / name).with_name("0.0.0").write_bytes(payload)
            (folder / name).parent.joinpath("c/0/0").mkdir(parents=True, exist_ok=True)
            (folder / name).parent.joinpath("c/0/0/0").write_bytes(payload)
    return folder


def in_group_2(metadata: object) -> dict[str, object]:
    group = {"zarr_format": 2}
    consolidated = {".zgroup": group, "X/.zarray": metadata}
    return {
        ".zgroup": group,
        ".zmetadata": {"zarr_consolidated_format": 1, "metadata": consolidated},
        "X/.zarray": array_2(),
    }


def in_group_3(metadata: object) -> dict[str, object]:
    members = {"kind": "inline", "must_understand": False, "metadata": {"X": metadata}}
    group = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": members}
    return {"zarr.json": group, "X/zarr.json": array_3()}


OBJECT = array_2(dtype="|O", filters=[PICKLE])
EVIL_3 = array_3(codecs=[BYTES, {"name": "numcodecs.pickle"}])
ZARR = {
    "a filter": ({".zarray": array_2(filters=[PICKLE])}, "'pickle'"),
    "a compressor": ({".zarray": array_2(compressor=PICKLE)}, "'pickle'"),
    "objects": ({".zarray": OBJECT}, "'pickle'"),
    "objects without a codec": ({".zarray": array_2(dtype="|O")}, "the type '|O'"),
    "records of objects": ({".zarray": array_2(dtype=[["a", "|O"]])}, "the type [['a', '|O']]"),
    "the type of a filter": (
        {".zarray": array_2(filters=[{"id": "delta", "dtype": "|O"}])},
        "the type '|O'",
    ),
    "an array of a group": ({".zgroup": {"zarr_format": 2}, "X/.zarray": OBJECT}, "'pickle'"),
    "consolidated": (in_group_2(OBJECT), "'pickle'"),
    "a codec of version 3": ({"zarr.json": EVIL_3}, "'numcodecs.pickle'"),
    "in a shard": ({"zarr.json": array_3(codecs=[sharded("pickle")])}, "'pickle'"),
    "consolidated in version 3": (in_group_3(EVIL_3), "'numcodecs.pickle'"),
    "version 2 in version 3": (in_group_3(OBJECT), "'pickle'"),
    "a type of version 3": ({"zarr.json": array_3(data_type="struct")}, "the type 'struct'"),
    "transformers": ({"zarr.json": array_3(storage_transformers=["x"])}, "storage transformers"),
}


def test_zarr_runs_no_code(tmp_path):
    pytest.importorskip("zarr")
    payload = Payload(tmp_path / "marker")
    content = pickle.dumps(payload)
    fill = base64.b64encode(content).decode()  # which Zarr 2.17 reads when it opens the array
    of_fill = array_2(dtype=[["a", "|O"]], filters=[PICKLE], fill_value=fill)
    cases = {**ZARR, "a fill value": ({".zarray": of_fill}, "'pickle'")}
    folders = [
        write_zarr(tmp_path / f"{where}.zarr", documents, content)
        for where, (documents, _) in cases.items()
    ]
    found = read_all_apart(folders)
    for where, said in zip(cases, found, strict=True):
        assert isinstance(said, ValueError), where
        assert cases[where][1] in str(said), where
        assert "Write it anew" in str(said)
    said = run("inspect", folders[0], code=1)
    assert said.startswith(f"error: {folders[0]}: an array is packed by 'pickle'")
    assert not payload.marker.exists()


@pytest.mark.parametrize("link", ["0.0.0", ".zarray", "folder"])
def test_zarr_does_not_follow_links(tmp_path, link):
    folder = write_zarr(tmp_path / "x.zarr", {".zarray": array_2()}, np.eye(8)[0].tobytes())
    elsewhere = tmp_path / "elsewhere"
    if link == "folder":
        elsewhere.mkdir()
    else:
        (folder / link).rename(elsewhere)
    try:
        (folder / link).symlink_to(elsewhere)
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(RefusedError, match=rf"holds '{link}', a link.*cp -rL"):
        check_zarr(str(folder))


@pytest.mark.parametrize(
    "documents",
    [
        {".zarray": array_2(shape=[10**6] * 3)},
        {".zarray": array_2(chunks=[10**6] * 3)},
        {"zarr.json": array_3(shape=[10**6] * 3)},
    ],
)
def test_zarr_does_not_promise_more_than_memory(tmp_path, documents):
    with pytest.raises(MemoryError):
        check_zarr(str(write_zarr(tmp_path / "x.zarr", documents)))


def test_zarr_is_a_folder(tmp_path):
    """An archive could hold metadata that are not checked."""
    with zipfile.ZipFile(tmp_path / "x.zarr", "w") as archive:
        archive.writestr(".zarray", json.dumps(OBJECT))
    with pytest.raises(RefusedError, match="is no folder"):
        check_zarr(str(tmp_path / "x.zarr"))


@pytest.mark.filterwarnings("ignore")
def test_honest_zarr_is_read(tmp_path):
    """Consolidated groups of every version, with text and packed numbers."""
    zarr = pytest.importorskip("zarr")
    X, y = two_classes()
    paths = [tmp_path / f"{version}.zarr" for version in (2, 3)]
    for path in paths:
        group = zarr.open_group(str(path), mode="w", zarr_format=int(path.stem))
        group.create_array("X", shape=X.shape, dtype="f8", chunks=(7, 4, 4))[...] = X
        group.create_array("y", shape=y.shape, dtype="U5")[...] = y
        zarr.consolidate_metadata(str(path))
    for arrays in read_all_apart(paths):
        assert isinstance(arrays, dict)
        np.testing.assert_array_equal(arrays["X"], X)
        np.testing.assert_array_equal(arrays["y"], y)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_numpy_runs_no_code(tmp_path, suffix):
    payload = Payload(tmp_path / "marker")
    array = np.full((1, 2, 2), payload, dtype=object)
    path = tmp_path / f"evil{suffix}"
    np.save(tmp_path / "X.npy", array, allow_pickle=True)
    if suffix == ".npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "X.npy", "X.npy")
            archive.writestr("bare", pickle.dumps(payload))
    else:
        (tmp_path / "X.npy").rename(path)
    assert "holds Python objects" in refused(path, payload)


def test_pickles_of_another_name_run_no_code(tmp_path):
    """A reader may guess the format from the content: NumPy takes what is no array for a pickle."""
    payload = Payload(tmp_path / "marker")
    paths = [
        tmp_path / f"evil{suffix}" for suffix in (".mat", ".h5", ".zarr", ".npy", ".npz", ".csv")
    ]
    for path in paths:
        path.write_bytes(pickle.dumps(payload))
    assert all(isinstance(found, ValueError) for found in read_all_apart(paths[:3]))
    for path in paths[3:]:
        with pytest.raises(ValueError, match=path.name):
            read_matrices(path)
    assert not payload.marker.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep the limit")
def test_the_reader_gets_no_more_memory_than_there_is(tmp_path, monkeypatch):
    """A chunk may unpack to more than the metadata say, which no check can see."""
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.zeros((10, 1000, 1000))}, do_compression=True)
    assert (tmp_path / "x.mat").stat().st_size < 10**6
    program = Path(array_files.reading_child.__file__).read_text("utf-8")
    used = "4096 * int(open('/proc/self/statm').read().split()[0])"
    little = f"import scipy.io\nmemory = lambda: 6e7 + {used}\n\n\ndef main("
    (tmp_path / "child.py").write_text(program.replace("def main(", little, 1), "utf-8")
    monkeypatch.setattr(array_files.reading_child, "__file__", str(tmp_path / "child.py"))
    (found,) = read_all_apart([tmp_path / "x.mat"])
    assert "more memory than there is" in str(found)
