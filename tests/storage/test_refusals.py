"""Nothing but a whole, known file is accepted."""

from __future__ import annotations

import copy
import io
import json
import pickle
import random
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from _model_files import LABELS, X, load_bytes, pack, refused, saved, seal, unpack, with_object
from spdatoms import (
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    load,
    save,
)
from spdatoms.storage import StorageError


def test_every_truncation_is_refused(kmeans, tmp_path) -> None:
    content = saved(kmeans, tmp_path)
    for length in [*range(0, len(content) - 200, 3), *range(len(content) - 200, len(content))]:
        refused(content[:length], tmp_path, "not a file of spdatoms, or was cut short")
    refused(content + b"\0", tmp_path, "cut short")


def test_every_altered_byte_is_refused(kmeans, tmp_path) -> None:
    content = saved(kmeans, tmp_path)
    rng = random.Random(0)
    for i in range(0, len(content), 2):
        altered = bytearray(content)
        altered[i] ^= 1 << rng.randrange(8)
        refused(bytes(altered), tmp_path, "altered or damaged|cut short")


def load_or_refuse(content: bytes, folder: Path) -> bool:
    """Load what may be a file: an estimator or a StorageError, nothing else. Return which."""
    try:
        model = load_bytes(content, folder)
    except StorageError:
        return False
    assert isinstance(model, BaseEstimator)
    return True


@pytest.mark.slow
def test_altered_bytes_under_a_new_checksum_do_no_harm(kmeans, tmp_path) -> None:
    content = saved(kmeans, tmp_path)
    rng = random.Random(1)
    loaded = 0
    for i in range(0, len(content) - 64, 2):
        altered = bytearray(content)
        altered[i] = rng.randrange(256) if i % 4 else altered[i] ^ (1 << rng.randrange(8))
        loaded += load_or_refuse(seal(bytes(altered)), tmp_path)
    assert 0 < loaded < len(content) // 2
    for _ in range(150):
        start, length = rng.randrange(len(content) - 64), rng.randrange(1, 64)
        load_or_refuse(seal(content[:start] + content[start + length :]), tmp_path)
        load_or_refuse(seal(content[:start] + content[-80:]), tmp_path)


