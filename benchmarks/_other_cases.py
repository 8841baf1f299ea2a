"""What `same_results.py` computes with baselines, descriptors, experiments and saved models."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _case_data import Array, Results, classes, everything, named, said, textures
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spdatoms import (
    LogEuclideanSparseCoder,
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseCoder,
    descriptors,
    load,
    save,
)
from spdatoms.paper import baselines
from spdatoms.paper.experiments import get_experiment, run

_SEED: dict[str, Any] = {"random_state": 0}


def matrix_baselines() -> Results:
    """Give what the baselines on SPD matrices learn and say."""
    estimators = (
        LogEuclideanSparseCoder(),
        LogEuclideanSparseCoder(rescale=False, positive=True),
        baselines.LogEuclideanSparseClassifier(),
        baselines.LogEuclideanSparseClassifier(rule="max", rescale=False),
        baselines.kernel_log_euclidean_classifier(alpha=0.05),
        baselines.LogEuclideanKSVD(n_atoms=6, n_nonzero=2, max_iter=5, **_SEED),
        baselines.LogEuclideanKSVD(n_atoms=6, update="approximate", alpha=0.1, max_iter=5, **_SEED),
        baselines.FrobeniusSparseCoder(),
        baselines.FrobeniusDictionaryLearning(n_atoms=6, max_iter=3, **_SEED),
        baselines.FrobeniusDictionaryLearning(n_atoms=6, rank=1, max_iter=3, **_SEED),
        baselines.RiemannianLPP(),
        baselines.RiemannianLPP(graph="neighbours", n_neighbors=3, metric="jeffrey"),
        baselines.KMeansSparseCoder(n_atoms=6, **_SEED),
        MinimumDistanceToMean(),
        MinimumDistanceToMean("stein"),
        baselines.riemannian_nearest_neighbour(),
        baselines.TensorSparseCoder(),
        baselines.TensorSparseCoder(bounded=True),
        baselines.TensorSparseClassifier(),
        baselines.TensorSparseClassifier(bounded=True),
        baselines.TensorDictionaryLearning(n_atoms=4, max_iter=2, **_SEED),
        baselines.TensorDictionaryLearning(n_atoms=4, max_iter=2, bounded=True, **_SEED),
        baselines.RiemannianSparseCoder(),
        baselines.RiemannianSparseClassifier(),
        baselines.RiemannianDictionaryLearning(n_atoms=4, max_iter=2, **_SEED),
    )
    X, y, _ = textures()
    Z, labels = classes(36, 3, 30, dtype=np.float32)
    for estimator in estimators:
        model = clone(estimator).fit(X[::3], y[::3])
        name = " ".join(repr(estimator).split())  # one line
        yield from named(name, everything(model, X[1::3]))
        model = clone(estimator).set_params(n_jobs=2).fit(Z[:24], labels[:24])
        yield from named(f"{name} float32", everything(model, Z[24:]))


def image_baselines() -> Results:
    """Give what the baselines on images and sequences say."""
    faces, y = _faces()
    for estimator in (
        baselines.PixelSparseClassifier(),
        baselines.PixelSparseClassifier(6, alpha=0.05),
        baselines.GaborSparseClassifier(spacing=6),
    ):
        yield from named(
            repr(estimator), everything(estimator.fit(faces[::2], y[::2]), faces[1::2])
        )
    motions, labels = _motions(), np.arange(18) % 3
    for estimator in (baselines.Cov3DJClassifier(), baselines.Cov3DJClassifier(1, overlap=False)):
        fitted = estimator.fit(motions[:12], labels[:12])
        yield from named(repr(estimator), said(fitted, motions[12:]))


def images() -> Results:
    """Give descriptors of generated images, films and skeletons."""
    rng = np.random.default_rng(31)
    grey = gaussian_filter(rng.random((3, 48, 40)), (0, 1, 1))
    colour = gaussian_filter(rng.random((2, 64, 32, 3)), (0, 1, 1, 0))
    film = gaussian_filter(rng.random((20, 48, 48)), (2, 2, 2))
    masks = rng.random((2, 48, 40)) < 0.5
    rectangles = [[0, 0, 48, 40], [3, 5, 20, 31], [10, 10, 12, 12]]
    features = descriptors.texture_features(grey[0])
    yield "texture_features", features
    yield "person_features", descriptors.person_features(colour[0])
    yield "face_features", descriptors.face_features(grey[0])
    yield "gabor_magnitudes", descriptors.gabor_magnitudes(grey[0], scales=3, orientations=4)
    yield "gabor_bank", [wavelet.ravel() for wavelet in descriptors.gabor_bank(2, 3)]
    yield "kinematic_features", descriptors.kinematic_features(film[:6])
    yield "material_features", descriptors.material_features(colour[0])
    regions: dict[str, dict[str, Any]] = {
        "whole": {},
        "blocks": {"block": 16},
        "overlapping": {"block": (12, 9), "step": 2, "mean": True},
        "rectangles": {"rectangles": rectangles},
        "masks": {"masks": masks, "shrinkage": 1e-3},
    }
    for name, options in regions.items():
        yield f"regions {name}", descriptors.region_covariances(features, **options)
        single = descriptors.region_covariances(features.astype(np.float32), **options)
        yield f"regions {name} float32", single
    transformers: tuple[tuple[Any, Any], ...] = (
        (descriptors.RegionCovariance(descriptors.texture_features), grey),
        (descriptors.TextureCovariance(16, n_jobs=2), grey),
        (descriptors.TextureCovariance(None, mean=True), grey.astype(np.float32)),
        (descriptors.FaceCovariance(), grey),
        (descriptors.PersonCovariance(), colour),
        (descriptors.PersonCovariance(16, step=8), colour),
        (descriptors.KinematicCovariance(), [film, film[:17]]),
        (descriptors.MaterialCovariance(spacing=4), colour),
        (descriptors.JointCovariance(), _motions()),
    )
    for i, (transformer, X) in enumerate(transformers):
        yield f"{type(transformer).__name__} {i}", transformer.transform(X)


def experiments() -> Results:
    """Give scores and predictions of an experiment on the photographs that ship."""
    methods = ["RSR-S", "RSR-J", "logEuc-SC", "logEuc-SC linear", "RLPP", "1-NN AIRM", "MDM"]
    results = run(get_experiment("textures"), methods=methods, repeats=2)
    for row in results.rows:
        for score, value in row.scores.items():
            yield f"textures {row.part} {row.method} {row.repeat} {score}", value
        name = f"textures {row.part} {row.method} {row.repeat} extra"
        yield name, json.dumps(row.extra, sort_keys=True)


def saved_models() -> Results:
    """Give what models say after they were saved and loaded."""
    X, y, _ = textures()
    models = (
        SPDSparseCoder(dictionary=X[::7]),
        SPDSparseClassifier("jeffrey"),
        SPDKMeans(4, **_SEED),
        SPDKNeighborsClassifier(3, "burg"),
        SPDDictionaryLearning(6, max_iter=3, **_SEED),
        baselines.LogEuclideanSparseClassifier(),
        make_pipeline(SPDSparseCoder(dictionary=X[::7]), LogisticRegression(max_iter=1000)),
    )
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder, "model")
            save(model.fit(X[::2], y[::2]), path)
            yield from named(type(model).__name__, said(load(path), X[1::2]))


def _faces() -> tuple[Array, Array]:
    """Return six noisy pictures of each of four smooth scenes."""
    rng = np.random.default_rng(32)
    scenes = gaussian_filter(rng.random((4, 24, 20)), (0, 2, 2))
    pictures = np.repeat(scenes, 6, axis=0) + 0.03 * rng.standard_normal((24, 24, 20))
    return pictures, np.repeat(np.arange(4), 6)


def _motions() -> list[Array]:
    """Return sequences of three kinds and of different length, with three joints."""
    rng = np.random.default_rng(33)
    sequences = []
    for i in range(18):
        t = np.linspace(0.0, 1.0, 30 + i)
        body = 0.05 * rng.standard_normal((len(t), 3, 3))
        body[:, i % 3, 0] += np.sin(12.0 * t)
        sequences.append(body)
    return sequences
