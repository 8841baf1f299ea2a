"""Values in parameters and attributes: what can be stored comes back, the rest is refused with its place."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedShuffleSplit

from _model_files import X, assert_equal, round_trip, saved, unpack
from spdatoms import DivergenceKernel, SPDKMeans, SPDSparseClassifierCV, SPDSparseCoder, load, save
from spdatoms.divergences import Burg, Jeffrey
from spdatoms.storage import StorageError

# JSON has one NaN: the bits that tell Python's NaNs apart are lost, unlike those in arrays.
FLOATS = st.floats(allow_nan=False) | st.just(float("nan"))
PLAIN = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
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


@pytest.mark.slow
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
    with pytest.raises(StorageError, match=f"estimator of spdatoms .* got {type(thing).__name__}"):
        save(thing, tmp_path / "model")


def test_features_of_the_package_can_be_saved() -> None:
    descriptors = pytest.importorskip("spdatoms.descriptors")
    model = descriptors.RegionCovariance(features=descriptors.texture_features)
    assert round_trip(model).features is descriptors.texture_features