JUNK: list[Any] = [
    None,
    True,
    -1,
    2**70,
    0.5,
    "",
    "labels_",
    [],
    [[]],
    {},
    {"a": 1, "b": 2},
    {"tuple": 3},
    {"dict": [[[], 1]]},
    {"array": "labels_"},
    {"array": []},
    {"scalar": ["|O", "00"]},
    {"scalar": ["<f8", "00"]},
    {"dtype": "O"},
    {"float": "1"},
    {"path": None},
    {"objects": {"shape": [3], "items": []}},
    {"sparse": {"class": "csr_array", "shape": [2, 2], "data": [1], "indices": [9], "indptr": [0]}},
    {"generator": {"dict": [["bit_generator", "PCG64"]]}},
    {"random_state": 5},
    {"function": "gabor_bank"},
    {"prepared": {"metric": "stein", "matrices": {"array": "labels_"}}},
    {"object": {"class": "SPDKMeans"}},
    {"object": {"class": "Stein", "parameters": {}, "attributes": {"name": "x"}}},
]


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every node below the root of a JSON tree."""
    keys = range(len(tree)) if isinstance(tree, list) else list(tree)
    below = [(tree, key) for key in keys]
    for key in keys:
        if isinstance(tree[key], dict | list):
            below += nodes(tree[key])
    return below


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        SPDKMeans(2, metric="stein", random_state=np.random.default_rng(0)).fit(X),
        SPDKNeighborsClassifier(metric="jeffrey").fit(X, LABELS),
        SPDSparseClassifier(metric="riemann", random_state=np.random.RandomState(0)).fit(X, LABELS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_altered_metadata_under_a_new_checksum_do_no_harm(model, tmp_path) -> None:
    metadata, arrays = unpack(saved(model, tmp_path))
    rng = random.Random(2)
    loaded = 0
    for i in range(len(nodes(metadata))):
        for junk in rng.sample(JUNK, 3):
            altered = copy.deepcopy(metadata)
            container, key = nodes(altered)[i]
            container[key] = junk
            loaded += load_or_refuse(pack(altered, arrays), tmp_path)
    assert loaded
    for name in arrays:
        for other in (arrays[name][:-1], arrays[name].astype("U9"), np.zeros(3, np.int32)):
            load_or_refuse(pack(metadata, {**arrays, name: other}), tmp_path)
        without = {key: array for key, array in arrays.items() if key != name}
        refused(pack(metadata, without), tmp_path, "does not describe a model")


def test_foreign_files_are_refused(kmeans, tmp_path) -> None:
    archive = io.BytesIO()
    np.savez(archive, X=X)
    for content in (
        b"",
        b"notes",
        b"PK\3\4",
        archive.getvalue(),
        pickle.dumps(kmeans),
        b"0" * 5000,
    ):
        refused(content, tmp_path, "is not a file of spdatoms")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(OSError, match=r"director|denied"):
        load(tmp_path)


def test_a_checkpoint_is_not_a_model(tmp_path) -> None:
    path = tmp_path / "state"
    SPDDictionaryLearning(3, alpha=0.1, max_iter=1, checkpoint=path, random_state=0).fit(X)
    with pytest.raises(StorageError, match="not a model but a spdatoms dictionary checkpoint"):
        load(path)
    save(SPDKMeans(), path)
    with pytest.raises(ValueError, match="belongs to other data"):
        SPDDictionaryLearning(3, checkpoint=path, random_state=0).fit(X)


@pytest.mark.parametrize(
    "name",
    ["os.system", "builtins.eval", "eval", "Popen", "subprocess.Popen", "sklearn.SVC", "mean", "",
     "__import__", "BaseEstimator", "spdatoms.SPDKMeans", "SPDEstimator", "sklearn.SPDKMeans", "PCA"],
)  # fmt: skip
def test_classes_outside_the_list_are_refused(name, tmp_path) -> None:
    refused(with_object(name), tmp_path, "stores no class")


@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "fit", "predict", "_n_features_out", "a b"]
)
def test_attributes_that_are_not_data_are_refused(name, tmp_path) -> None:
    refused(with_object("SPDKMeans", attributes={name: 1}), tmp_path, f"SPDKMeans has no {name}")
    refused(with_object("SPDKMeans", {name: 1}), tmp_path, f"SPDKMeans has no {name}")


def test_functions_outside_the_descriptors_are_refused(tmp_path) -> None:
    for name in ("eval", "os.system", "save", "load", "mean", "RegionCovariance"):
        content = with_object("SPDKMeans", {"init": {"function": name}})
        refused(content, tmp_path, "stores no function")


def test_parts_of_different_sizes_are_refused(tmp_path) -> None:
    """Compiled code would read beyond the smaller ones."""
    models = [
        SPDSparseClassifier().fit(X, LABELS),
        SPDKMeans(2, random_state=0).fit(X),
        *(SPDKNeighborsClassifier(metric=m).fit(X, LABELS) for m in ("stein", "jeffrey", "euclid")),
    ]
    for model in models:
        metadata, arrays = unpack(saved(model, tmp_path))
        metadata["estimator"]["object"]["attributes"]["n_features_in_"] = 4
        refused(pack(metadata, arrays), tmp_path, "3×3 matrices, not 4×4")


def test_positions_beyond_the_buffer_of_a_generator_are_refused(tmp_path) -> None:
    for source in (np.random.RandomState(0), np.random.Generator(np.random.Philox(0))):
        metadata, arrays = unpack(saved(SPDKMeans(random_state=source), tmp_path))
        text = json.dumps(metadata)
        for key in ('"pos"', '"buffer_pos"'):
            head, found, tail = text.partition(f"{key}, ")
            if found:
                digits = len(tail) - len(tail.lstrip("0123456789"))
                altered = f"{head}{found}10000{tail[digits:]}".encode()
                refused(pack(altered, arrays), tmp_path, "does not describe a model")
                break
        else:
            pytest.fail("no position found")


def npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + content


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"), "bytes"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1), }", b"0" * 8), "shape"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", b"0" * 15), "bytes"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"0" * 8), "type"),
        (npy("{'descr': '<U0', 'fortran_order': False, 'shape': (9000000000,), }"), "type"),
        (npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", b"0" * 8), "type"),
        (npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }"), "type"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999)}"), ""),
        (npy("__import__('os').system('true')"), ""),
        (npy("(" * 110), ""),
        (b"\x93NUMPY\2\0" + npy("")[8:], "version 1.0"),
        (b"\x93NUMPY\1", ""),
        (b"", ""),
    ],
)
def test_members_that_mislead_are_refused(member, message, tmp_path) -> None:
    metadata, _ = unpack(with_object("SPDKMeans"))
    content = pack(metadata, {"X": member})
    tracemalloc.start()
    try:
        refused(content, tmp_path, f"is malformed: .*{message}")
        assert tracemalloc.get_traced_memory()[1] < 4e6
    finally:
        tracemalloc.stop()


def test_zip_bombs_are_refused(tmp_path) -> None:
    metadata, _ = unpack(with_object("SPDKMeans"))
    zeros = {"X": np.zeros(10**6)}
    refused(pack(metadata, zeros, zipfile.ZIP_DEFLATED), tmp_path, "not an uncompressed array")
    buffer = io.BytesIO(pack(metadata, {"X": np.zeros(1000)}))
    with zipfile.ZipFile(buffer, "a") as archive:
        for i in range(10):  # many names for the same bytes
            twin = copy.copy(archive.getinfo("X.npy"))
            twin.filename = f"{i}.npy"
            archive.filelist.append(twin)
        archive._didModify = True
    refused(seal(buffer.getvalue()), tmp_path, "members are larger than the file")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"NaN", b'{"format": NaN}', b"[" * 10**5, b"\xff", b'{"a": 1' + b"0" * 9999 + b"}"]
)  # fmt: skip
def test_metadata_that_are_no_json_object_are_refused(text, tmp_path) -> None:
    refused(pack(text, {}), tmp_path, "is malformed|not a model")


def test_deep_metadata_are_refused(tmp_path) -> None:
    for depth in (100, 20_000):
        metadata = unpack(with_object("SPDKMeans"))[0]
        text = json.dumps(metadata).encode()
        deep = text.replace(
            b'"parameters": {', b'"parameters": {"init": ' + b"[" * depth + b"]" * depth
        )
        load_or_refuse(pack(deep, {}), tmp_path)
    assert load_or_refuse(with_object("SPDKMeans", {"init": [[[[1]]]]}), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "item",
    ["[]", "{}", '""', "0.5", '{"a":{}}', '{"tuple":[]}', '"\\\\"', '"\\""', '"\\ud83d\\ude00' + 99 * "a" + '"'],
)  # fmt: skip
def test_metadata_take_memory_in_proportion_to_the_file(item, tmp_path) -> None:
    """Lists of many small values take fifty times the bytes of their JSON; so many are refused unparsed."""
    for count in (2**15, 2**21 // len(item)):
        long = f'{{"estimator": [{",".join([item] * count)}]}}'.encode()
        content = pack(long, {})
        tracemalloc.start()
        try:
            refused(content, tmp_path, "hold more than 65536 values|not a model")
            assert (
                tracemalloc.get_traced_memory()[1] < 6 * len(content) + 2**25
            )  # what a small file may take
        finally:
            tracemalloc.stop()


def test_long_lists_are_refused_when_they_are_saved(kmeans, tmp_path) -> None:
    content = saved(kmeans, tmp_path)
    for long in ([[0.5] * 200] * 1000, ["a" * 5_000_000]):
        with pytest.raises(StorageError, match="saved' cannot be written: its metadata hold more"):
            save(SPDKMeans(init=long), tmp_path / "saved")
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(StorageError, match="more than 100 levels deep"):
        save(SPDKMeans(init=deep), tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == content


def test_brackets_in_strings_are_no_levels(tmp_path) -> None:
    for text in ("[" * 1000, '\\"[' * 500, "\\\\", ',"' * 1000):
        assert load_bytes(saved(SPDKMeans(init=text), tmp_path), tmp_path).init == text


def test_names_twice_are_refused(tmp_path) -> None:
    buffer = io.BytesIO(with_object("SPDKMeans"))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("X.npy", npy(""))
    refused(seal(buffer.getvalue()), tmp_path, "there twice")
