"""A program as a user with a type checker would write it: mypy checks it, and the tests run it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDSparseClassifier,
    SPDSparseCoder,
    check_spd,
    mean,
    nearest_spd,
    pairwise_divergence,
    sparse_code,
)


def covariances(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    signals = rng.standard_normal((count, 4, 50))
    signals[count // 2 :, 0] *= 3.0
    return np.asarray(signals @ signals.swapaxes(1, 2) / 50)


def accuracy(classifier: SPDSparseClassifier, X: NDArray[Any], y: NDArray[np.intp]) -> float:
    predicted: NDArray[Any] = classifier.predict(X)
    return float(np.mean(predicted == y))


def main() -> float:
    X = covariances(np.random.default_rng(0), 40)
    y = np.repeat(np.array([0, 1]), 20)
    checked: NDArray[Any] = check_spd(X)
    centre: NDArray[Any] = mean(nearest_spd(checked), metric="riemann")
    divergences: NDArray[Any] = pairwise_divergence(X, centre[None], metric="stein", n_jobs=1)
    kernel = DivergenceKernel(metric="stein", beta="auto").fit(X[::2])
    codes: NDArray[Any] = sparse_code(kernel.gram_, kernel.cross(X[1::2]), alpha=0.1)
    coder = SPDSparseCoder(beta=kernel.beta_, alpha=0.1).fit(X[::2])
    more_codes: NDArray[Any] = coder.transform(X[1::2])
    np.testing.assert_allclose(codes, more_codes, atol=1e-8)
    labels: NDArray[np.intp] = SPDKMeans(n_clusters=2, random_state=0).fit(X).predict(X)
    learner = SPDDictionaryLearning(n_atoms=4, random_state=0, max_iter=3, tol=0.0).fit(X)
    loss: float = learner.score(X)
    classifier = SPDSparseClassifier(metric="stein").fit(X[::2], y[::2])
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "codes.npy", codes)
    assert divergences.shape == (40, 1)
    assert labels.shape == y.shape
    assert np.isfinite(loss)
    return accuracy(classifier, X[1::2], y[1::2])


if __name__ == "__main__":
    print(main())
