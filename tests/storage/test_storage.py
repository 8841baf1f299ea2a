"""Saved and loaded: the same bits come back, and nothing but a whole, known file is accepted."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import random
import tempfile
import threading
import tracemalloc
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import spdatoms
from _matrices import random_spd
from conformance.estimators import ESTIMATORS, assert_same, every_estimator, outputs
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    load,
    save,
    storage,
)
from spdatoms.divergences import Burg, Jeffrey
from spdatoms.storage import StorageError

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

X = random_spd(24, 3, seed=1) * (1.0 + np.arange(24) % 3)[:, None, None] ** 2
LABELS = np.array(["ash", "oak", "elm"])[np.arange(24) % 3]


def round_trip(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        return load(Path(folder, "model"))


def assert_equal(a: Any, b: Any) -> None:
    """Compare types, values to the last bit, and what objects consist of."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.fnc) == (b.dtype, b.shape, b.flags.fnc)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif isinstance(a, dict):
        assert_equal(list(a.items()), list(b.items()))
    elif isinstance(a, float):
        assert np.float64(a).tobytes() == np.float64(b).tobytes()
    elif hasattr(a, "__dict__") and not isinstance(a, type):
        assert_equal(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    else:
        assert a == b


# --- the format, by hand: see docs/storage.md --------------------------------------------------------


def seal(content: bytes) -> bytes:
    """Put the digest of all that comes before it at the end of a file."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def pack(metadata: Any, arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.comment = b"spdatoms sha256:" + b"0" * 64
        for name, array in {"metadata": np.frombuffer(text, np.uint8), **arrays}.items():
            if not isinstance(array, bytes):
                member = io.BytesIO()
                np.save(member, array)
                array = member.getvalue()
            archive.writestr(f"{name}.npy", array)
    return seal(buffer.getvalue())


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("metadata").tobytes()), arrays


def saved(model: Any, folder: Path) -> bytes:
    save(model, folder / "saved")
    return (folder / "saved").read_bytes()


def load_bytes(content: bytes, folder: Path) -> Any:
    (folder / "content").write_bytes(content)
    return load(folder / "content")


def refused(content: bytes, folder: Path, match: str) -> None:
    with pytest.raises(StorageError, match=match):
        load_bytes(content, folder)


@pytest.fixture(name="kmeans", scope="module")
def fitted_kmeans() -> SPDKMeans:
    return SPDKMeans(2, metric="stein", random_state=0).fit(X)


# --- the same bits -----------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_the_same_bits(estimator, dtype) -> None:
    matrices = X.astype(dtype)
    model = clone(estimator).fit(matrices, LABELS)
    again = round_trip(model)
    assert_equal(model, again)
    before, after = outputs(model, matrices), outputs(again, matrices)
    assert_same(before, after)
    assert [a.dtype for a in before] == [a.dtype for a in after]


@every_estimator
def test_not_fitted_comes_back_not_fitted(estimator) -> None:
    again = round_trip(clone(estimator))
    assert_equal(again, clone(estimator))
    with pytest.raises(NotFittedError):
        outputs(again, X)
    assert_same(outputs(again.fit(X, LABELS), X), outputs(clone(estimator).fit(X, LABELS), X))


def public_estimators() -> list[type]:
    homes = [spdatoms]
    for name in ("spdatoms.baselines", "spdatoms.descriptors"):
        homes += [import_module(name)] if find_spec(name) else []
    public = {getattr(home, name) for home in homes for name in home.__all__}
    classes = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    return sorted(classes, key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_public_estimator_can_be_saved(cls) -> None:
    assert_equal(cls(), round_trip(cls()))


def test_no_two_public_estimators_have_the_same_name() -> None:
    names = [cls.__name__ for cls in public_estimators()]
    assert len(names) == len(set(names)) >= len({type(e) for e in ESTIMATORS})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "metric", [*spdatoms.divergences.divergence_names(), Burg(side="left"), Jeffrey()]
)
def test_every_divergence(metric, dtype) -> None:
    matrices = X.astype(dtype)
    model = SPDKNeighborsClassifier(3, metric).fit(matrices, LABELS)
    again = round_trip(model)
    assert_equal(model, again)
    assert_same(outputs(model, matrices), outputs(again, matrices))
    if metric not in ("burg", "kullback") and not isinstance(metric, Burg):
        kernel = DivergenceKernel(metric).fit(matrices)
        again = round_trip(kernel)
        assert_equal(kernel, again)
        for queries in (matrices * dtype(1.5), X * 1.5):
            np.testing.assert_array_equal(kernel.cross(queries), again.cross(queries))


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
def test_online_learning_goes_on_where_it_was(metric) -> None:
    settings = {"metric": metric, "alpha": 0.05, "random_state": 0, "init": "random"}
    learner = SPDDictionaryLearning(4, **settings).partial_fit(X[:12])
    again = round_trip(learner)
    for batch in (X[12:18], X[18:]):
        learner.partial_fit(batch)
        again.partial_fit(batch)
    np.testing.assert_array_equal(learner.atoms_, again.atoms_)
    np.testing.assert_array_equal(learner.batch_losses_, again.batch_losses_)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(24) % 3,
        (np.arange(24) % 3).astype(np.int8),
        np.arange(24) % 2 == 0,
        (np.arange(24) % 3).astype(float),
        LABELS.astype(object),
        np.array(["Eiche", "Ахорн", "樫"])[np.arange(24) % 3],
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type(labels) -> None:
    model = SPDKNeighborsClassifier(metric="stein").fit(X, labels)
    assert_equal(model.predict(X), round_trip(model).predict(X))


def test_pipelines_with_what_follows_features() -> None:
    for after in (
        [LogisticRegression()],
        [StandardScaler(), PCA(3, svd_solver="full"), LinearSVC(random_state=0)],
        [LinearDiscriminantAnalysis()],
    ):
        model = make_pipeline(SPDSparseCoder(dictionary=X[:5]), *after).fit(X, LABELS)
        again = round_trip(model)
        assert_same([model.predict(X)], [again.predict(X)])
        assert_same([model.decision_function(X)], [again.decision_function(X)])


def test_output_as_a_data_frame_is_remembered() -> None:
    coder = SPDSparseCoder().fit(X).set_output(transform="pandas")
    frame = round_trip(coder).transform(X)
    assert frame.equals(coder.transform(X))


# --- values ------------------------------------------------------------------------------------------

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ARRAYS = numpy_st.arrays(
    st.one_of(
        numpy_st.boolean_dtypes(),
        numpy_st.integer_dtypes(endianness="="),
        numpy_st.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
        numpy_st.complex_number_dtypes(endianness="=", sizes=(64, 128)),
        numpy_st.unicode_string_dtypes(endianness="=", min_len=1),
        numpy_st.byte_string_dtypes(min_len=1),
    ),
    numpy_st.array_shapes(min_dims=0, min_side=0),
)


@settings(max_examples=25, deadline=None)
@given(
    st.recursive(
        PLAIN | ARRAYS,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(PLAIN.filter(lambda key: key == key), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_nesting_of_plain_values_and_arrays(value) -> None:
    assert_equal(value, round_trip(SPDKMeans(init=value)).init)


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.1),
        np.float64("nan"),
        np.int8(-3),
        np.bool_(True),
        np.str_("élan"),
        np.dtype(np.float32),
        Path("folder") / "file",
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["a", 1, 2.5, None, ("b", True)], dtype=object),
        float("-inf"),
        -0.0,
        2**200,
        "\ud800 and \0",
        Burg("left"),
        GroupKFold(4),
        StratifiedShuffleSplit(3, test_size=0.25, random_state=7),
        DivergenceKernel("jeffrey", beta=2.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values(value) -> None:
    assert_equal(value, round_trip(SPDSparseClassifierCV(cv=value)).cv)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
def test_sparse_codes(kind) -> None:
    dense = np.random.default_rng(0).random((5, 7)) * (np.arange(7) % 3 == 0)
    matrix = getattr(scipy.sparse, kind)(dense.astype(np.float32))
    again = round_trip(SPDKMeans(init=matrix)).init
    assert type(again) is type(matrix)
    assert_equal(matrix.toarray(), again.toarray())
    empty = round_trip(SPDKMeans(init=scipy.sparse.csr_array((3, 0)))).init
    assert empty.shape == (3, 0)


def test_arrays_of_other_layouts_come_back_with_the_same_values(tmp_path) -> None:
    mapped = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=(2, 2))
    mapped[:] = [[1.0, 2.0], [3.0, 4.0]]
    for array in (mapped, mapped[::-1], np.asarray(mapped).astype(">f8"), mapped[:, :1]):
        again = round_trip(SPDKMeans(init=array)).init
        assert type(again) is np.ndarray
        assert again.dtype == np.float64
        assert again.flags.writeable
        np.testing.assert_array_equal(array, again)
    assert round_trip(SPDKMeans(init=np.array(["", ""], dtype="U0"))).init.tolist() == ["", ""]


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_go_on_with_the_same_numbers(name) -> None:
    generator = np.random.Generator(getattr(np.random, name)(5))
    generator.integers(9, size=3, dtype=np.uint32)  # half a word is left over
    again = round_trip(SPDKMeans(random_state=generator)).random_state
    assert_equal(generator.standard_normal(5), again.standard_normal(5))
    assert_equal(
        generator.integers(9, size=5, dtype=np.uint32), again.integers(9, size=5, dtype=np.uint32)
    )


def test_random_states_go_on_with_the_same_numbers() -> None:
    source = np.random.RandomState(3)
    source.standard_normal(3)  # the second of a pair is left over
    again = round_trip(SPDKMeans(random_state=source)).random_state
    assert_equal(source.standard_normal(5), again.standard_normal(5))


def test_an_array_that_occurs_twice_is_stored_once(tmp_path) -> None:
    coder = SPDSparseCoder().fit(X)
    _, arrays = unpack(saved(coder, tmp_path))
    assert sum(array.shape == X.shape for array in arrays.values()) == 1
    again = load(tmp_path / "saved")
    assert again.atoms_ is again.kernel_._dictionary


class Unknown:
    pass


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        np.linalg.inv,
        threading.Lock(),
        Unknown(),
        Unknown,
        {1, 2},
        1j,
        np.array([object()]),
        np.longdouble(1) if np.dtype(np.longdouble).itemsize > 8 else object(),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", float)]),
        np.ma.masked_array([1.0], [True]),
        scipy.sparse.dok_array((2, 2)),
        KeyError("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_data_is_refused_with_its_place(value, tmp_path) -> None:
    model = SPDSparseClassifierCV(cv=[1, value])
    with pytest.raises(StorageError, match=r"^cv\.1(\.0)? (is of|has) the type"):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


class OwnCoder(SPDSparseCoder):
    pass


@pytest.mark.parametrize(
    "thing", [5, None, X, Jeffrey(), OwnCoder(), GridSearchCV(SPDSparseCoder(), {}), GroupKFold()]
)
def test_what_is_not_an_estimator_of_ours_is_refused(thing, tmp_path) -> None:
    with pytest.raises(StorageError, match=f"estimators of spdatoms .* not {type(thing).__name__}"):
        save(thing, tmp_path / "model")


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
                "parameters": {"n_clusters": 2, "metric": "euclid", "tol": {"float": "inf"}},
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
        assert (model.n_clusters, model.metric, model.tol) == (2, "euclid", np.inf)
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
def test_a_link_is_followed(kmeans, tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    save(kmeans, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_equal(load(tmp_path / "target"), kmeans)


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


# --- nothing but a whole, known file -----------------------------------------------------------------


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


def with_object(cls: str, parameters: Any = None, attributes: Any = None) -> bytes:
    content = {"class": cls, "parameters": parameters or {}, "attributes": attributes or {}}
    metadata = {"format": "spdatoms model", "version": 1, "spdatoms": "0", "scikit-learn": None}
    return pack({**metadata, "estimator": {"object": content}}, {"X": X})


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


def test_features_of_the_package_can_be_saved() -> None:
    descriptors = pytest.importorskip("spdatoms.descriptors")
    model = descriptors.RegionCovariance(features=descriptors.texture_features)
    assert round_trip(model).features is descriptors.texture_features


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


def test_names_twice_are_refused(tmp_path) -> None:
    buffer = io.BytesIO(with_object("SPDKMeans"))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("X.npy", npy(""))
    refused(seal(buffer.getvalue()), tmp_path, "there twice")
