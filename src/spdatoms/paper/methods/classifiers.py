"""The classifiers that the tables compare, by name.

Each is made in one way for all data sets. RSR is the plain form of the paper, whatever the defaults of the
classifier are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from spdatoms.classification import (
    MinimumDistanceToMean,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
)
from spdatoms.paper import baselines
from spdatoms.paper.experiments.method import Kind, Method, Setting, by_name
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.methods.chosen_parameters import ChosenAlpha, PrecomputedSVM, vector_classifier
from spdatoms.paper.methods.codes import LeftOutCodes
from spdatoms.paper.methods.nearest_class import NearestClass, NearestVectorClass
from spdatoms.paper.methods.tangent_vectors import TangentVectors

Make = Callable[[Setting], Any]
_NOTES = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text("utf-8"))
#: The α of the peers to choose from, first the one that an estimator has by default. The penalties of tensor codes and
#: of codes in tangent spaces have other units.
_ALPHAS = (0.01, 0.001, 0.1)
_TENSOR_ALPHAS = (0.01, 0.1, 1.0)
_TANGENT_ALPHAS = (0.1, 0.01, 1.0, 10.0)
#: Left-out queries where each takes long.
_FEW = 60


def noted(name: str, make: Make, kind: Kind = "usual", view: str = COVARIANCES) -> Method:
    """Return a method whose name the glossary explains."""
    return Method(name, make, " ".join(_NOTES[name].split()), kind, view)


def made(kind: Callable[..., Any], **parameters: Any) -> Make:
    """Return a function that makes an estimator with the parameters."""
    return lambda setting: kind(**parameters, n_jobs=setting.n_jobs)


def plain_sparse(metric: str, rule: str = "residual") -> Make:
    """Return what makes the paper's classifier: training matrices as atoms, automatic β and α."""
    plain = {"metric": metric, "beta": "auto", "alpha": "auto", "correction": "clip", "rule": rule}
    return made(SPDSparseClassifier, **plain, ridge=0.0, whitening=None)


def alpha_chosen(make: Make, alphas: tuple[float, ...], queries: int = 200) -> Make:
    """Return what makes a classifier whose α is chosen on training samples; of equal α the first is taken."""
    return lambda setting: ChosenAlpha(make(setting), alphas, queries)


def _atoms_per_class(setting: Setting) -> Any:
    seed, jobs = setting.seed, setting.n_jobs
    return SPDSparseClassifier("stein", n_atoms_per_class=2, random_state=seed, n_jobs=jobs)


def _sparse_chosen(metric: str) -> Make:
    """Return what makes the paper's classifier with several β and α, without a ridge and without whitening."""
    plain = {"metrics": metric, "cv": "loo", "correction": "clip", "rules": "residual"}
    return made(SPDSparseClassifierCV, **plain, alphas=(0.003, 0.01, 0.03, 0.1), ridges=(0.0,))


def _projected(metric: str) -> Make:
    projection = made(baselines.RiemannianLPP)
    return lambda setting: make_pipeline(projection(setting), NearestVectorClass(metric))


def _codes_and_svm(setting: Setting) -> Any:
    return make_pipeline(LeftOutCodes(n_jobs=setting.n_jobs), vector_classifier("LinearSVC"))


def in_tangent_space(model: str) -> Make:
    """Return what makes a classifier of tangent vectors, see `vector_classifier`."""
    return lambda setting: make_pipeline(TangentVectors(), vector_classifier(model))


def tangent(model: str, make: Make | None = None) -> Method:
    """Return a method for tangent vectors; ``model`` names it, and what makes it if nothing else does."""
    return noted(f"tangent space + {model}", make or in_tangent_space(model), "external")


