"""Write the models that `storage/test_old_models.py` reads with every later version.

    python tests/_write_models.py

Run it at a release, with the released code, and commit the new folder ``storage/models/<version>``. Folders that
are there stay as they are: they show that old files can still be read. If a test of an old folder fails,
the code is to be changed, not the folder.

A folder holds a file for every model, the checkpoints of fits that stopped early, the learners that go on
from them (not fitted), and ``outputs.npz``: the queries, and what each model said of them.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import spdatoms
from spdatoms import (
    BrokenChannels,
    DivergenceKernel,
    LogEuclideanSparseCoder,
    MinimumDistanceToMean,
    SPDAlign,
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDEnsembleRegressor,
    SPDImputer,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDNovelty,
    SPDNystroem,
    SPDRange,
    SPDRecentre,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    SPDSparseRegressor,
    descriptors,
)
from spdatoms.divergences import Burg
from spdatoms.paper import baselines

MODELS = Path(__file__).parent / "storage" / "models"
METHODS = ("transform", "predict", "predict_proba", "decision_function", "cross")
LEARNED = ("stein", "jeffrey", "logeuclid")
_STOP, _END = 2, 5  # iterations of a fit that stops, and of the whole


def matrices(m: int, seed: int) -> np.ndarray:
    """Return m SPD matrices 3×3 of small integers, which are the same bits on every machine."""
    G = np.random.RandomState(seed).randint(-3, 4, (m, 3, 6))
    G[:, 0] *= 1 + np.arange(m)[:, None] % 3
    return (G @ G.swapaxes(1, 2) + np.eye(3, dtype=int)).astype(np.float64)


def images(m: int, seed: int) -> np.ndarray:
    """Return m grey images of small integers."""
    classes = np.random.RandomState(0).randint(0, 200, (3, 12, 10))
    noise = np.random.RandomState(seed).randint(0, 40, (m, 12, 10))
    return (classes[np.arange(m) % 3] + noise).astype(np.float64)


X, IMAGES = matrices(18, 1), images(9, 1)
LABELS = np.array(["ash", "oak", "elm"])[np.arange(18) % 3]
#: More data: to code and classify, to learn from, and to learn from with checkpoints.
DATA = {
    "matrices": matrices(8, 2),
    "float32": matrices(8, 2).astype(np.float32),
    "images": images(6, 2),
    "bags": matrices(12, 2).reshape(4, 3, 3, 3),
    "batch": matrices(12, 3),
    "stopped": matrices(40, 4),
}
_SEED: dict[str, Any] = {"random_state": 0}


def estimators() -> dict[str, Any]:
    """Return the estimators of SPD matrices, by the names of their files."""
    learner = SPDDictionaryLearning(4, alpha=0.05, max_iter=4, **_SEED)
    found = {
        "coder": SPDSparseCoder(alpha=0.05),
        "coder-jeffrey": SPDSparseCoder(X[:7], "jeffrey", 0.05, correction="shift", positive=True),
        "classifier-stein": SPDSparseClassifier(),
        "classifier-jeffrey": SPDSparseClassifier("jeffrey", beta=0.05, rule="sum"),
        "classifier-flip": SPDSparseClassifier("stein", beta=0.2, correction="flip", rule="max"),
        "classifier-atoms": SPDSparseClassifier(n_atoms_per_class=2, **_SEED),
        "classifier-cv": SPDSparseClassifierCV(alphas=[0.1, 0.01], betas=[0.5, 2.0]),
        "classifier-groups": SPDSparseClassifierCV("jeffrey", cv=GroupKFold(3), rules="sum"),
        "ensemble": SPDEnsembleClassifier("cv"),
        "broken-channels": BrokenChannels(),
        "imputer": SPDImputer(3),
        "align": SPDAlign(),
        "range": SPDRange(),
        "novelty": SPDNovelty(),
        "recentre": SPDRecentre(scale=True),
        "kmeans": SPDKMeans(3, random_state=np.random.default_rng(0)),
        "kmeans-stein": SPDKMeans(3, "stein", random_state=np.random.RandomState(0)),
        "nystroem": SPDNystroem("jeffrey", n_landmarks=8, random_state=0),
        "regressor": SPDSparseRegressor(alpha=0.02, ridge=0.1),
        "regressor-ensemble": SPDEnsembleRegressor(),
        "regressor-neighbours": SPDKNeighborsRegressor(3),
        "kernel": DivergenceKernel("stein", beta=0.5),
        "kernel-jeffrey": DivergenceKernel("jeffrey", beta=0.05),
        "log-euclidean-coder": LogEuclideanSparseCoder(),
        "log-euclidean-classifier": baselines.LogEuclideanSparseClassifier(),
        "log-euclidean-ksvd": baselines.LogEuclideanKSVD(4, n_nonzero=2, max_iter=4, **_SEED),
        "frobenius-coder": baselines.FrobeniusSparseCoder(),
        "frobenius-learner": baselines.FrobeniusDictionaryLearning(4, max_iter=3, **_SEED),
        "kmeans-coder": baselines.KMeansSparseCoder(4, **_SEED),
        "pursuit-coder": baselines.KernelPursuitCoder(n_nonzero=2),
        "pursuit-classifier": baselines.KernelPursuitClassifier("jeffrey", n_nonzero=2),
        "lpp": baselines.RiemannianLPP(),
        "nearest-mean": MinimumDistanceToMean(),
        "tensor-coder": baselines.TensorSparseCoder(),
        "tensor-classifier": baselines.TensorSparseClassifier(),
        "tensor-learner": baselines.TensorDictionaryLearning(4, max_iter=2, **_SEED),
        "riemannian-coder": baselines.RiemannianSparseCoder(),
        "riemannian-classifier": baselines.RiemannianSparseClassifier(),
        "riemannian-learner": baselines.RiemannianDictionaryLearning(4, max_iter=2, **_SEED),
        "pipeline": make_pipeline(SPDSparseCoder(X[:5], alpha=0.05), LogisticRegression()),
    }
    for metric in ("riemann", "stein", "jeffrey", "burg", "logeuclid", "euclid"):
        found[f"neighbours-{metric}"] = SPDKNeighborsClassifier(3, metric)
    found["neighbours-burg-left"] = SPDKNeighborsClassifier(3, Burg(side="left"))
    for metric in LEARNED:
        found[f"learner-{metric}"] = clone(learner).set_params(metric=metric)
    return found


def image_estimators() -> dict[str, Any]:
    """Return the estimators of images, by the names of their files."""
    return {
        "pixels": baselines.PixelSparseClassifier(4),
        "gabor": baselines.GaborSparseClassifier(6, 4),
        "textons": baselines.TextonClassifier(3, 2, **_SEED),
        "texture": descriptors.TextureCovariance(None, mean=True),
        "regions": descriptors.RegionCovariance(descriptors.texture_features),
    }


def bag_estimators() -> dict[str, Any]:
    """Return the estimators of bags of matrices, by the names of their files."""
    learner = SPDDictionaryLearning(4, alpha=0.05, max_iter=2, **_SEED)
    return {"max-pooling": baselines.MaxPoolingClassifier(learner)}


def fitted_models() -> dict[str, tuple[Any, str]]:
    """Return models by the names of their files, each with the name of its queries."""
    models = {name: (e.fit(*_training(name)), "matrices") for name, e in estimators().items()}
    single = SPDSparseClassifier().fit(X.astype(np.float32), LABELS)
    models["classifier-float32"] = single, "float32"
    for metric in LEARNED:
        learner = SPDDictionaryLearning(4, metric, alpha=0.05, init="random", **_SEED)
        models[f"online-{metric}"] = learner.partial_fit(X[:10]).partial_fit(X[10:]), "matrices"
    for name, estimator in image_estimators().items():
        models[name] = estimator.fit(IMAGES, LABELS[:9]), "images"
    for name, estimator in bag_estimators().items():
        models[name] = estimator.fit(X.reshape(6, 3, 3, 3), LABELS[:6]), "bags"
    return models


def _training(name: str) -> tuple[Any, ...]:
    if name.startswith("kernel"):
        return (X,)
    if name.startswith("regressor"):
        return X, X[:, 0, 0]
    return (X, LABELS, np.arange(18) // 6) if name == "classifier-groups" else (X, LABELS)


def outputs(model: Any, queries: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a model says of the queries, by method."""
    return {m: np.asarray(getattr(model, m)(queries)) for m in METHODS if hasattr(model, m)}


