"""JAX, and torch where it is installed: their arrays in, the same kind out."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import (
    SPDDictionaryLearning,
    SPDKMeans,
    SPDSparseClassifier,
    mean,
    pairwise_divergence,
)
from spdatoms.geometry import logm

X = random_spd(30, 3)
y = np.repeat([0, 1], 15)


@pytest.fixture(params=["jax", "torch", "array_api_strict"])
def library(request):
    name = "jax.numpy" if request.param == "jax" else request.param
    return pytest.importorskip(name)


def test_functions_return_the_same_kind(library) -> None:
    A = library.asarray(X)
    B = np.from_dlpack(A)  # JAX keeps single precision unless told otherwise
    for function in (logm, mean, pairwise_divergence):
        result = function(A)
        assert type(result) is type(A)
        assert result.device == A.device
        assert np.from_dlpack(result).dtype == B.dtype
        np.testing.assert_allclose(np.from_dlpack(result), function(B), rtol=1e-6)


def test_hermitian_matrices(library) -> None:
    H = X + 0.1j * (np.triu(X, 1) - np.tril(X, -1))
    result = logm(library.asarray(H.astype(np.complex64)))
    np.testing.assert_array_equal(np.asarray(np.from_dlpack(result)), logm(H.astype(np.complex64)))


def test_estimators_answer_in_the_same_kind(library) -> None:
    A, labels = library.asarray(X), library.asarray(y)
    B = np.from_dlpack(A)
    classifier = SPDSparseClassifier("stein").fit(A, labels)
    plain = SPDSparseClassifier("stein").fit(B, y)
    assert type(classifier.atoms_) is type(classifier.classes_) is np.ndarray
    for method in ("predict", "predict_proba", "decision_function"):
        result = getattr(classifier, method)(A)
        assert type(result) is type(A)
        np.testing.assert_allclose(np.from_dlpack(result), getattr(plain, method)(B), rtol=1e-6)
    assert classifier.score(A, labels) == plain.score(B, y)
    words = classifier.fit(A, np.array(["oak", "elm"])[y]).predict(A)
    assert isinstance(words, np.ndarray)
    for learner in (SPDDictionaryLearning(3, max_iter=2, random_state=0), SPDKMeans(2)):
        codes = learner.fit_transform(A)
        assert type(codes) is type(A)
        assert codes.shape[0] == len(X)