_RSR_S = noted("RSR-S", plain_sparse("stein"))
_RSR_J = noted("RSR-J", plain_sparse("jeffrey"))
_LOG_EUCLIDEAN = noted("logEuc-SC", plain_sparse("logeuclid"))
_LOG_EUCLIDEAN_LINEAR = noted(
    "logEuc-SC linear", alpha_chosen(made(baselines.LogEuclideanSparseClassifier), _ALPHAS)
)
_RLPP = noted("RLPP", _projected("cosine"))
_BOUNDED, _FREE = (made(baselines.TensorSparseClassifier, bounded=b) for b in (True, False))
_RIEMANNIAN = made(baselines.RiemannianSparseClassifier)
_COMPONENTS = (25, 50, 100, 200, 400)
_CLASSIFIERS = (
    _RSR_S,
    _RSR_J,
    noted("RSR-S CV", _sparse_chosen("stein"), "variant"),
    noted("RSR-J CV", _sparse_chosen("jeffrey"), "variant"),
    noted("RSR-S sum", plain_sparse("stein", "sum"), "variant"),
    noted("RSR-S max", plain_sparse("stein", "max"), "variant"),
    noted("RSR-J sum", plain_sparse("jeffrey", "sum"), "variant"),
    noted("RSR-J max", plain_sparse("jeffrey", "max"), "variant"),
    noted("RSR-S two atoms", _atoms_per_class, "variant"),
    _LOG_EUCLIDEAN,
    noted("logEuc-SC CV", _sparse_chosen("logeuclid"), "variant"),
    _LOG_EUCLIDEAN_LINEAR,
    noted("kernel OMP", made(baselines.KernelPursuitClassifier, metric="stein"), "variant"),
    noted("codes + SVM", _codes_and_svm, "variant"),
    noted("kernel + SVM", made(PrecomputedSVM), "variant"),
    noted("TSC", alpha_chosen(_BOUNDED, _TENSOR_ALPHAS, _FEW), "slow"),
    noted("TSC free", alpha_chosen(_FREE, _TENSOR_ALPHAS, _FEW), "slow"),
    noted("Riemannian SC", alpha_chosen(_RIEMANNIAN, _TANGENT_ALPHAS, _FEW), "slow"),
    _RLPP,
    noted("RLPP Euclidean", _projected("euclidean"), "variant"),
    noted("1-NN AIRM", made(SPDKNeighborsClassifier, metric="riemann")),
    noted("1-NN Stein", made(SPDKNeighborsClassifier, metric="stein")),
    noted("1-NN Jeffrey", made(SPDKNeighborsClassifier, metric="jeffrey")),
    noted("MDM", made(MinimumDistanceToMean)),
    tangent("LR"),
)


def classifiers(*more: Method) -> dict[str, Method]:
    """Return the methods for covariances, and those that an experiment adds, by name."""
    return by_name(*_CLASSIFIERS, *more)


def ranking_classifiers() -> dict[str, Method]:
    """Return the methods that give a score to every class."""
    nearest = (
        noted("1-NN AIRM", made(NearestClass, metric="riemann")),
        noted("1-NN Stein", made(NearestClass, metric="stein")),
    )
    return by_name(_RSR_S, _RSR_J, _LOG_EUCLIDEAN, _LOG_EUCLIDEAN_LINEAR, _RLPP, *nearest)


def src() -> list[Method]:
    """Return the method SRC, sparse representation of raw pixels, for several numbers of principal components."""
    found = [noted("SRC", _pixels(None), view="images")]
    for count in _COMPONENTS:
        note = f"SRC, {count} principal components"
        found.append(Method(f"SRC {count}", _pixels(count), note, "variant", "images"))
    return found


def _pixels(components: int | None) -> Make:
    return alpha_chosen(made(baselines.PixelSparseClassifier, n_components=components), _ALPHAS)


def textons() -> Method:
    """Return the method VZ: histograms of textons."""
    return noted("VZ", lambda s: baselines.TextonClassifier(random_state=s.seed), "slow", "images")


def gabor_src() -> Method:
    """Return the method GSRC: sparse representation of Gabor magnitudes, with the usual width of the wavelets."""
    gabor = made(baselines.GaborSparseClassifier, sigma=2 * np.pi)
    return noted("GSRC", alpha_chosen(gabor, _ALPHAS), view="images")


def other_views(*names: str) -> list[Method]:
    """Return RSR-S and RSR-J on other views of the samples."""
    return [
        Method(f"{usual.name}, {view}", usual.make, f"{usual.name}: {view}", "variant", view)
        for view in names
        for usual in (_RSR_S, _RSR_J)
    ]


def cov3dj() -> Method:
    """Return the method Cov3DJ: covariances over a temporal hierarchy."""
    return noted("Cov3DJ", lambda setting: baselines.Cov3DJClassifier(), view="sequences")