def write(folder: Path) -> None:
    """Write all files to a new folder."""
    folder.mkdir(parents=True)
    said = {f"data {name}": values for name, values in DATA.items()}
    for name, (model, queries) in fitted_models().items():
        spdatoms.save(model, folder / f"{name}.spdatoms")
        said[f"queries {name}"] = np.array(queries)
        for method, values in outputs(model, DATA[queries]).items():
            said[f"output {name} {method}"] = values
        if name.startswith("online-"):
            model.partial_fit(DATA["batch"])
            said[f"learned {name} atoms_"] = model.atoms_
            said[f"learned {name} batch_losses_"] = model.batch_losses_
    for metric in LEARNED:
        said |= _write_stopped(folder, metric)
    np.savez_compressed(folder / "outputs.npz", **said)


def _write_stopped(folder: Path, metric: str) -> dict[str, np.ndarray]:
    """Write the checkpoint of a fit that stops, and the learner; return what the whole fit learns."""
    name = f"stopped-{metric}"
    learner = SPDDictionaryLearning(5, metric, alpha=0.05, tol=0.0, max_iter=_END, **_SEED)
    spdatoms.save(learner, folder / f"{name}.learner")
    stopped = clone(learner).set_params(max_iter=_STOP, checkpoint=folder / f"{name}.checkpoint")
    stopped.fit(DATA["stopped"])
    whole = learner.fit(DATA["stopped"])
    return {
        f"stopped {name} objective_": stopped.objective_,
        f"learned {name} atoms_": whole.atoms_,
        f"learned {name} objective_": whole.objective_,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(MODELS / spdatoms.__version__)
