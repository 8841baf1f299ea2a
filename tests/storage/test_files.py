"""The file: its layout, how it is replaced, and its versions."""

from __future__ import annotations

import copy
import io
import json
import os
import threading
import zipfile

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import spdatoms
from _model_files import LABELS, X, assert_equal, load_bytes, pack, refused, saved, unpack
from spdatoms import SPDKMeans, SPDSparseClassifierCV, SPDSparseCoder, load, save, storage
from spdatoms.storage import StorageError

# --- the file ----------------------------------------------------------------------------------------


def test_a_file_made_by_hand_is_read(tmp_path) -> None:
    metadata = {
        "format": "spdatoms model",
        "version": 1,
        "spdatoms": "0.1.0",
        "scikit-learn": None,
        "estimator": {
            "object": {
                "class": "SPDKMeans",
                "parameters": {"n_clusters": 2, "metric": "euclid", "tol": 0.5},
                "attributes": {
                    "cluster_centers_": {"array": "centres"},
                    "n_features_in_": 2,
                    "inertia_": {"scalar": ["<f8", "000000000000f83f"]},
                },
            }
        },
    }
    centres = np.array([np.eye(2), 3.0 * np.eye(2)])
    for stored in (centres, centres.astype(">f8").astype("<f8"), np.asfortranarray(centres)):
        model = load_bytes(pack(metadata, {"centres": stored}), tmp_path)
        assert type(model) is SPDKMeans
        assert (model.n_clusters, model.metric, model.tol) == (2, "euclid", 0.5)
        assert model.inertia_ == 1.5
        assert model.max_iter == SPDKMeans().max_iter  # what is not given has its default
        np.testing.assert_array_equal(model.cluster_centers_, centres)
        np.testing.assert_array_equal(model.predict(centres * 1.1), [0, 1])


def test_numpy_alone_reads_the_arrays(kmeans, tmp_path) -> None:
    save(kmeans, tmp_path / "model")
    with np.load(tmp_path / "model", allow_pickle=False) as file:
        assert_equal(file["cluster_centers_"], kmeans.cluster_centers_)
        assert_equal(file["labels_"], kmeans.labels_)
        metadata = json.loads(file["metadata"].tobytes())
    assert metadata["spdatoms"] == spdatoms.__version__
    assert (metadata["format"], metadata["version"]) == ("spdatoms model", 1)


def test_the_same_model_gives_the_same_bytes(kmeans, tmp_path) -> None:
    first = saved(kmeans, tmp_path)
    assert first == saved(kmeans, tmp_path) == saved(load_bytes(first, tmp_path), tmp_path)


def test_the_members_are_little_endian_and_uncompressed(kmeans, tmp_path) -> None:
    with zipfile.ZipFile(io.BytesIO(saved(kmeans, tmp_path))) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            header = archive.read(info)[:128]
            assert b"'descr': '<" in header or b"'descr': '|" in header


def test_the_file_before_survives_a_failed_write(kmeans, tmp_path, monkeypatch) -> None:
    content = saved(kmeans, tmp_path)

    def full_disk(descriptor: int) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space"):
            save(SPDKMeans(), tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert (tmp_path / "saved").read_bytes() == content
    save(SPDKMeans(), tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("inertia_", float("nan"), "inertia_ must be a number"),
        (
            "cluster_centers_",
            np.ones((2, 3, 3)),
            r"cluster_centers_\[0\] is .* positive definite|singular",
        ),
        ("cluster_centers_", np.eye(4)[None], "cluster_centers_ is for 4×4 matrices, not 3×3"),
        ("n_init", -1, "n_init must be"),
        ("predict", 3, "SPDKMeans has no predict"),
    ],
)
def test_what_load_would_refuse_is_not_saved(kmeans, name, value, why, tmp_path) -> None:
    content = saved(kmeans, tmp_path)
    model = copy.deepcopy(kmeans)
    setattr(model, name, value)
    message = f"SPDKMeans cannot be saved, because load would refuse it: .*({why})"
    with pytest.raises(StorageError, match=message):
        save(model, tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert (tmp_path / "saved").read_bytes() == content


def test_a_missing_folder_is_told(kmeans, tmp_path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"model' cannot be written: its folder does not exist"
    ):
        save(kmeans, tmp_path / "nowhere" / "model")
    assert not list(tmp_path.iterdir())


def test_of_many_that_save_at_once_one_wins(kmeans, tmp_path) -> None:
    models = [SPDKMeans(n_clusters=k) for k in range(1, 7)]
    threads = [threading.Thread(target=save, args=(m, tmp_path / "model")) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load(tmp_path / "model").n_clusters in range(1, 7)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_is_not_followed(kmeans, tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError, match=r"link' cannot be written: it is a link"):
        save(kmeans, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "target").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions are a matter of POSIX")
def test_a_private_model_stays_private(kmeans, tmp_path) -> None:
    (tmp_path / "model").touch(mode=0o600)
    save(kmeans, tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o600


# --- versions ----------------------------------------------------------------------------------------


def test_a_later_format_is_refused_with_the_version_that_wrote_it(kmeans, tmp_path) -> None:
    metadata, arrays = unpack(saved(kmeans, tmp_path))
    later = {**metadata, "version": 2, "spdatoms": "7.3.1", "estimator": "of another shape"}
    refused(pack(later, arrays), tmp_path, r"spdatoms 7\.3\.1 in version 2 .*update spdatoms")


def test_an_earlier_format_is_read_by_its_own_reader(kmeans, tmp_path, monkeypatch) -> None:
    now = saved(kmeans, tmp_path)
    monkeypatch.setattr(storage, "_VERSION", 2)
    monkeypatch.setitem(storage._READERS, 2, lambda metadata, arrays: metadata["later"])
    metadata, arrays = unpack(now)
    later = pack({**metadata, "version": 2, "later": "read by the reader of version 2"}, arrays)
    assert load_bytes(later, tmp_path) == "read by the reader of version 2"
    assert_equal(load_bytes(now, tmp_path), kmeans)


def test_another_version_of_scikit_learn_is_told(tmp_path, monkeypatch, recwarn) -> None:
    model = make_pipeline(SPDSparseCoder(), LogisticRegression()).fit(X, LABELS)
    save(model, tmp_path / "pipeline")
    save(SPDSparseClassifierCV(cv=GroupKFold()), tmp_path / "ours")
    load(tmp_path / "pipeline")
    monkeypatch.setattr(sklearn, "__version__", "99.0")
    load(tmp_path / "ours")
    assert not recwarn.list
    with pytest.warns(InconsistentVersionWarning, match=r"99\.0"):
        load(tmp_path / "pipeline")
