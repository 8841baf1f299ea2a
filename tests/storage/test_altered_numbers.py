"""What is loaded is what a fit could have left: altered numbers are refused, or do no harm in use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from _model_files import LABELS, X, load_bytes, pack, refused, saved, unpack
from spdatoms import SPDKMeans, SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseCoder
from spdatoms.paper.baselines import RiemannianSparseClassifier, TensorSparseClassifier
from spdatoms.storage import StorageError

MODELS = [
    SPDKMeans(2, random_state=0),
    SPDKNeighborsClassifier(),
    SPDSparseClassifier(),
    SPDSparseCoder(metric="jeffrey"),
    RiemannianSparseClassifier(),
    TensorSparseClassifier(),
]
#: Changes of one number of an array.
CHANGES = (np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300)


def altered(arrays: dict[str, Any], name: str, place: int, number: float) -> dict[str, Any]:
    changed = arrays[name].copy()
    with np.errstate(over="ignore"):
        changed.flat[place] = number
    return {**arrays, name: changed}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore")
def test_altered_arrays_are_refused_or_do_no_harm(model, tmp_path):
    metadata, arrays = unpack(saved(model.fit(X, LABELS), tmp_path))
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    assert floats
    for name in floats:
        for number in CHANGES:
            content = pack(metadata, altered(arrays, name, arrays[name].size // 2, number))
            if not np.isfinite(number):
                refused(content, tmp_path, "does not describe a model")
            else:
                use(content, tmp_path)


def use(content: bytes, folder) -> None:
    """Load and predict: it ends, with numbers or with an error that is said."""
    try:
        model = load_bytes(content, folder)
        result = (model.predict if hasattr(model, "predict") else model.transform)(X)
    except (StorageError, ValueError, ArithmeticError, np.linalg.LinAlgError):
        return
    assert len(result) == len(X)


@pytest.mark.parametrize("name", ["alpha_", "beta_"])
def test_altered_fitted_numbers_are_refused(name, tmp_path):
    metadata, arrays = unpack(saved(SPDSparseCoder().fit(X), tmp_path))
    attributes = metadata["estimator"]["object"]["attributes"]
    if name not in attributes:
        attributes = attributes["kernel_"]["object"]["attributes"]
    attributes[name] = {"float": "nan"}
    refused(pack(metadata, arrays), tmp_path, f"{name} must be a number")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: type(model).__name__)
def test_matrices_that_are_not_positive_definite_are_refused(model, tmp_path):
    metadata, arrays = unpack(saved(model.fit(X, LABELS), tmp_path))
    stacks = [name for name, array in arrays.items() if array.ndim == 3]
    for name in stacks:
        changed = {**arrays, name: arrays[name] - 100 * np.eye(3)}
        refused(pack(metadata, changed), tmp_path, "not positive definite|orders of magnitude")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -1.0),
        ("alpha", {"float": "nan"}),
        ("n_jobs", "many"),
        ("correction", "none at all"),
    ],
)
def test_parameters_of_a_fitted_model_are_checked(name, value, tmp_path):
    metadata, arrays = unpack(saved(SPDSparseClassifier().fit(X, LABELS), tmp_path))
    metadata["estimator"]["object"]["parameters"][name] = value
    refused(pack(metadata, arrays), tmp_path, f"{name} must be")


@pytest.mark.parametrize(
    ("name", "value"),
    [("metric", "nonsense"), ("beta", -1.0), ("correction", "none at all"), ("n_jobs", "many")],
)
def test_parameters_of_the_kernel_of_a_model_are_checked(name, value, tmp_path):
    metadata, arrays = unpack(saved(SPDSparseCoder().fit(X), tmp_path))
    kernel = metadata["estimator"]["object"]["attributes"]["kernel_"]["object"]
    assert name in kernel["parameters"]
    kernel["parameters"][name] = value
    refused(pack(metadata, arrays), tmp_path, f"{name} must be")


@pytest.mark.parametrize("number", [2**63, -(2**63), 10**30])
@pytest.mark.parametrize("name", ["alpha_", "n_features_in_"])
def test_integers_beyond_64_bits_are_refused(name, number, tmp_path):
    metadata, arrays = unpack(saved(SPDSparseCoder().fit(X), tmp_path))
    attributes = metadata["estimator"]["object"]["attributes"]
    assert name in attributes
    attributes[name] = number
    refused(pack(metadata, arrays), tmp_path, f"{name} must be|for 3×3 matrices, not")


def test_gram_matrices_far_from_those_of_kernels_are_refused(tmp_path):
    metadata, arrays = unpack(saved(SPDSparseCoder().fit(X), tmp_path))
    grams = [name for name in arrays if "gram" in name]
    assert grams
    for name in grams:
        changed = {**arrays, name: 1e-300 * arrays[name]}
        refused(pack(metadata, changed), tmp_path, "does not hold values of a kernel")


def test_labels_that_are_no_characters_are_refused(tmp_path):
    metadata, arrays = unpack(saved(SPDKNeighborsClassifier().fit(X, LABELS), tmp_path))
    for number in (0xD800, 0x110000):
        classes = arrays["classes_"].copy()
        classes.view(np.uint32)[0] = number
        refused(pack(metadata, {**arrays, "classes_": classes}), tmp_path, "no characters")
