"""A model whose parts do not belong together, or of which one is missing, is refused when it is loaded."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from _model_files import LABELS, X, load_bytes, pack, refused, saved, unpack
from conformance.estimators import ESTIMATORS, outputs, targets
from spdatoms import SPDKNeighborsClassifier, SPDNystroem, SPDSparseClassifier, SPDSparseCoder
from spdatoms.baselines import PixelSparseClassifier, RiemannianLPP
from spdatoms.storage import StorageError

pytestmark = pytest.mark.filterwarnings("ignore")


def model(estimator: Any, folder: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """Return metadata and arrays of a fitted model."""
    return unpack(saved(clone(estimator).fit(X, targets(estimator, LABELS)), folder))


def attributes(metadata: Any) -> dict[str, Any]:
    found: dict[str, Any] = metadata["estimator"]["object"]["attributes"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", {type(e): e for e in ESTIMATORS}.values(), ids=lambda e: type(e).__name__
)
def test_what_prediction_needs_may_not_be_missing(estimator, tmp_path):
    metadata, arrays = model(estimator, tmp_path)
    said = outputs(load_bytes(pack(metadata, arrays), tmp_path), X)
    refusals = []
    for name in attributes(metadata):
        less = copy.deepcopy(metadata)
        del attributes(less)[name]
        try:
            loaded = load_bytes(pack(less, arrays), tmp_path)
        except StorageError as error:
            refusals.append(str(error))
        else:
            for a, b in zip(outputs(loaded, X), said, strict=True):
                assert np.array_equal(a, b)
    assert refusals
    assert all("lacks" in text or "not prepared" in text for text in refusals)


@pytest.mark.parametrize(
    ("estimator", "name", "message"),
    [
        (SPDSparseCoder(), "atoms_", "gram_ is for 24 atoms, but _dictionary for 23"),
        (SPDSparseClassifier(), "_atom_classes", "labels is for 23 atoms, but"),
        (SPDSparseClassifier(), "classes_", "for 3 classes, but classes_ for 2"),
        (SPDSparseClassifier(), "average_.medians", "for 15 cells, but cells for 16"),
        (SPDSparseClassifier(), "average_.divergences.0", "for 24 atoms, but"),
        (SPDSparseClassifier("stein"), "atom_labels_", "for 23 atoms, but atoms_ for 24"),
        (SPDKNeighborsClassifier(), "_labels", "is for 24 atoms, but _labels for 23"),
        (SPDNystroem(n_landmarks=8), "_space.roots", "roots is for 7 landmarks, but landmarks for 8"),
        (RiemannianLPP(), "coefficients_", "for 24 atoms, but coefficients_ for 23"),
    ],
    ids=str,
)  # fmt: skip
def test_lengths_that_do_not_belong_together_are_refused(estimator, name, message, tmp_path):
    metadata, arrays = model(estimator, tmp_path)
    refused(pack(metadata, {**arrays, name: arrays[name][:-1]}), tmp_path, message)


@pytest.mark.parametrize("number", [-1, 3, 2**62])
def test_indices_of_classes_that_are_none_are_refused(number, tmp_path):
    metadata, arrays = model(SPDKNeighborsClassifier(), tmp_path)
    arrays["_labels"][5] = number
    refused(pack(metadata, arrays), tmp_path, "indices of classes|classes, but")


def test_a_gram_matrix_that_is_none_is_refused(tmp_path):
    metadata, arrays = model(SPDSparseCoder(), tmp_path)
    name = "kernel_._correction.gram"
    for gram in (-arrays[name], np.triu(arrays[name]), arrays[name] - 0.5):
        refused(pack(metadata, {**arrays, name: gram}), tmp_path, "positive semidefinite")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "must be an object of Kernel, got"),
        ({"object": {"class": "Stein", "parameters": {}}}, "has not the entries class, parameters"),
        ({"object": 3}, "3 has not the entries"),
        ({"array": "nothing"}, "the array 'nothing' is missing"),
        ({"array": []}, "is not a name"),
        ({"tuple": 1}, "1 is not a list"),
        ({"dict": [[[], 1]]}, "keys and values"),
        ({"a": 1, "b": 2}, "stands for no value"),
        ({"scalar": ["<f8", "0"]}, "is not a number of the type <f8"),
        ({"generator": {"dict": [["bit_generator", "PCG64"]]}}, "the state of the PCG64 is none"),
        ({"objects": {"shape": [3], "items": []}}, "0 values are not as many"),
        ({"float": "1"}, "is not a special number"),
    ],
)
def test_values_that_are_none_are_refused_with_a_sentence(value, message, tmp_path):
    metadata, arrays = model(SPDSparseCoder(), tmp_path)
    attributes(metadata)["kernel_"] = value
    refused(pack(metadata, arrays), tmp_path, f"content' does not describe a model: .*{message}")


def test_a_part_of_another_class_than_that_of_scikit_learn_is_refused(tmp_path):
    images = np.random.default_rng(0).random((12, 6, 6))
    metadata, arrays = unpack(saved(PixelSparseClassifier(4).fit(images, LABELS[:12]), tmp_path))
    assert load_bytes(pack(metadata, arrays), tmp_path).pca_.n_components_ == 4
    attributes(metadata)["pca_"] = 1
    refused(pack(metadata, arrays), tmp_path, "must be an object of PCA, got 1")
