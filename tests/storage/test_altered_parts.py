"""A model whose parts do not belong together, or of which one is missing, is refused when it is loaded."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from _model_files import LABELS, X, load_bytes, pack, refused, saved, unpack
from conformance.estimators import ESTIMATORS, one_line, outputs, targets
from spdatoms import (
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDKNeighborsClassifier,
    SPDNystroem,
    SPDSparseClassifier,
    SPDSparseCoder,
)
from spdatoms.layout import held_by
from spdatoms.paper.baselines import (
    FrobeniusSparseCoder,
    LogEuclideanKSVD,
    PixelSparseClassifier,
    RiemannianLPP,
)
from spdatoms.storage import StorageError
from spdatoms.storage._classes import class_named

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
        (SPDEnsembleClassifier(), "_atom_classes", "labels is for 23 atoms, but"),
        (SPDSparseClassifier(), "classes_", "for 3 classes, but classes_ for 2"),
        (SPDEnsembleClassifier(), "average_.medians", "for 7 cells, but cells for 8"),
        (SPDEnsembleClassifier(), "average_.divergences.0", "for 24 atoms, but"),
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


def undeclared(cls: str, names: Iterable[str]) -> set[str]:
    return set(names) - set(held_by(class_named(cls).cls))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=one_line)
def test_all_that_a_fit_leaves_is_declared(estimator, tmp_path) -> None:
    """In the layout every attribute has a kind, a shape and a range, that of a part included."""
    metadata, _ = model(estimator, tmp_path)
    found = [metadata["estimator"]["object"]]
    for content in found:  # which grows
        assert not undeclared(content["class"], content["attributes"])
        values = (*content["attributes"].values(), *content["parameters"].values())
        found.extend(v["object"] for v in values if isinstance(v, dict) and "object" in v)


@pytest.mark.parametrize(
    ("estimator", "path", "message"),
    [
        (SPDKNeighborsClassifier(), ("_prepared",), "_prepared must be an object of PreparedSet"),
        (SPDSparseCoder(), ("kernel_", "_atoms"), "_atoms must be an object of PreparedSet"),
    ],
    ids=str,
)
@pytest.mark.parametrize("value", [None, "stein", [], {"tuple": []}, {"float": "nan"}])
def test_attributes_of_another_kind_are_refused(estimator, path, message, value, tmp_path) -> None:
    metadata, arrays = model(estimator, tmp_path)
    held = attributes(metadata)
    for name in path[:-1]:
        held = held[name]["object"]["attributes"]
    held[path[-1]] = value
    refused(pack(metadata, arrays), tmp_path, message)


@pytest.mark.parametrize(
    ("estimator", "name", "change", "message"),
    [
        (LogEuclideanKSVD(4, n_nonzero=2, max_iter=1), "_atoms", lambda a: a[:, :0], "no half-vectors"),
        (LogEuclideanKSVD(4, n_nonzero=2, max_iter=1), "_atoms", lambda a: a[:, :4], "no half-vectors"),
        (FrobeniusSparseCoder(), "_atoms", lambda a: a[:, :3], "2×2 matrices, not 3×3"),
        (SPDSparseClassifier(landmarks=8), "kernel_.features_", lambda a: 1e300 * a, "at most 1e"),
        (SPDNystroem(n_landmarks=8), "_space.roots", lambda a: 1e300 * a, "roots must be numbers of at most"),
    ],
    ids=lambda value: None if inspect.isfunction(value) else str(value),
)  # fmt: skip
def test_arrays_out_of_shape_or_range_are_refused(estimator, name, change, message, tmp_path):
    metadata, arrays = model(estimator, tmp_path)
    refused(pack(metadata, {**arrays, name: change(arrays[name])}), tmp_path, message)


def test_the_gram_of_features_may_not_be_missing(tmp_path) -> None:
    metadata, arrays = model(
        SPDDictionaryLearning(4, landmarks=8, max_iter=1, random_state=0), tmp_path
    )
    del attributes(metadata)["kernel_"]["object"]["attributes"]["gram_"]
    refused(pack(metadata, arrays), tmp_path, "LandmarkKernel lacks gram_")


def test_a_beta_that_is_an_integer_is_that_number(tmp_path) -> None:
    metadata, arrays = model(SPDNystroem("stein", beta=8.0, n_landmarks=8), tmp_path)
    expected = load_bytes(pack(metadata, arrays), tmp_path).transform(X)
    attributes(metadata)["_space"]["object"]["parameters"]["beta"] = 8
    loaded = load_bytes(pack(metadata, arrays), tmp_path)
    np.testing.assert_array_equal(loaded.transform(X), expected)


def test_landmarks_that_became_complex_are_refused_or_used(tmp_path) -> None:
    metadata, arrays = model(SPDNystroem("harmonic", n_landmarks=8), tmp_path)
    expected = load_bytes(pack(metadata, arrays), tmp_path).transform(X)
    arrays["_space.landmarks"] = arrays["_space.landmarks"].astype(complex)
    found = load_bytes(pack(metadata, arrays), tmp_path).transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("number", [-1, 3, 2**62])
def test_wrong_indices_of_classes_are_refused(number, tmp_path):
    metadata, arrays = model(SPDKNeighborsClassifier(), tmp_path)
    arrays["_labels"][5] = number
    refused(pack(metadata, arrays), tmp_path, "indices of classes|classes, but")


def test_what_is_not_a_gram_matrix_is_refused(tmp_path):
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
        ({"generator": {"dict": [["bit_generator", "PCG64"]]}}, "PCG64 cannot have this state"),
        ({"objects": {"shape": [3], "items": []}}, "0 values are not as many"),
        ({"float": "1"}, "is not a special number"),
    ],
)
def test_what_stands_for_no_value_is_refused(value, message, tmp_path):
    metadata, arrays = model(SPDSparseCoder(), tmp_path)
    attributes(metadata)["kernel_"] = value
    refused(pack(metadata, arrays), tmp_path, f"content' does not describe a model: .*{message}")


def test_a_part_of_another_class_than_that_of_scikit_learn_is_refused(tmp_path):
    images = np.random.default_rng(0).random((12, 6, 6))
    metadata, arrays = unpack(saved(PixelSparseClassifier(4).fit(images, LABELS[:12]), tmp_path))
    assert load_bytes(pack(metadata, arrays), tmp_path).pca_.n_components_ == 4
    attributes(metadata)["pca_"] = 1
    refused(pack(metadata, arrays), tmp_path, "must be an object of PCA, got 1")
